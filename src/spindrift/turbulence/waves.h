// Velocity of one octave of one noise particle: eight circularly polarized plane waves, in two groups of one wavelength
// and one handedness each.
//
// A wave a1 cos(k.x) + a2 sin(k.x) with a2 = +-k/|k| x a1 is an eigenvector of the curl, and so is a sum of such waves
// with equal |k| and handedness: a Beltrami flow, which is a steady solution of the Euler equations. Its vector
// potential is the velocity divided by the eigenvalue, so one sum gives both, and its mean square is exact. The Perlin
// noise of [Narain 2011] has neither property, and a poor band limit.
//
// An octave's spectrum spans 3/4 to 3/2 waves per eddy size and falls as k^(-5/3) within it. Blending the waves of
// particles one largest-eddy size apart broadens the spectrum, mostly towards higher k, since velocity is the curl of
// the blended potential; waves are made longer by as much, so that the broadened spectrum has the right position. In
// time, each wave's phase turns by at most half a turn per turnover, so that the correlation falls as sin(pi t) / (pi
// t).
#pragma once

#include "spindrift/base/random.h"
#include "spindrift/field/row.h"

#if defined(__FMA__)
#include <immintrin.h>
#endif

namespace spindrift {

// a b + c.
[[gnu::always_inline]] inline Row multiply_add(Row a, Row b, Row c)
{
#if defined(__FMA__)
    return _mm256_fmadd_ps(a, b, c);
#else
    return a * b + c;
#endif
}

inline Row3 cross(const Row3& a, const Row3& b)
{
    return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

// cos and sin of 2 pi times a number of turns, to 2e-7.
struct Phasor {
    Row cos, sin;
};
[[gnu::always_inline]] inline Phasor phasor(Row turns)
{
    constexpr auto kPi1 = static_cast<float>(kPi);
    // Power series of half the angle, between -pi/2 and pi/2.
    const Row x = (turns - to_float(floor_int(turns + 0.5f))) * kPi1, x2 = x * x;
    Row s = splat(-1.0f / 39916800), c = splat(1.0f / 479001600);
    for (const float k : {1.0f / 362880, -1.0f / 5040, 1.0f / 120, -1.0f / 6, 1.0f}) s = multiply_add(s, x2, splat(k));
    for (const float k : {-1.0f / 3628800, 1.0f / 40320, -1.0f / 720, 1.0f / 24, -0.5f, 1.0f})
        c = multiply_add(c, x2, splat(k));
    s *= x;
    return {1 - 2 * s * s, 2 * s * c};
}
inline Phasor operator*(const Phasor& a, const Phasor& b)
{
    return {a.cos * b.cos - a.sin * b.sin, a.cos * b.sin + a.sin * b.cos};
}

struct Waves {
    static constexpr int kGroups = 2, kInGroup = kTileSize / kGroups;
    Row3 turns;          // wave vectors [turns/m]
    Row phase;           // at the particle, at the current time [turns]
    Row3 a1, a2;         // polarizations [m/s]
    Row inverse_curl;    // 1 / eigenvalue of the curl [m], constant within a group
    bool silent = false; // the octave has no energy; the other members are unset
};

constexpr float kLongestWave = 4.0f / 3, kShortestWave = 2.0f / 3; // of an octave's spectrum, in eddy sizes

// `blending` is the size of the largest eddies [m]; `time` is in turnovers, see noise_particles.h. All polarizations
// have unit length.
Waves random_waves(uint64_t seed, int32_t particle, int octave, float eddy_size, float blending, float time);

} // namespace spindrift
