#include "spindrift/liquid/free_surface.h"

#include "field/dense.h"
#include "liquid/scenes.h"
#include "points/random_particles.h"

#include <gtest/gtest.h>

namespace spindrift {
namespace {

constexpr float kVoxel = 0.04f;

// Jittered particles, one in each eighth of a cell of the box [min, max) of cells, where `inside` holds.
template <class Inside> Particles fill(const Vec3i& min, const Vec3i& max, uint64_t seed, const Inside& inside)
{
    Random random(seed);
    Particles particles;
    for_each_cell(2 * min, 2 * max, [&](const Vec3i& eighth) {
        const Vec3f x = 0.5f * (eighth.cast<float>() + random_vector(random, 0, 1));
        if (!inside(x)) return;
        particles.P.push_back(kVoxel * x);
    });
    const size_t count = particles.P.size();
    particles.v.resize(count, Vec3f::Zero()), particles.id.resize(count);
    return particles;
}

struct Surface {
    SortedParticles sorted;
    SolidCells cells;
    Field<float> phi;

    Surface(Particles particles, const Solids& solids) : sorted(std::move(particles), kVoxel, 2)
    {
        cells.update(sorted.topology, solids, kVoxel);
        distance_to_surface(sorted.particles, sorted.index, sorted.topology, kVoxel, cells, phi);
    }
};

struct Error {
    double largest = 0, mean = 0, rms = 0;
};

// The surface position in the pressure solve: in each column of cells [min, max), between the highest liquid cell and
// the one above it. Returns its error relative to a height, in cells, over columns outside solids.
Error surface_error(const Surface& surface, const Solids& solids, const Vec3i& min, const Vec3i& max, float height)
{
    Error error;
    int columns = 0;
    for_each_cell(Vec3i(min.x(), 0, min.z()), Vec3i(max.x(), 1, max.z()), [&](const Vec3i& column) {
        const auto phi = [&](int y) { return surface.phi.at(Vec3i(column.x(), y, column.z())); };
        const auto center = [&](int y) {
            return Vec3f(column.cast<float>() + Vec3f(0.5f, static_cast<float>(y) + 0.5f, 0.5f));
        };
        if (solids.distance(kVoxel * center(max.y())) < 0) return;
        int y = max.y();
        while (y > min.y() && phi(y) >= 0) --y;
        for (int below = min.y(); below <= y; ++below)
            EXPECT_LT(phi(below), 0) << "a hole at " << center(below).transpose();
        const float found = center(y).y() + phi(y) / (phi(y) - phi(y + 1));
        const double off = static_cast<double>(found - height);
        error.largest = std::max(error.largest, std::abs(off)), error.mean += off, error.rms += off * off, ++columns;
    });
    error.mean /= columns, error.rms = std::sqrt(error.rms / columns);
    return error;
}

constexpr float kHeights[] = {0.0f, 0.15f, 0.3f, 0.45f, 0.6f, 0.75f, 0.9f};

TEST(FreeSurface, FlatPoolHasTheExactSurfaceHeight)
{
    const Solids none({}, {}, kFps);
    for (const float height : kHeights) {
        const auto below = [&](const Vec3f& x) { return x.y() < height; };
        const Surface surface(fill(Vec3i(-18, -6, -18), Vec3i(18, 6, 18), 7, below), none);
        // Away from the edges of the pool.
        const Error error = surface_error(surface, none, Vec3i(-16, -4, -16), Vec3i(16, 4, 16), height);
        std::printf("flat pool, height %.2f: surface off by %+.3f in the mean, %.3f rms, %.3f at most [cells]\n",
                    static_cast<double>(height), error.mean, error.rms, error.largest);
        EXPECT_LT(std::abs(error.mean), 0.05);
        EXPECT_LT(error.rms, 0.1);
        EXPECT_LT(error.largest, 0.4); // jitter of single particles
    }
}

TEST(FreeSurface, WallsDoNotLookLikeASurface)
{
    // The walls cut cells, and the floor is far below.
    const DomainParams domain = closed_domain(kVoxel * Vec3f(-16.3f, -8, -16.8f), kVoxel * Vec3f(16.6f, 20, 16.4f));
    const Solids solids(domain, {}, kFps);
    for (const float height : kHeights) {
        const auto inside = [&](const Vec3f& x) { return x.y() < height && solids.distance(kVoxel * x) > 0; };
        const Surface surface(fill(Vec3i(-17, -8, -17), Vec3i(17, 6, 17), 9, inside), solids);
        Error wall; // the outermost two cells on each side
        for (const auto& [low, high] : {std::pair{Vec3i(-17, -6, -17), Vec3i(-15, 4, 17)},
                                        {Vec3i(15, -6, -17), Vec3i(17, 4, 17)},
                                        {Vec3i(-17, -6, -17), Vec3i(17, 4, -15)},
                                        {Vec3i(-17, -6, 15), Vec3i(17, 4, 17)}}) {
            const Error side = surface_error(surface, solids, low, high, height);
            wall.mean += side.mean / 4, wall.largest = std::max(wall.largest, side.largest);
        }
        std::printf("pool at walls, height %.2f: surface off by %+.3f in the mean, %.3f at most [cells]\n",
                    static_cast<double>(height), wall.mean, wall.largest);
        EXPECT_LT(std::abs(wall.mean), 0.1);
        EXPECT_LT(wall.largest, 0.5);
    }
}

TEST(FreeSurface, EnclosedEmptyCellIsLiquidButACaveIsNot)
{
    const Solids none(DomainParams{}, {}, kFps);
    const auto in_box = [](const Vec3f& x, const Vec3f& low, const Vec3f& high) {
        return (x.array() >= low.array()).all() && (x.array() < high.array()).all();
    };
    const Surface surface(fill(Vec3i(0, 0, 0), Vec3i(20, 12, 12), 5,
                               [&](const Vec3f& x) {
                                   return !in_box(x, Vec3f(4, 5, 5), Vec3f(5, 6, 6)) &&
                                          !in_box(x, Vec3f(12, 4, 4), Vec3f(16, 8, 8));
                               }),
                          none);
    EXPECT_LT(surface.phi.at(Vec3i(4, 5, 5)), 0);
    EXPECT_GT(surface.phi.at(Vec3i(13, 5, 5)), 0);
}

TEST(FreeSurface, LoneParticleIsNoLiquidButAFullBlockIs)
{
    Particles lone;
    lone.resize(1);
    lone.P[0] = kVoxel * Vec3f(0.5f, 0.5f, 0.5f);
    const Solids none({}, {}, kFps);
    const Surface drop(std::move(lone), none);
    EXPECT_GT(drop.phi.at(Vec3i(0, 0, 0)), 0);
    EXPECT_EQ(drop.phi.at(Vec3i(4, 0, 0)), kSurfaceBand);

    const Surface block(fill(Vec3i(-3, -3, -3), Vec3i(4, 4, 4), 3, [](const Vec3f&) { return true; }), none);
    EXPECT_EQ(block.phi.at(Vec3i(0, 0, 0)), -kSurfaceBand);
    EXPECT_LT(block.phi.at(Vec3i(3, 3, 3)), 0) << "a full cell in a corner is liquid";
    EXPECT_GT(block.phi.at(Vec3i(4, 0, 0)), 0);
}

} // namespace
} // namespace spindrift
