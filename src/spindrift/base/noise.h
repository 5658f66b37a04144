// Smooth noise for forces and turbulence: a sum of bumps at random directions on a lattice (Perlin 1985, with the
// smooth blend of 2002), in space and time, with derivatives, and the divergence-free vector field that is the curl of
// three of them (Bridson et al. 2007). Depends on nothing but its arguments.
#pragma once

#include "spindrift/base/random.h"

#include <array>

namespace spindrift {

// The value is about -1 to 1, its mean 0; the lattice has edges of length one. It never repeats visibly.
struct NoiseSample {
    float value;
    Vec3f gradient;
};
NoiseSample gradient_noise(const Vec3f& x, uint64_t seed);

// Divergence-free, with features of about length one and a root-mean-square length of one. It changes within a time of
// about one.
Vec3f curl_noise(const Vec3f& x, float time, uint64_t seed);

// The same at one moment, for many places: what belongs to the last few cells of the lattice is remembered, so of
// places near each other only the first takes long. One for each thread.
class CurlNoise {
  public:
    CurlNoise(float time, uint64_t seed);
    Vec3f operator()(const Vec3f& x);

  private:
    using Directions = std::array<Vec3f, 8>; // at the corners of a cell
    struct Field {
        float weight;
        uint64_t seed;
    };
    std::array<Field, 2> fields_;
    struct Cell {
        Vec3i at = Vec3i::Constant(std::numeric_limits<int>::max());
        std::array<Directions, 3> directions; // of the two fields together, for each component
    };
    std::array<Cell, 8> recent_; // one for even and odd along each axis
};

} // namespace spindrift
