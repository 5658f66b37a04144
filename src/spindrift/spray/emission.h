// Emission of droplets from points, discs, curves and surfaces. The number of a droplet determines its time, place and
// velocity of emission, so that the droplets emitted up to a time do not depend on the steps taken.
#pragma once

#include "spindrift/base/random.h"
#include "spindrift/points/particles.h"
#include "spindrift/spray/params.h"

namespace spindrift {

class Emitter {
  public:
    // `carrier` is the shape of params.carrier().
    Emitter(const EmitterParams& params, Shape carrier, uint64_t seed);

    // Number of droplets emitted up to `frame` in a shot that starts at frame `start`.
    int64_t count(double frame, double start, double fps) const;
    // A droplet at the moment of its emission.
    struct Birth {
        double frame;
        Droplet droplet;
    };
    // Prepares for droplets emitted up to `frame`.
    void prepare(float frame);
    Birth birth(int64_t number, double start, double fps) const;

  private:
    struct Place {
        Vec3f x, normal; // normal of a surface, not normalized
    };
    double first_frame(double start) const;
    Place pick_place(Random& random) const;

    EmitterParams params_;
    Shape carrier_;
    uint64_t seed_;
    float frame_ = 0;
    Mesh mesh_;                 // of a surface emitter at frame_
    std::vector<float> extent_; // cumulative areas of triangles or lengths of segments
    bool measured_ = false;
};

} // namespace spindrift
