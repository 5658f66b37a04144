#include "spindrift/base/parallel.h"

#include <gtest/gtest.h>

namespace spindrift {
namespace {

// The partial results of a vector of bool would share bytes, and threads would lose each other's.
TEST(ParallelReduce, LosesNoTruthValue)
{
    constexpr size_t kChunks = 4096, kChunk = 8;
    for (size_t trial = 0; trial < 500; ++trial) {
        const size_t odd = (trial * 7919) % kChunks * kChunk;
        const bool all = parallel_reduce(
            kChunks * kChunk, true, [&](size_t i) { return i != odd; }, [](bool a, bool b) { return a && b; }, kChunk);
        ASSERT_FALSE(all) << trial;
    }
}

TEST(ParallelReduce, AddsChunksInOrder)
{
    std::vector<double> values(100000);
    for (size_t i = 0; i < values.size(); ++i) values[i] = 1.0 / static_cast<double>(i + 1);
    double expected = 0;
    for (size_t begin = 0; begin < values.size(); begin += 64) {
        double part = 0;
        for (size_t i = begin; i < std::min(values.size(), begin + 64); ++i) part += values[i];
        expected += part;
    }
    EXPECT_EQ(parallel_sum(values.size(), [&](size_t i) { return values[i]; }), expected);
}

} // namespace
} // namespace spindrift
