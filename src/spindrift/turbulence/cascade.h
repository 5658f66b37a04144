// Distribution of turbulent energy over octaves of eddies [Narain 2011, 3.4.1]. Octave i has eddies of size l_i = l_0 /
// 2^i; its energy is the mean square of their velocity. Equation numbers are those of [Narain 2011].
#pragma once

#include "spindrift/base/math.h"

namespace spindrift {

struct Cascade {
    float eddy_size; // l_0 [m]
    float viscosity; // [m2/s]

    float size(int octave) const { return std::ldexp(eddy_size, -octave); }

    // (3.7) and (3.9): the wave number above which viscosity dominates.
    float cutoff(float energy) const
    {
        if (!(viscosity > 0)) return kInfinity;
        const float passed_on = energy * std::sqrt(energy) / eddy_size;
        return static_cast<float>(std::pow(static_cast<double>(passed_on), 0.25) *
                                  std::pow(static_cast<double>(viscosity), -0.75));
    }
    // (3.10), corrected: in the octave that contains the cutoff, the share below it.
    float energy(int octave, float energy_of_largest) const
    {
        const float k = 1 / size(octave);
        const float share = clamp01((cutoff(energy_of_largest) - k) / k);
        return share * energy_of_largest * std::exp2(-2.0f / 3 * static_cast<float>(octave)); // (3.4)
    }
};

} // namespace spindrift
