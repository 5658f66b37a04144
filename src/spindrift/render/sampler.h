// Random numbers for one path of one pixel: an Owen-scrambled Sobol sequence, with separate scrambling of
// each pair of dimensions (Burley, "Practical Hash-based Owen Scrambling", JCGT 2020). Any power-of-two number of paths
// fills each pair evenly, which reduces the noise at a few paths per pixel. Counter-based: independent of threads.
#pragma once

#include "spindrift/base/random.h"

namespace spindrift {

class PixelSampler {
  public:
    PixelSampler(uint64_t pixel, uint32_t path) : pixel_(pixel), path_(path) {}

    Vec2f pair()
    {
        const uint64_t seed = hash64(pixel_, dimension_++);
        const uint32_t low = static_cast<uint32_t>(seed), high = static_cast<uint32_t>(seed >> 32);
        // Shuffling the order of the points decorrelates this pair from the others.
        const uint32_t index = scrambled(path_, low ^ 0x5bd1e995u);
        return {unit(scrambled(reversed(index), low)), unit(scrambled(second_sobol(index), high))};
    }
    float single() { return pair().x(); }

  private:
    static uint32_t reversed(uint32_t x)
    {
        x = __builtin_bswap32(x);
        x = ((x >> 4) & 0x0f0f0f0fu) | ((x & 0x0f0f0f0fu) << 4);
        x = ((x >> 2) & 0x33333333u) | ((x & 0x33333333u) << 2);
        return ((x >> 1) & 0x55555555u) | ((x & 0x55555555u) << 1);
    }
    // A random permutation that moves every bit only according to the bits above it.
    static uint32_t scrambled(uint32_t x, uint32_t seed)
    {
        x = reversed(x) + seed;
        x ^= x * 0x6c50b47cu;
        x ^= x * 0xb82f1e52u;
        x ^= x * 0xc7afe638u;
        x ^= x * 0x8d22f6e6u;
        return reversed(x);
    }
    static uint32_t second_sobol(uint32_t index)
    {
        uint32_t result = 0;
        for (uint32_t v = 0x80000000u; index; index >>= 1, v ^= v >> 1)
            if (index & 1) result ^= v;
        return result;
    }
    static float unit(uint32_t x) { return static_cast<float>(x >> 8) * 0x1p-24f; }

    uint64_t pixel_;
    uint32_t path_;
    uint64_t dimension_ = 0;
};

} // namespace spindrift
