#include "spindrift/field/block.h"

#include "field/dense.h"

#include <gtest/gtest.h>

namespace spindrift {
namespace {

template <int H> void expect_background_margin()
{
    const RandomField random(Vec3i(-2, -2, -2), Vec3i(2, 2, 2), 0.5f, 9, 21);
    for (int t = 0; t < random.topology.tile_count(); ++t) {
        auto block = std::make_unique<Block<float, H>>();
        block->gather(random.field, t);
        for_each_cell(Vec3i::Constant(-H), Vec3i::Constant(kTileSize + H), [&](const Vec3i& c) {
            ASSERT_EQ(block->at(c.x(), c.y(), c.z()), random.dense.get(random.topology.first_cell(t) + c))
                << "margin " << H << " at " << c.transpose();
        });
    }
}

TEST(Block, MarginHoldsNeighboursAndBackground)
{
    expect_background_margin<1>();
    expect_background_margin<4>();
    expect_background_margin<5>();
    expect_background_margin<8>();
}

// Values allowed in a margin cell: its own if its tile exists; otherwise one found by clamping the cell to the tile
// along as few axes as reach an existing tile.
std::vector<float> allowed_values(const RandomField& random, int tile, const Vec3i& cell)
{
    std::vector<float> values;
    for (int moved_axes = 0; values.empty(); ++moved_axes)
        for (int mask = 0; mask < 8; ++mask) {
            Vec3i moved = cell;
            int count = 0;
            for (int a = 0; a < 3; ++a)
                if (mask >> a & 1) {
                    const int inside = std::clamp(cell[a], 0, kTileSize - 1);
                    count += inside != cell[a], moved[a] = inside;
                }
            if (count != moved_axes) continue;
            const Vec3i place = random.topology.first_cell(tile) + moved;
            if (random.topology.find(tile_of_cell(place)) != random.topology.tile_count())
                values.push_back(random.dense.get(place));
        }
    return values;
}

template <int H> void expect_nearest_margin(float chance)
{
    const RandomField random(Vec3i(-2, -2, -2), Vec3i(2, 2, 2), chance, 9, 22);
    for (int t = 0; t < random.topology.tile_count(); ++t) {
        auto block = std::make_unique<Block<float, H>>();
        block->gather(random.field, t, Margin::nearest);
        for_each_cell(Vec3i::Constant(-H), Vec3i::Constant(kTileSize + H), [&](const Vec3i& c) {
            const std::vector<float> allowed = allowed_values(random, t, c);
            ASSERT_NE(std::find(allowed.begin(), allowed.end(), block->at(c.x(), c.y(), c.z())), allowed.end())
                << "margin " << H << " at " << c.transpose();
        });
    }
}

TEST(Block, NearestMarginHoldsNoBackground)
{
    for (const float chance : {0.15f, 0.5f, 0.9f}) {
        expect_nearest_margin<1>(chance);
        expect_nearest_margin<4>(chance);
        expect_nearest_margin<5>(chance);
    }
}

TEST(Block, NearestMarginOfAnIsolatedTileRepeatsItsBorder)
{
    const RandomField random(Vec3i(-1, 0, -1), Vec3i(0, 1, 0), 1, 9, 23);
    ASSERT_EQ(random.topology.tile_count(), 1);
    auto block = std::make_unique<Block<float, 5>>();
    block->gather(random.field, 0, Margin::nearest);
    for_each_cell(Vec3i::Constant(-5), Vec3i::Constant(13), [&](const Vec3i& c) {
        const Vec3i inside = c.cwiseMax(0).cwiseMin(7);
        ASSERT_EQ(block->at(c.x(), c.y(), c.z()), random.dense.get(random.topology.first_cell(0) + inside));
    });
}

} // namespace
} // namespace spindrift
