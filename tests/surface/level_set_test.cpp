// Filters of the distance, checked on spheres by their radius, and the surfaces made with them.
#include "base/determinism.h"
#include "spindrift/base/error.h"
#include "spindrift/base/random.h"
#include "spindrift/surface/surface.h"

#include <gtest/gtest.h>

using namespace spindrift;

namespace {

constexpr SurfaceMode kModes[] = {SurfaceMode::spheres, SurfaceMode::averaged, SurfaceMode::ellipsoids,
                                  SurfaceMode::corrected};

// The distance to balls, clamped at two cells outside and at one inside, like the surface's own.
struct Balls {
    std::unique_ptr<Topology> topology;
    Field<float> phi;
    Field<Vec3f> velocity;

    explicit Balls(const std::vector<std::pair<Vec3f, float>>& balls)
        : topology(std::make_unique<Topology>(Topology::covering(Vec3i(-32, -24, -24), Vec3i(32, 24, 24))))
    {
        phi.reset(*topology, 2), velocity.reset(*topology, Vec3f::Zero());
        for (int t = 0; t < topology->tile_count(); ++t)
            for (int i = 0; i < kTileCells; ++i) {
                float least = 2;
                for (const auto& [center, radius] : balls) least = std::min(least, (at(t, i) - center).norm() - radius);
                phi.tile(t)[i] = std::max(least, -1.0f);
            }
    }
    Vec3f at(int t, int i) const
    {
        return (topology->first_cell(t) + cell_in_tile(i)).cast<float>() + Vec3f::Constant(0.5f);
    }
    // Half the length of the liquid along x through y = z = 0.
    float radius_around(float x) const
    {
        const auto value = [&](float offset) {
            const float s = x + offset - 0.5f;
            const int cell = floor_int(s);
            return mix(phi.at(Vec3i(cell, 0, 0)), phi.at(Vec3i(cell + 1, 0, 0)), s - static_cast<float>(cell));
        };
        float r = 0;
        while (r < 30 && value(r) < 0) r += 0.01f;
        return r;
    }
};

Particles at(const std::vector<Vec3f>& positions)
{
    Particles particles;
    particles.resize(positions.size());
    particles.P = positions;
    return particles;
}

std::vector<Vec3f> ball(const Vec3f& center, float radius)
{
    std::vector<Vec3f> points;
    Random random(3);
    const int reach = static_cast<int>(radius) + 2;
    for (int x = -reach; x < reach; ++x)
        for (int y = -reach; y < reach; ++y)
            for (int z = -reach; z < reach; ++z) {
                const Vec3f p =
                    Vec3i(x, y, z).cast<float>() + Vec3f(random.uniform(), random.uniform(), random.uniform());
                if (p.norm() < radius) points.push_back(p + center);
            }
    return points;
}

int euler_characteristic(const Mesh& mesh)
{
    return static_cast<int>(mesh.positions.size()) - static_cast<int>(mesh.triangles.size() / 2);
}

SurfaceFilter filter_of(float dilate, int smooth, float erode)
{
    SurfaceFilter filter;
    filter.dilate = dilate, filter.smooth = smooth, filter.erode = erode;
    return filter;
}

double ball_volume(double radius) { return 4 * kPi / 3 * radius * radius * radius; }

} // namespace

TEST(LevelSet, MakeDistanceExtendsTheBand)
{
    Balls one({{Vec3f(0.5f, 0.5f, 0.5f), 10}});
    make_distance(one.phi);
    EXPECT_EQ(one.phi.background(), kLevelSetBand);
    for (int t = 0; t < one.topology->tile_count(); ++t)
        for (int i = 0; i < kTileCells; ++i) {
            const float exact = (one.at(t, i) - Vec3f(0.5f, 0.5f, 0.5f)).norm() - 10;
            // The surface stays to the bit; beyond, the sweep is first-order accurate.
            if (std::abs(exact) < 0.5f)
                EXPECT_NEAR(one.phi.tile(t)[i], exact, 1e-6f);
            else
                EXPECT_NEAR(one.phi.tile(t)[i], std::clamp(exact, -kLevelSetBand, kLevelSetBand), 0.3f);
        }
}

TEST(LevelSet, DilateAndErodeMoveTheSurfaceByTheirLength)
{
    for (const float voxel : {1.0f, 0.25f})
        for (const float by : {0.3f, 1.0f, 2.6f}) {
            Balls grown({{Vec3f(0, 0.5f, 0.5f), 10}}), shrunk({{Vec3f(0, 0.5f, 0.5f), 10}});
            SurfaceFilter filter;
            filter.dilate = by * voxel;
            filter_level_set(grown.phi, grown.velocity, voxel, filter);
            EXPECT_NEAR(grown.radius_around(0), 10 + by, 0.1f);
            filter = {};
            filter.erode = by * voxel;
            filter_level_set(shrunk.phi, shrunk.velocity, voxel, filter);
            EXPECT_NEAR(shrunk.radius_around(0), 10 - by, 0.1f);
        }
}

