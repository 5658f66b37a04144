// Correspondence of control and target particles by random exchanges [Madill 2013, algorithm 1].
//
// The energy is the sum of squared distances of control particles to their targets; an exchange is made only if it
// lowers the energy. Algorithm 1 tests one random pair after the other. Here a round tests disjoint groups, which are
// independent of each other: they run in parallel and give the same result for any number of threads. Rounds of two
// kinds alternate:
// - random pairs, as in algorithm 1;
// - groups of 16 whose paths have neighbouring midpoints (consecutive along a Morton curve with a random origin),
//   within which targets are assigned optimally.
// Pairs alone come to rest 15 to 18% above the optimal assignment on 500 points in a cube whose targets are in the same
// cube, even after millions of tests: improving cycles are longer than two, and most random pairs are too far apart.
// Groups reach a few percent, with fewer tests.
#pragma once

#include "spindrift/base/math.h"

#include <span>
#include <vector>

namespace spindrift {

class Correspondence {
  public:
    explicit Correspondence(uint64_t seed = 0) : seed_(seed) {}

    // Tests `budget` pairs, or up to a group more; in a group, each two of its members count. target[i] is the index in
    // `goals` for P[i], and is a permutation. `round` is the number of earlier rounds; returns the number after these.
    uint64_t improve(std::span<const Vec3f> P, std::span<const Vec3f> goals, std::span<int32_t> target, size_t budget,
                     uint64_t round);

  private:
    void exchange_pairs(std::span<const Vec3f> P, std::span<const Vec3f> goals, std::span<int32_t> target, size_t pairs,
                        uint64_t key) const;
    // In this many groups that follow each other along the curve, from a random one on.
    void assign_in_groups(std::span<const Vec3f> P, std::span<const Vec3f> goals, std::span<int32_t> target,
                          size_t groups, uint64_t key);

    uint64_t seed_;
    std::vector<std::pair<uint64_t, uint32_t>> order_; // working memory
};

double matching_energy(std::span<const Vec3f> P, std::span<const Vec3f> goals, std::span<const int32_t> target);
// A random permutation of 0 to target.size() - 1.
void assign_randomly(std::span<int32_t> target, uint64_t seed);

// A random permutation of 0 to count - 1 that needs no memory: a Feistel network over the next power of four, applied
// again while the result is out of range.
class Shuffle {
  public:
    Shuffle(size_t count, uint64_t seed);
    size_t operator()(size_t i) const
    {
        do i = once(i);
        while (i >= count_);
        return i;
    }

  private:
    size_t once(size_t i) const;
    size_t count_;
    int half_bits_ = 1;
    uint64_t keys_[4];
};

} // namespace spindrift
