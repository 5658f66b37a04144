#include "spindrift/points/sort.h"

#include "base/determinism.h"
#include "field/dense.h"
#include "points/random_particles.h"
#include "spindrift/base/error.h"

#include <gtest/gtest.h>

namespace spindrift {
namespace {

constexpr float kVoxel = 0.03f;

// All tiles with a cell no farther than `reach` from a particle's cell.
std::set<uint64_t> tiles_within_reach(const Particles& particles, float voxel, int reach)
{
    std::set<uint64_t> codes;
    for (const Vec3f& p : particles.P) {
        const Vec3i cell = cell_of(p, 1 / voxel);
        const Vec3i low = tile_of_cell((cell.array() - reach).matrix());
        const Vec3i high = tile_of_cell((cell.array() + reach).matrix());
        for_each_cell(low, high.array() + 1, [&](const Vec3i& t) { codes.insert(morton_of_tile(t)); });
    }
    return codes;
}

Particles with_every_kind_of_attribute(size_t count, uint64_t seed)
{
    Particles particles = random_particles(count, 1.5f, seed);
    auto& order = particles.attribute<int32_t>("order");
    auto& age = particles.attribute<float>("age");
    auto& rest = particles.attribute<Vec3f>("rest");
    auto& again = particles.attribute<Vec3f>("rest_again");
    for (size_t i = 0; i < count; ++i) {
        order[i] = static_cast<int32_t>(i), age[i] = static_cast<float>(i) * 0.5f;
        rest[i] = 2 * particles.P[i], again[i] = -particles.P[i];
        particles.id[i] = static_cast<int32_t>(count - i);
    }
    return particles;
}

void expect_sorted(const Particles& before, const Particles& after, const Topology& topology, float voxel,
                   const ParticleIndex& index)
{
    ASSERT_EQ(after.size(), before.size());
    const auto& order = *after.find<int32_t>("order");

    // The same particles with all attributes, ordered by tile and cell; particles of one cell keep their order.
    std::vector<uint8_t> seen(before.size(), 0);
    std::pair<int, int> last = {-1, -1};
    for (size_t i = 0; i < after.size(); ++i) {
        const auto from = static_cast<size_t>(order[i]);
        ASSERT_EQ(seen[from]++, 0);
        ASSERT_EQ(after.P[i], before.P[from]);
        ASSERT_EQ(after.v[i], before.v[from]);
        ASSERT_EQ(after.id[i], before.id[from]);
        ASSERT_EQ(after.find<float>("age")->at(i), before.find<float>("age")->at(from));
        ASSERT_EQ(after.find<Vec3f>("rest")->at(i), before.find<Vec3f>("rest")->at(from));
        ASSERT_EQ(after.find<Vec3f>("rest_again")->at(i), before.find<Vec3f>("rest_again")->at(from));
        const Vec3i cell = cell_of(after.P[i], 1 / voxel);
        const std::pair<int, int> key = {topology.find(tile_of_cell(cell)), offset_of_cell(cell)};
        ASSERT_LE(last, key);
        if (key == last) {
            ASSERT_LT(order[i - 1], order[i]);
        }
        last = key;
    }

    // The index gives the range of every tile and cell.
    size_t at = 0;
    for (int t = 0; t < topology.tile_count(); ++t) {
        ASSERT_EQ(index.tile_begin(t), at);
        ASSERT_EQ(index.tile_empty(t), index.tile_end(t) == at);
        for (int c = 0; c < kTileCells; ++c) {
            ASSERT_EQ(index.cell_begin(t, c), at);
            const Vec3i cell = topology.first_cell(t) + cell_in_tile(c);
            while (at < after.size() && cell_of(after.P[at], 1 / voxel) == cell) ++at;
            ASSERT_EQ(index.cell_end(t, c), at);
        }
        ASSERT_EQ(index.tile_end(t), at);
    }
    ASSERT_EQ(at, after.size());
}

TEST(Sort, CellOfPositionRoundsDown)
{
    EXPECT_EQ(cell_of(Vec3f(0, -0.25f, 0.24f), 4), Vec3i(0, -1, 0));
    EXPECT_EQ(cell_of(Vec3f(-0.01f, -0.26f, 100), 4), Vec3i(-1, -2, 400));
}

TEST(Sort, TilesAroundParticlesAreExactlyThoseWithinReach)
{
    const Particles particles = random_particles(700, 2, 3);
    for (int reach = 0; reach <= 8; ++reach) {
        const Topology topology = tiles_around(particles, kVoxel, reach);
        const std::set<uint64_t> want = tiles_within_reach(particles, kVoxel, reach);
        EXPECT_EQ(std::vector<uint64_t>(want.begin(), want.end()), topology.codes()) << "reach " << reach;
    }
}

TEST(Sort, TilesAroundManyParticlesFarApartAreComplete)
{
    // More particles than one chunk, alternating between tiles that share a slot of the cache of recent tiles.
    Particles particles;
    particles.resize(40000);
    Random random(9);
    for (Vec3f& p : particles.P) {
        const Vec3f tile(static_cast<float>(random.bits() % 3) * 4 - 4, 0, static_cast<float>(random.bits() % 3) * 4);
        p = 8 * kVoxel * (tile + random_vector(random, 0, 1));
    }
    const std::set<uint64_t> want = tiles_within_reach(particles, kVoxel, 2);
    EXPECT_EQ(std::vector<uint64_t>(want.begin(), want.end()), tiles_around(particles, kVoxel, 2).codes());
}

TEST(Sort, EmptySetHasNoTiles)
{
    Particles nothing;
    const Topology topology = tiles_around(nothing, kVoxel, 2);
    EXPECT_EQ(topology.tile_count(), 0);
    ParticleIndex index;
    sort_by_tile(nothing, topology, kVoxel, index);
    EXPECT_EQ(nothing.size(), 0u);
}

TEST(Sort, ErrorNamesAParticleOutsideTheGrid)
{
    for (const float place : {1e9f, -1e9f, kInfinity, std::numeric_limits<float>::quiet_NaN()}) {
        Particles particles = random_particles(10, 1, 1);
        particles.P[7].y() = place;
        try {
            tiles_around(particles, kVoxel, 2);
            ADD_FAILURE() << "no error for a particle at " << place;
        } catch (const Error& e) {
            EXPECT_NE(std::string(e.what()).find("particle 7"), std::string::npos) << e.what();
        }
    }
}

TEST(Sort, SortIsStableByTileAndCellAndMovesEveryAttribute)
{
    for (const size_t count : {1u, 500u, 70000u}) { // one chunk; several
        const Particles before = with_every_kind_of_attribute(count, count);
        const SortedParticles sorted(before, kVoxel, 1);
        expect_sorted(before, sorted.particles, sorted.topology, kVoxel, sorted.index);
    }
}

TEST(Sort, IndexCanBeReusedForOtherParticles)
{
    ParticleIndex index;
    for (const size_t count : {30000u, 200u, 5000u}) {
        const Particles before = with_every_kind_of_attribute(count, count);
        Particles particles = before;
        const Topology topology = tiles_around(particles, kVoxel, 2);
        sort_by_tile(particles, topology, kVoxel, index);
        expect_sorted(before, particles, topology, kVoxel, index);
    }
}

TEST(Sort, SameOrderForAnyNumberOfThreads)
{
    const Particles before = with_every_kind_of_attribute(100000, 5);
    const auto sorted = [&](int threads) {
        return with_threads(threads, [&] { return std::make_unique<SortedParticles>(before, kVoxel, 2); });
    };
    const auto one = sorted(1);
    for (const int threads : {2, 7}) {
        const auto many = sorted(threads);
        EXPECT_EQ(one->topology.codes(), many->topology.codes());
        EXPECT_TRUE(same_bits(one->particles, many->particles)) << threads << " threads";
    }
}

} // namespace
} // namespace spindrift
