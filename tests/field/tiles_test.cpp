#include "spindrift/field/tiles.h"

#include "field/dense.h"
#include "spindrift/field/row.h"

#include <gtest/gtest.h>

namespace spindrift {
namespace {

TEST(Tiles, MortonCodesRoundTripAndInterleaveBits)
{
    Random random(1);
    for (int i = 0; i < 100000; ++i) {
        Vec3i tile;
        for (int a = 0; a < 3; ++a) tile[a] = static_cast<int>(random.bits() % (2 * kTileReach)) - kTileReach;
        if (i % 2) tile /= 1 << 15; // also test near the origin
        const uint64_t code = morton_of_tile(tile);
        ASSERT_EQ(tile_of_morton(code), tile);
        uint64_t slow = 0;
        for (int bit = 0; bit < 21; ++bit)
            for (int a = 0; a < 3; ++a)
                slow |= static_cast<uint64_t>((tile[a] + kTileReach) >> bit & 1) << (3 * bit + 2 - a);
        ASSERT_EQ(code, slow) << tile.transpose();
    }
    for (const int end : {-kTileReach, -1, 0, kTileReach - 1})
        EXPECT_EQ(tile_of_morton(morton_of_tile(Vec3i::Constant(end))), Vec3i::Constant(end));
}

TEST(Tiles, CellsAndTileOffsetsRoundTrip)
{
    for_each_cell(Vec3i(-17, -9, -3), Vec3i(18, 10, 20), [&](const Vec3i& c) {
        const Vec3i tile = tile_of_cell(c);
        for (int a = 0; a < 3; ++a) ASSERT_EQ(tile[a], static_cast<int>(std::floor(c[a] / 8.0)));
        ASSERT_EQ(tile * kTileSize + cell_in_tile(offset_of_cell(c)), c);
    });
    EXPECT_EQ(offset_in_tile(1, 0, 0), 64);
    EXPECT_EQ(offset_in_tile(0, 1, 0), 8);
    EXPECT_EQ(offset_in_tile(0, 0, 1), 1); // z runs fastest, as in an OpenVDB leaf
}

TEST(Tiles, FindAndNeighboursAgreeWithASetOfTiles)
{
    for (const float chance : {0.05f, 0.5f, 0.95f}) {
        const Vec3i min(-7, -3, -10), max(6, 8, -1);
        const std::vector<Vec3i> tiles = random_tiles(min, max, chance, 3);
        const Topology topology = topology_of(tiles);
        std::set<std::tuple<int, int, int>> reference;
        for (const Vec3i& t : tiles) reference.insert(key_of(t));

        ASSERT_EQ(static_cast<size_t>(topology.tile_count()), reference.size());
        EXPECT_EQ(topology.cell_count(), reference.size() * 512);
        EXPECT_TRUE(std::is_sorted(topology.codes().begin(), topology.codes().end()));
        for_each_cell(min.array() - 2, max.array() + 2, [&](const Vec3i& t) {
            const int found = topology.find(t);
            ASSERT_EQ(found != topology.tile_count(), reference.count(key_of(t)) == 1) << t.transpose();
            if (found == topology.tile_count()) return;
            ASSERT_EQ(topology.tile(found), t);
            ASSERT_EQ(topology.first_cell(found), t * 8);
            for_each_cell(Vec3i::Constant(-1), Vec3i::Constant(2), [&](const Vec3i& step) {
                const int neighbour = topology.neighbour(found, step.x(), step.y(), step.z());
                ASSERT_EQ(neighbour, topology.find(t + step));
                ASSERT_EQ(neighbour != topology.tile_count(), reference.count(key_of(t + step)) == 1);
                ASSERT_EQ(neighbour, topology.neighbours(found)[neighbour_slot(step.x(), step.y(), step.z())]);
            });
        });
    }
}

TEST(Tiles, TilesOutsideTheReachAreNotFound)
{
    const Topology nothing;
    EXPECT_EQ(nothing.find(Vec3i(0, 0, 0)), 0);
    const Topology corner = topology_of({Vec3i::Constant(kTileReach - 1), Vec3i::Constant(-kTileReach)});
    EXPECT_EQ(corner.tile_count(), 2);
    EXPECT_EQ(corner.find(Vec3i::Constant(kTileReach)), 2);
    EXPECT_EQ(corner.find(Vec3i::Constant(-kTileReach - 1)), 2);
    for (const int t : {0, 1})
        for (const int n : corner.neighbours(t)) EXPECT_TRUE(n == t || n == 2);
}

TEST(Tiles, CoveringTakesEveryTileThatIntersectsTheBox)
{
    for (const auto& [min, max] : {std::pair{Vec3i(-9, 0, 3), Vec3i(1, 8, 17)}, {Vec3i(0, 0, 0), Vec3i(1, 1, 1)}}) {
        const Topology topology = Topology::covering(min, max);
        std::set<std::tuple<int, int, int>> reference;
        for_each_cell(min, max, [&](const Vec3i& c) { reference.insert(key_of(tile_of_cell(c))); });
        EXPECT_EQ(static_cast<size_t>(topology.tile_count()), reference.size());
        for (int t = 0; t < topology.tile_count(); ++t) EXPECT_TRUE(reference.count(key_of(topology.tile(t))));
    }
}

TEST(Tiles, FieldsReturnBackgroundWhereTilesAreMissing)
{
    const RandomField random(Vec3i(-3, -2, -1), Vec3i(2, 3, 2), 0.4f, 7.5f, 5);
    EXPECT_EQ(random.field.background(), 7.5f);
    for_each_cell(random.dense.min, random.dense.max,
                  [&](const Vec3i& c) { ASSERT_EQ(random.field.at(c), random.dense.get(c)) << c.transpose(); });

    Field<float> copy;
    copy.copy_from(random.field);
    EXPECT_EQ(copy.background(), 7.5f);
    EXPECT_TRUE(std::equal(copy.values().begin(), copy.values().end(), random.field.values().begin()));
}

TEST(Tiles, ResetToASmallerTopologyDropsValuesAndKeepsMemory)
{
    const Topology large = Topology::covering(Vec3i(-16, -16, -16), Vec3i(16, 16, 16)),
                   small = topology_of({Vec3i(1, 0, 0)});
    Field<int> field(large, 3);
    const size_t bytes = field.bytes();
    field.reset(small, 4, 5);
    EXPECT_EQ(field.bytes(), bytes) << "memory is kept";
    EXPECT_EQ(field.values().size(), 512u);
    EXPECT_EQ(field.at(Vec3i(8, 0, 0)), 4);
    EXPECT_EQ(field.at(Vec3i(0, 0, 0)), 5);
}

TEST(Tiles, TileViewReadsNeighboursInAllDirections)
{
    for (const float chance : {0.2f, 0.7f}) {
        const RandomField random(Vec3i(-2, -2, -2), Vec3i(2, 2, 2), chance, -3, 11);
        for (int t = 0; t < random.topology.tile_count(); ++t) {
            const TileView view(random.field, t);
            for_each_row([&](int x, int y, int offset) {
                ASSERT_EQ(offset, offset_in_tile(x, y, 0));
                const Row rows[7] = {view.at(x, y),      view.below_x(x, y), view.above_x(x, y), view.below_y(x, y),
                                     view.above_y(x, y), view.below_z(x, y), view.above_z(x, y)};
                const Vec3i steps[7] = {{0, 0, 0}, {-1, 0, 0}, {1, 0, 0}, {0, -1, 0}, {0, 1, 0}, {0, 0, -1}, {0, 0, 1}};
                for (int k = 0; k < 7; ++k)
                    for (int z = 0; z < kTileSize; ++z) {
                        const Vec3i cell = random.topology.first_cell(t) + Vec3i(x, y, z) + steps[k];
                        ASSERT_EQ(rows[k][z], random.dense.get(cell)) << cell.transpose() << " direction " << k;
                    }
            });
        }
    }
}

TEST(Tiles, RowSumsAddProductsInDouble)
{
    Random random(2);
    RowSum sum;
    double slow = 0;
    for (int i = 0; i < 1000; ++i) {
        alignas(32) float a[8], b[8];
        for (int k = 0; k < 8; ++k) {
            a[k] = random.uniform(0, 1), b[k] = random.uniform(0, 1e-6f);
            slow += static_cast<double>(a[k]) * static_cast<double>(b[k]);
        }
        sum.add_product(load_row(a), load_row(b));
    }
    EXPECT_NEAR(sum.total(), slow, 1e-13 * slow);
    const Row inverse = inverse_or_zero(Row{0, 1, 2, 4, 0, 0.5f, 8, 16});
    for (int k = 0; k < 8; ++k) EXPECT_EQ(inverse[k], (Row{0, 1, 0.5f, 0.25f, 0, 2, 0.125f, 0.0625f})[k]);
}

} // namespace
} // namespace spindrift
