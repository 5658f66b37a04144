// Where droplets come from: points, discs, curves and surfaces. Each droplet of an emitter has a number, and everything
// about it follows from that: when it appears, where, how fast. What has been emitted by some moment does not depend on
// the steps that led there.
#pragma once

#include "spindrift/base/random.h"
#include "spindrift/points/particles.h"
#include "spindrift/spray/params.h"

namespace spindrift {

class Emitter {
  public:
    // `carrier` is the shape of params.carrier().
    Emitter(const EmitterParams& params, Shape carrier, uint64_t seed);

    // How many droplets have appeared by a moment, in frames, of a shot that starts at `start`.
    int64_t count(double frame, double start, double fps) const;
    // One droplet when it appears.
    struct Birth {
        double frame;
        Droplet droplet;
    };
    // Prepares for droplets that appear up to a moment.
    void prepare(float frame);
    Birth birth(int64_t number, double start, double fps) const;

  private:
    struct Place {
        Vec3f x, normal; // the normal of a surface, of any length
    };
    double first_frame(double start) const;
    Place pick_place(Random& random) const;

    EmitterParams params_;
    Shape carrier_;
    uint64_t seed_;
    float frame_ = 0;
    Mesh mesh_;                 // surface: of this moment
    std::vector<float> extent_; // areas of triangles or lengths of pieces, summed up to each
    bool measured_ = false;
};

} // namespace spindrift
