#include "spindrift/field/short_float.h"

#include "spindrift/base/random.h"

#include <gtest/gtest.h>

namespace spindrift {
namespace {

TEST(ShortFloat, IsWithinOnePartIn256OverTheWholeRange)
{
    Random random(1);
    for (int exponent = -120; exponent <= 120; ++exponent) {
        alignas(32) float given[kTileSize], back[kTileSize];
        alignas(32) ShortFloat stored[kTileSize];
        for (float& x : given) x = std::ldexp(random.uniform(-1, 1), exponent);
        store_row(stored, load_row(given));
        store_row(back, load_row(stored));
        for (int k = 0; k < kTileSize; ++k) {
            EXPECT_LE(std::abs(back[k] - given[k]), std::abs(given[k]) / 256) << given[k];
            EXPECT_EQ(to_float(stored[k]), back[k]);
        }
    }
}

TEST(ShortFloat, RepresentableValuesRoundTripInOrder)
{
    alignas(32) const float given[kTileSize] = {0, 1, -1, 0.5f, 255, -3.25f, 1e20f, 1 + 1.0f / 512};
    alignas(32) ShortFloat stored[kTileSize];
    store_row(stored, load_row(given));
    for (int k = 0; k < 6; ++k) EXPECT_EQ(to_float(stored[k]), given[k]);
    EXPECT_EQ(to_float(stored[7]), 1);
    EXPECT_EQ(to_float(ShortFloat{}), 0);
}

} // namespace
} // namespace spindrift
