// Smooth noise for forces and turbulence: a sum of bumps at random directions on a lattice (Perlin 1985, with the
// smooth blend of 2002), in space and time, with derivatives, and the divergence-free vector field that is the curl of
// three of them (Bridson et al. 2007). Depends on nothing but its arguments.
#pragma once

#include "base/random.h"

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

} // namespace spindrift
