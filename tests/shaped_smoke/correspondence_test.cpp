#include "spindrift/shaped_smoke/correspondence.h"

#include "base/determinism.h"
#include "shaped_smoke/random_matching.h"

#include <gtest/gtest.h>

namespace spindrift {

namespace {

bool is_permutation(std::vector<int32_t> target)
{
    std::sort(target.begin(), target.end());
    for (size_t i = 0; i < target.size(); ++i)
        if (target[i] != static_cast<int32_t>(i)) return false;
    return true;
}

TEST(Correspondence, TheAssignmentOfTheTestIsOptimal)
{
    // All permutations of six.
    RandomMatching matched(6, 0.3f, 5);
    std::vector<int32_t> order = {0, 1, 2, 3, 4, 5};
    double least = 1e30;
    do matched.target = order, least = std::min(least, matched.energy());
    while (std::next_permutation(order.begin(), order.end()));
    EXPECT_NEAR(matched.optimum(), least, 1e-6);
}

TEST(Correspondence, RandomStartIsAPermutation)
{
    for (const size_t count : {1u, 2u, 3u, 17u, 1000u, 4097u})
        EXPECT_TRUE(is_permutation(RandomMatching(count, 0, 1).target));
}

TEST(Correspondence, EnergyNeverRisesAndTargetsStayAPermutation)
{
    RandomMatching matched(3000, 0.5f, 3);
    Correspondence correspondence(9);
    double before = matched.energy();
    uint64_t round = 0;
    for (int k = 0; k < 100; ++k) {
        round = correspondence.improve(matched.P, matched.goals, matched.target, 500, round);
        const double now = matched.energy();
        ASSERT_LE(now, before * (1 + 1e-15));
        before = now;
    }
    EXPECT_TRUE(is_permutation(matched.target));
    EXPECT_LT(before, 0.6 * RandomMatching(3000, 0.5f, 3).energy());
}

// Of few tests, few targets change: each pair changes two, each group of 16 at most 16.
TEST(Correspondence, KeepsToASmallBudget)
{
    RandomMatching matched(20000, 1, 3);
    Correspondence correspondence(9);
    uint64_t round = 0;
    for (const size_t budget : {1u, 100u, 500u, 1000u}) {
        const std::vector<int32_t> before = matched.target;
        const uint64_t rounds_before = round;
        round = correspondence.improve(matched.P, matched.goals, matched.target, budget, round);
        size_t changed = 0;
        for (size_t i = 0; i < before.size(); ++i) changed += before[i] != matched.target[i];
        const bool groups = rounds_before % 2 == 1;
        EXPECT_LE(changed, groups ? 16 * (1 + budget / 120) : 2 * budget) << budget;
        EXPECT_GT(changed, 0u) << budget;
    }
}

// Far from the origin, where squared distances are large and sums of floats are rounded.
TEST(Correspondence, EnergyNeverRisesFarFromTheGoals)
{
    RandomMatching matched(4000, 30, 3);
    Correspondence correspondence(9);
    uint64_t round = 0;
    for (double before = matched.energy(); round < 200;) {
        round = correspondence.improve(matched.P, matched.goals, matched.target, 2000, round);
        const double now = matched.energy();
        ASSERT_LE(now, before * (1 + 1e-15));
        before = now;
    }
}

// Shift 0 is the hardest case: the optimal paths are short, and any other matching is much longer.
TEST(Correspondence, EndsWithinFivePercentOfTheOptimalAssignment)
{
    for (const float shift : {0.0f, 1.0f})
        for (const uint64_t seed : {1u, 2u, 3u}) {
            RandomMatching matched(500, shift, seed);
            Correspondence correspondence(seed);
            const double optimum = matched.optimum();
            EXPECT_GT(matched.energy(), 1.3 * optimum);
            correspondence.improve(matched.P, matched.goals, matched.target, 4000000, 0);
            EXPECT_LT(matched.energy(), 1.05 * optimum) << shift << " " << seed;
            EXPECT_GE(matched.energy(), (1 - 1e-6) * optimum);
        }
}

TEST(Correspondence, SameBitsForAnyNumberOfThreads)
{
    const auto run = [](int threads) {
        return with_threads(threads, [] {
            RandomMatching matched(5000, 0.2f, 7);
            Correspondence correspondence(1);
            correspondence.improve(matched.P, matched.goals, matched.target, 300000, 0);
            return matched.target;
        });
    };
    const auto one = run(1);
    EXPECT_EQ(one, run(2));
    EXPECT_EQ(one, run(3));
}

TEST(Correspondence, OneParticleAndNoneAreFine)
{
    for (const size_t count : {0u, 1u, 2u, 3u, 15u, 16u, 17u}) {
        RandomMatching matched(count, 0, 1);
        Correspondence correspondence(1);
        correspondence.improve(matched.P, matched.goals, matched.target, 1000, 0);
        EXPECT_TRUE(is_permutation(matched.target));
    }
}

} // namespace

} // namespace spindrift
