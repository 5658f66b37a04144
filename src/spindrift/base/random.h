// Counter-based random numbers. A value depends only on its seed and counter, not on earlier draws or on the thread, so
// runs repeat to the bit.
#pragma once

#include "spindrift/base/math.h"

namespace spindrift {

// Finaliser of splitmix64: a bijection on 64 bits that passes statistical tests on consecutive counters.
inline uint64_t hash64(uint64_t x)
{
    x += 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

inline uint64_t hash64(uint64_t a, uint64_t b) { return hash64(hash64(a) ^ b); }

// Stream of random numbers identified by (seed, key), e.g. a cell and a frame.
class Random {
  public:
    explicit Random(uint64_t seed, uint64_t key = 0) : state_(hash64(seed, key)) {}

    uint64_t bits() { return hash64(state_++); }
    // In [0, 1). Uses the top 24 bits, so every value is exact and 1 never occurs.
    float uniform() { return static_cast<float>(bits() >> 40) * 0x1p-24f; }
    float uniform(float from, float to) { return from + (to - from) * uniform(); }

  private:
    uint64_t state_;
};

} // namespace spindrift