TEST(LevelSet, DilatingAndErodingClosesOnlyGaps)
{
    // Two balls 2 cells apart merge, and the outer sides return to where they were.
    Balls two({{Vec3f(-11, 0.5f, 0.5f), 10}, {Vec3f(11, 0.5f, 0.5f), 10}});
    EXPECT_GT(two.phi.at(Vec3i(0, 0, 0)), 0);
    SurfaceFilter filter;
    filter.dilate = filter.erode = 2.5f;
    filter_level_set(two.phi, two.velocity, 1, filter);
    EXPECT_LT(two.phi.at(Vec3i(0, 0, 0)), 0);
    EXPECT_NEAR(two.radius_around(11), 10, 0.15f);
}

TEST(LevelSet, SmoothingIsLimitedByCurvature)
{
    // Smoothing shrinks small balls much and large ones little; the limit, a radius of 8, protects the small one.
    const std::vector<std::pair<Vec3f, float>> balls = {{Vec3f(-14, 0.5f, 0.5f), 14}, {Vec3f(14, 0.5f, 0.5f), 4}};
    SurfaceFilter filter;
    filter.smooth = 4;
    Balls all(balls), masked(balls), metres(balls);
    filter_level_set(all.phi, all.velocity, 1, filter);
    EXPECT_LT(all.radius_around(14), 3.2f);
    filter.max_curvature = 0.1f;
    filter_level_set(masked.phi, masked.velocity, 1, filter);
    EXPECT_NEAR(masked.radius_around(14), 4, 0.1f);
    EXPECT_NEAR(masked.radius_around(-14), all.radius_around(-14), 0.05f);
    EXPECT_LT(masked.radius_around(-14), 13.85f);
    filter.max_curvature = 0.1f / 0.01f; // for voxels of 1 cm
    filter_level_set(metres.phi, metres.velocity, 0.01f, filter);
    EXPECT_NEAR(metres.radius_around(14), masked.radius_around(14), 0.02f);
    EXPECT_NEAR(metres.radius_around(-14), masked.radius_around(-14), 0.02f);
}

TEST(LevelSet, SmoothingIsLimitedBySpeed)
{
    const std::vector<std::pair<Vec3f, float>> balls = {{Vec3f(-16, 0.5f, 0.5f), 5}, {Vec3f(16, 0.5f, 0.5f), 5}};
    Balls two(balls);
    for (int t = 0; t < two.topology->tile_count(); ++t)
        for (int i = 0; i < kTileCells; ++i) two.velocity.tile(t)[i] = Vec3f(0, two.at(t, i).x() > 0 ? 3.0f : 0.5f, 0);
    SurfaceFilter filter;
    filter.smooth = 4, filter.max_speed = 1;
    filter_level_set(two.phi, two.velocity, 1, filter);
    EXPECT_NEAR(two.radius_around(16), 5, 0.1f);
    EXPECT_LT(two.radius_around(-16), 4.5f);
}

TEST(LevelSet, FilteredSurfacesAreClosedAndHaveTheExpectedSize)
{
    const Vec3f center(0.3f, 0.2f, 0.1f);
    for (const SurfaceMode mode : kModes) {
        SurfaceParams params;
        params.mode = mode;
        const auto volume = [&](const SurfaceFilter& filter) {
            params.filter = filter;
            const Mesh mesh = make_surface(at(ball(center, 12)), 1, params).mesh;
            EXPECT_TRUE(is_closed(mesh));
            return volume_of(mesh);
        };
        const double radius = std::cbrt(volume({}) / (4 * kPi / 3));
        // 5% is an eighth of a cell. Spheres have crevices, and voids between them that eroding alone would open.
        const bool bumpy = mode == SurfaceMode::spheres || mode == SurfaceMode::corrected;
        EXPECT_NEAR(volume(filter_of(1.5f, 0, 0)) / ball_volume(radius + 1.5), 1, bumpy ? 0.08 : 0.05);
        EXPECT_NEAR(volume(filter_of(1.5f, 0, 1.5f)) / ball_volume(radius), 1, bumpy ? 0.08 : 0.05);
        EXPECT_NEAR(volume(filter_of(0, 1, 0)) / ball_volume(radius), 1, bumpy ? 0.1 : 0.03);
        EXPECT_NEAR(volume(filter_of(0, 0, 1.5f)) / ball_volume(radius - 1.5), 1, bumpy ? 0.6 : 0.05);
    }
    SurfaceParams params;
    params.filter.dilate = 40;
    EXPECT_THROW(make_surface(at(ball(center, 4)), 1, params), Error);
    params.mode = SurfaceMode::averaged, params.filter.dilate = 6;
    EXPECT_THROW(make_surface(at(ball(center, 4)), 1, params), Error);
}

