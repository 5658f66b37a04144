// The velocity of one octave of one noise particle: eight plane waves, circularly polarized, in two groups of one
// length and one handedness each.
//
// A wave a1 cos(k.x) + a2 sin(k.x) with a2 = +-k/|k| x a1 is an eigenvector of the curl, and so is a sum of such waves
// of one |k|: a Beltrami flow, which is a steady solution of Euler's equations as long as it is left alone. Its vector
// potential is the velocity itself over the eigenvalue, so one sum gives both, and its mean square is exact. The
// document takes Perlin noise, which has none of this, and mentions its poor band limit.
//
// An octave's spectrum is from 3/4 to 3/2 of a wave in an eddy's size, and falls as k^(-5/3) within it too. Blending
// the waves of particles that are an eddy of the largest octave apart blurs it, mostly upwards since velocity is the
// curl of what is blended: waves are so much longer that the blurred spectrum is where it should be. In time each wave
// turns, at most half a turn in a turnover, so that correlation falls as sin(pi t) / (pi t).
#pragma once

#include "spindrift/base/random.h"
#include "spindrift/field/row.h"

#if defined(__FMA__)
#include <immintrin.h>
#endif

namespace spindrift {

// a b + c.
inline Row multiply_add(Row a, Row b, Row c)
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
inline Phasor phasor(Row turns)
{
    constexpr auto kPi1 = static_cast<float>(kPi);
    // Of half the angle, between -pi/2 and pi/2, by their series.
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
    Row phase;           // at the particle, now [turns]
    Row3 a1, a2;         // polarizations [m/s]
    Row inverse_curl;    // one over the eigenvalue of the curl [m], the same throughout a group
    bool silent = false; // the octave has no energy, and nothing above holds anything
};

constexpr float kLongestWave = 4.0f / 3, kShortestWave = 2.0f / 3; // of an octave's spectrum, in its eddy size

// `blending` is the size of the largest eddies [m], `time` in turnovers; see noise_particles.h. All polarizations have
// length one.
Waves random_waves(uint64_t seed, int32_t particle, int octave, float eddy_size, float blending, float time);

} // namespace spindrift
