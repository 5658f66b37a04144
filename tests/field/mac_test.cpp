#include "spindrift/field/mac.h"

#include "base/determinism.h"
#include "field/dense.h"

#include <gtest/gtest.h>

namespace spindrift {
namespace {

// Three random components on the same tiles, and the same numbers in dense boxes.
struct RandomMac {
    Topology topology;
    MacField field;
    std::vector<Dense<float>> dense;

    RandomMac(const Vec3i& min_tile, const Vec3i& max_tile, float chance, uint64_t seed)
        : topology(topology_of(random_tiles(min_tile, max_tile, chance, seed)))
    {
        field.reset(topology, 0);
        Random random(seed, 2);
        for (auto& u : field.u) {
            dense.emplace_back((min_tile.array() - 1).matrix() * kTileSize, (max_tile.array() + 1).matrix() * kTileSize,
                               0);
            for_each_value(u, [&](const Vec3i& cell, float& value) {
                value = random.uniform(-1, 1);
                dense.back().at(cell) = value;
            });
        }
    }
    RandomMac(const RandomMac&) = delete;
};

// Trilinear interpolation of one component; x in cells.
double interpolate(const Dense<float>& u, int axis, const Vec3d& x)
{
    double sum = 0;
    const Vec3i near(static_cast<int>(std::floor(x.x())), static_cast<int>(std::floor(x.y())),
                     static_cast<int>(std::floor(x.z())));
    for_each_cell(near.array() - 1, near.array() + 2, [&](const Vec3i& cell) {
        Vec3d face = cell.cast<double>().array() + 0.5;
        face[axis] -= 0.5;
        const Vec3d tent = (1 - (face - x).array().abs()).max(0.0);
        sum += tent.prod() * static_cast<double>(u.get(cell));
    });
    return sum;
}

template <int H> void expect_interpolated()
{
    const RandomMac mac(Vec3i(-2, -2, -2), Vec3i(2, 2, 2), 1, 31);
    Random random(5);
    auto block = std::make_unique<MacBlock<H>>();
    for (int t = 0; t < mac.topology.tile_count(); t += 5) {
        block->gather(mac.field, t, Margin::background);
        for (size_t i = 0; i < 64; ++i) {
            const float low = 1.001f - H, high = kTileSize + H - 1.001f;
            const size_t count = 1 + i % 8;
            Vec3f x[8], got[8];
            for (size_t k = 0; k < count; ++k)
                for (int a = 0; a < 3; ++a) x[k][a] = random.uniform(low, high);
            store_row3(got, block->sample(load_row3(x, count)), count);
            for (size_t k = 0; k < count; ++k) {
                const Vec3d place = x[k].cast<double>() + mac.topology.first_cell(t).cast<double>();
                for (int a = 0; a < 3; ++a)
                    ASSERT_NEAR(got[k][a], interpolate(mac.dense[a], a, place), 5e-6) << x[k].transpose();
            }
        }
    }
}

TEST(Mac, SamplesAreTrilinearInterpolations)
{
    expect_interpolated<1>();
    expect_interpolated<4>();
    expect_interpolated<5>();
}

TEST(Mac, SamplesAndGradientsOfALinearFieldAreExact)
{
    const Topology topology = Topology::covering(Vec3i(-16, -16, -16), Vec3i(16, 16, 16));
    Mat3f slope;
    slope << 1, -2, 0.5f, 0.25f, 3, -1, -0.5f, 2, 1.5f;
    const Vec3f constant(4, -1, 2);
    MacField field;
    field.reset(topology, 0);
    for (int a = 0; a < 3; ++a)
        for_each_value(field.u[a], [&](const Vec3i& cell, float& u) {
            Vec3f face = cell.cast<float>() + Vec3f::Constant(0.5f);
            face[a] -= 0.5f;
            u = (constant + slope * face)[a];
        });
    auto block = std::make_unique<MacBlock<4>>();
    Random random(7);
    for (int t = 0; t < topology.tile_count(); ++t) {
        const Vec3i tile = topology.tile(t);
        if ((tile.array() != -1 && tile.array() != 0).any()) continue; // tiles with neighbours on all sides
        block->gather(field, t, Margin::background);
        for (int i = 0; i < 25; ++i) {
            Vec3f x[8], got[8], gradient[8];
            for (Vec3f& point : x)
                for (int a = 0; a < 3; ++a) point[a] = random.uniform(-2.9f, 10.9f);
            const Row3 points = load_row3(x, 8);
            store_row3(got, block->sample(points), 8);
            for (int k = 0; k < 8; ++k) {
                const Vec3f want = constant + slope * (x[k] + topology.first_cell(t).cast<float>());
                ASSERT_LT((got[k] - want).cwiseAbs().maxCoeff(), 3e-5f) << x[k].transpose();
            }
            const MacBlock<4>::Places places(points);
            for (int a = 0; a < 3; ++a) {
                const auto place = places.of(a);
                store_row3(gradient, MacBlock<4>::Corners(*block, a, place).gradient(place), 8);
                for (const Vec3f& g : gradient)
                    ASSERT_LT((g.transpose() - slope.row(a)).cwiseAbs().maxCoeff(), 5e-5f) << a;
            }
        }
    }
}

// Reference: one layer of extrapolation, cell by cell; `exists` marks cells of existing tiles.
void extrapolate_slowly(Dense<float>& u, Dense<uint8_t>& known, const Dense<uint8_t>& exists)
{
    Dense<float> next = u;
    Dense<uint8_t> next_known = known;
    for_each_cell(u.min, u.max, [&](const Vec3i& c) {
        if (!exists.get(c) || known.get(c)) return;
        double sum = 0;
        int count = 0;
        for (int a = 0; a < 3; ++a)
            for (const int side : {-1, 1}) {
                const Vec3i other = c + Vec3i(side * Vec3i::Unit(a));
                if (known.get(other)) sum += static_cast<double>(u.get(other)), ++count;
            }
        if (count == 0) return;
        next.at(c) = static_cast<float>(sum / count), next_known.at(c) = 1;
    });
    u = next, known = next_known;
}

TEST(Mac, ExtrapolationFillsLayerByLayerWithTheMeanOfKnownNeighbours)
{
    for (const float seeds : {0.0005f, 0.02f, 0.6f})
        for (int layers = 0; layers <= 7; ++layers) {
            RandomMac mac(Vec3i(-2, -2, -2), Vec3i(2, 2, 2), 0.6f, 41);
            MacField known;
            known.reset(mac.topology, 0);
            Random random(43);
            for (int a = 0; a < 3; ++a) {
                Dense<float>& u = mac.dense[a];
                Dense<uint8_t> has(u.min, u.max, 0), exists(u.min, u.max, 0);
                for_each_value(known.u[a], [&](const Vec3i& cell, float& k) {
                    exists.at(cell) = 1;
                    if (random.uniform() < seeds) k = random.uniform(0.01f, 5), has.at(cell) = 1;
                });
                for (int layer = 0; layer < layers; ++layer) extrapolate_slowly(u, has, exists);
                MacField one, one_known; // extrapolated alone, to check that components are independent
                one.copy_from(mac.field), one_known.copy_from(known);
                extrapolate(one, one_known, layers);
                for_each_value(one.u[a], [&](const Vec3i& cell, float& value) {
                    ASSERT_EQ(one_known.u[a].at(cell) > 0, has.get(cell) == 1)
                        << layers << " layers " << cell.transpose();
                    if (has.get(cell)) {
                        ASSERT_NEAR(value, u.get(cell), 2e-6f) << layers << " layers " << cell.transpose();
                    }
                });
            }
        }
}

TEST(Mac, ProvisionalValuesAreOverwrittenAndNeverSpread)
{
    const Topology topology = Topology::covering(Vec3i(0, 0, 0), Vec3i(16, 8, 8));
    MacField u, known;
    u.reset(topology, 7), known.reset(topology, 0);
    const auto set = [&](MacField& f, int x, float value) {
        f.u[0].tile(topology.find(tile_of_cell(Vec3i(x, 3, 3))))[offset_of_cell(Vec3i(x, 3, 3))] = value;
    };
    const auto at = [&](const MacField& f, int x) { return f.u[0].at(Vec3i(x, 3, 3)); };
    set(u, 7, 1), set(known, 7, 1);                                   // known
    set(u, 8, 5), set(known, 8, -1), set(u, 9, 6), set(known, 9, -1); // provisional
    extrapolate(u, known, 1);
    EXPECT_EQ(at(u, 8), 1);
    EXPECT_GT(at(known, 8), 0);
    EXPECT_EQ(at(u, 9), 6);
    EXPECT_LT(at(known, 9), 0);
    EXPECT_EQ(at(known, 10), 0);
    accept_provisional(known);
    extrapolate(u, known, 1);
    EXPECT_EQ(at(u, 9), 6);
    EXPECT_EQ(at(u, 10), 6);
}

TEST(Mac, ExtrapolationHasSameBitsForAnyNumberOfThreads)
{
    const auto run = [&](int threads) {
        return with_threads(threads, [&] {
            auto mac = std::make_unique<RandomMac>(Vec3i(-3, -3, -3), Vec3i(3, 3, 3), 0.7f, 51);
            MacField known;
            known.reset(mac->topology, 0);
            Random random(52);
            for (auto& k : known.u)
                for (float& value : k.values()) value = random.uniform() < 0.01f;
            extrapolate(mac->field, known, 6);
            return mac;
        });
    };
    const auto one = run(1);
    for (const int threads : {2, 7}) {
        const auto many = run(threads);
        for (int a = 0; a < 3; ++a) EXPECT_TRUE(same_bits(one->field.u[a], many->field.u[a])) << threads << " threads";
    }
}

} // namespace
} // namespace spindrift