TEST(LevelSet, SurfaceVelocityIsThatOfItsParticles)
{
    for (const SurfaceMode mode : kModes) {
        Particles particles = at(ball(Vec3f::Zero(), 9));
        for (size_t i = 0; i < particles.size(); ++i) particles.v[i] = Vec3f(5, 0, 0) + 0.1f * particles.P[i];
        SurfaceParams params;
        params.mode = mode, params.sdf = true;
        const Surface surface = make_surface(particles, 1, params);
        size_t band = 0;
        for (int t = 0; t < surface.topology->tile_count(); ++t)
            for (int i = 0; i < kTileCells; ++i) {
                if (std::abs(surface.phi.tile(t)[i]) >= surface.phi.background()) continue;
                ++band;
                const Vec3f x =
                    (surface.topology->first_cell(t) + cell_in_tile(i)).cast<float>() + Vec3f::Constant(0.5f);
                ASSERT_LT((surface.velocity.tile(t)[i] - Vec3f(5, 0, 0) - 0.1f * x).norm(),
                          0.7f); // of a particle within 7
            }
        EXPECT_GT(band, 4 * kPi * 81 * 5);
        // phi is a distance: it grows by one metre per metre.
        EXPECT_NEAR(surface.phi.at(Vec3i(11, 0, 0)) - surface.phi.at(Vec3i(10, 0, 0)), 1, 0.2f);
        EXPECT_EQ(surface.phi.at(Vec3i(0, 0, 0)), -surface.phi.background());
        EXPECT_EQ(make_surface(particles, 1, {}).velocity.bytes(), 0u);
    }
}

TEST(LevelSet, BitIdenticalForAnyNumberOfThreads)
{
    SurfaceParams params;
    params.sdf = true, params.adaptivity = 0.3f;
    params.filter = {.dilate = 0.7f, .smooth = 2, .max_curvature = 0.3f, .max_speed = 1.0f, .erode = 0.5f};
    Particles particles = at(ball(Vec3f::Zero(), 9));
    for (size_t i = 0; i < particles.size(); ++i) particles.v[i] = 0.2f * particles.P[i];
    const auto made_with = [&](int threads) {
        return with_threads(threads, [&] { return make_surface(particles, 1, params); });
    };
    const Surface one = made_with(1);
    for (const int threads : {2, 7}) {
        const Surface more = made_with(threads);
        EXPECT_EQ(one.mesh.positions, more.mesh.positions);
        EXPECT_EQ(one.mesh.triangles, more.mesh.triangles);
        EXPECT_TRUE(std::ranges::equal(one.phi.values(), more.phi.values()));
        EXPECT_TRUE(std::ranges::equal(one.velocity.values(), more.velocity.values()));
    }
}

TEST(LevelSet, AdaptiveMeshIsClosedAndKeepsItsTopology)
{
    // A pool in a container, a drop above it, and a ring.
    std::vector<Vec3f> points;
    Random random(5);
    for (int x = 0; x < 40; ++x)
        for (int y = 0; y < 30; ++y)
            for (int z = 0; z < 40; ++z) {
                const Vec3f p =
                    Vec3i(x, y, z).cast<float>() + Vec3f(random.uniform(), random.uniform(), random.uniform());
                const float ring = std::hypot(std::hypot(p.x() - 20, p.z() - 20) - 10, p.y() - 18);
                if (p.y() < 8 || ring < 3) points.push_back(p);
            }
    points.emplace_back(20.3f, 27.1f, 20.2f);
    const Box3f container{Vec3f::Zero(), Vec3f(40, 40, 40)};
    SurfaceParams params;
    const Mesh fine = make_surface(at(points), 1, params, container).mesh;
    for (const float adaptivity : {0.1f, 0.5f, 1.0f}) {
        params.adaptivity = adaptivity;
        const Mesh coarse = make_surface(at(points), 1, params, container).mesh;
        EXPECT_TRUE(is_closed(coarse));
        EXPECT_EQ(euler_characteristic(coarse), euler_characteristic(fine));
        EXPECT_NEAR(volume_of(coarse) / volume_of(fine), 1, 0.01);
        const double share = static_cast<double>(coarse.triangles.size()) / static_cast<double>(fine.triangles.size());
        EXPECT_LT(share, adaptivity < 0.2f ? 0.7 : 0.35);
        // Walls are unchanged.
        EXPECT_EQ(bounds_of(coarse).min, Vec3f(0, 0, 0));
        EXPECT_EQ(bounds_of(coarse).max.x(), 40);
    }
}
