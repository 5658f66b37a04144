// Gradient noise [Perlin 1985] with the quintic blend of [Perlin 2002], with derivatives; and a time-dependent,
// divergence-free vector field, the curl of three such noises [Bridson 2007]. Pure functions of their arguments.
#pragma once

#include "spindrift/base/random.h"

#include <array>

namespace spindrift {

// Values lie in about [-1, 1] with mean 0; lattice cells have edge length 1. The hash of lattice coordinates has no
// visible period.
struct NoiseSample {
    float value;
    Vec3f gradient;
};
NoiseSample gradient_noise(const Vec3f& x, uint64_t seed);

// Divergence-free; features of about length 1, root-mean-square length 1, correlation time of about 1.
Vec3f curl_noise(const Vec3f& x, float time, uint64_t seed);

// curl_noise() at a fixed time for many positions. Caches the gradients of the last few lattice cells, so nearby
// positions are cheap. Not thread-safe: use one per thread.
class CurlNoise {
  public:
    CurlNoise(float time, uint64_t seed);
    Vec3f operator()(const Vec3f& x);

  private:
    using Directions = std::array<Vec3f, 8>; // random gradients at the corners of a lattice cell
    struct Field {
        float weight;
        uint64_t seed;
    };
    std::array<Field, 2> fields_;
    struct Cell {
        Vec3i at = Vec3i::Constant(std::numeric_limits<int>::max());
        std::array<Directions, 3> directions; // per component, the weighted sum of both fields
    };
    std::array<Cell, 8> recent_; // indexed by the parity of the cell's coordinates
};

} // namespace spindrift
