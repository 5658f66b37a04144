// What pushes a liquid or smoke besides gravity, and what an artist can steer it with.
#pragma once

#include "spindrift/scene/params.h"

namespace spindrift {

struct ForceParams {
    enum class Kind { wind, noise, attraction };
    Kind kind = Kind::wind;
    Vec3f velocity = Vec3f::Zero();         // wind [m/s]
    float drag = 1;                         // wind: how fast a lone particle takes its velocity on [1/s]
    float strength = 1;                     // noise, attraction [m/s2]
    float size = 0.1f;                      // noise: of its features [m]
    float change = 1;                       // noise: how often it is another one [1/s]
    std::vector<std::vector<float>> points; // attraction: of a line [m]
    float reach = 1;                        // attraction: how far from the line [m]
    int seed = 1;                           // noise
    int first_frame = std::numeric_limits<int>::min(), last_frame = std::numeric_limits<int>::max();

    void visit(ParamVisitor& v);
};

class Forces {
  public:
    Forces(Vec3f gravity, std::vector<ForceParams> forces, float fps)
        : gravity_(std::move(gravity)), forces_(std::move(forces)), fps_(fps)
    {
    }
    // The moment, in frames, that everything below is about.
    void set_frame(float frame);
    // True if acceleration is the same everywhere.
    bool uniform() const { return active_.empty(); }
    // Of all liquid [m/s2], gravity included.
    Vec3f acceleration(const Vec3f& x) const;
    // The velocity of a particle on its own after `dt` seconds: accelerated, and taken along by the wind.
    Vec3f flying(const Vec3f& x, const Vec3f& v, float dt) const;
    // An upper bound of any component of the acceleration [m/s2].
    float strongest() const;

  private:
    Vec3f gravity_;
    std::vector<ForceParams> forces_;
    float fps_, frame_ = 0;
    std::vector<const ForceParams*> active_, winds_; // at this moment
};

} // namespace spindrift
