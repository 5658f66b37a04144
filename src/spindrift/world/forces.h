// Body forces on liquids and smoke: gravity, wind, curl noise, and attraction to a point or polyline.
#pragma once

#include "spindrift/scene/frame_span.h"

namespace spindrift {

struct ForceParams : FrameSpan {
    enum class Kind { wind, noise, attraction };
    Kind kind = Kind::wind;
    Vec3f velocity = Vec3f::Zero();         // wind [m/s]
    float drag = 1;                         // wind: rate at which a lone particle approaches its velocity [1/s]
    float strength = 1;                     // noise, attraction [m/s2]
    float size = 0.1f;                      // noise: feature size [m]
    float change = 1;                       // noise: rate of change [1/s]
    std::vector<std::vector<float>> points; // attraction: corners of a polyline [m]
    float reach = 1;                        // attraction: distance from the line at which it vanishes [m]
    int seed = 1;                           // noise

    void visit(ParamVisitor& v);
};

class Forces {
  public:
    Forces(Vec3f gravity, std::vector<ForceParams> forces, float fps)
        : gravity_(std::move(gravity)), forces_(std::move(forces)), fps_(fps)
    {
    }
    // Sets the time, in frames, for all functions below.
    void set_frame(float frame);
    // True if the acceleration is the same everywhere.
    bool uniform() const { return active_.empty(); }
    // Acceleration [m/s2], including gravity.
    Vec3f acceleration(const Vec3f& x) const;
    // Velocity of a freely flying particle after `dt` seconds of wind drag, and of acceleration and wind drag.
    Vec3f slowed_by_wind(const Vec3f& v, float dt) const;
    Vec3f free_flight_velocity(const Vec3f& x, const Vec3f& v, float dt) const
    {
        return slowed_by_wind(v + dt * acceleration(x), dt);
    }
    // Upper bound on the magnitude of any component of the acceleration [m/s2].
    float max_acceleration() const;

  private:
    Vec3f gravity_;
    std::vector<ForceParams> forces_;
    float fps_, frame_ = 0;
    std::vector<const ForceParams*> active_, winds_; // active at this time
};

} // namespace spindrift
