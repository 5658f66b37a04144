#include "spindrift/surface/surface.h"
#include "surface/jittered.h"

#include "spindrift/base/error.h"
#include "spindrift/base/random.h"

#include <gtest/gtest.h>

using namespace spindrift;

namespace {

// One jittered particle in every unit cube of the box, where `inside` holds: spacing 1.
template <class Inside> Particles filled(const Vec3i& low, const Vec3i& high, const Inside& inside)
{
    const std::vector<Vec3f> positions = jittered(low, high, 7, inside);
    Particles particles;
    particles.resize(positions.size());
    particles.P = positions;
    return particles;
}

Particles ball(const Vec3f& center, float radius)
{
    const Vec3i reach = Vec3i::Constant(static_cast<int>(radius) + 2);
    return filled(-reach, reach, [&](const Vec3f& p) { return (p - center).norm() < radius; });
}

Particles block(const Vec3i& size)
{
    return filled(Vec3i::Zero(), size, [](const Vec3f&) { return true; });
}

bool near_a_wall(const Vec3f& x, const Box3f& tank) { return !tank.grown(-1).contains(x); }

double ball_volume(double radius) { return 4 * kPi / 3 * radius * radius * radius; }

// The number of connected parts of a mesh.
size_t part_count(const Mesh& mesh)
{
    std::vector<int> parent(mesh.positions.size());
    for (size_t i = 0; i < parent.size(); ++i) parent[i] = static_cast<int>(i);
    const auto root = [&](int i) {
        while (parent[i] != i) i = parent[i];
        return i;
    };
    for (const Vec3i& t : mesh.triangles)
        for (int k = 1; k < 3; ++k) parent[root(t[k])] = root(t[0]);
    size_t count = 0;
    for (size_t i = 0; i < parent.size(); ++i) count += parent[i] == static_cast<int>(i);
    return count;
}

void expect_sound(const Surface& surface)
{
    const Mesh& mesh = surface.mesh;
    EXPECT_TRUE(is_closed(mesh));
    ASSERT_EQ(mesh.normals.size(), mesh.positions.size());
    ASSERT_EQ(mesh.velocities.size(), mesh.positions.size());
    for (size_t i = 0; i < mesh.positions.size(); ++i) {
        ASSERT_TRUE(mesh.positions[i].allFinite() && mesh.velocities[i].allFinite());
        ASSERT_NEAR(mesh.normals[i].norm(), 1, 1e-4);
    }
}

} // namespace

TEST(Surface, BallOfJitteredParticlesKeepsItsVolume)
{
    for (const float voxel : {0.5f, 1.0f})
        for (const float radius : {8.0f, 14.0f, 25.0f}) {
            SurfaceParams params;
            params.voxel = voxel;
            const Surface surface = make_surface(ball(Vec3f(0.3f, 0.2f, 0.1f), radius), 1, params);
            expect_sound(surface);
            EXPECT_NEAR(volume_of(surface.mesh) / ball_volume(radius), 1, 0.02) << radius << " at " << voxel;
        }
}

TEST(Surface, BallIsRoundWithOutwardNormals)
{
    const Vec3f center(0.3f, 0.2f, 0.1f);
    const Mesh mesh = make_surface(ball(center, 20), 1, {}).mesh;
    double error2 = 0, angle2 = 0;
    for (size_t i = 0; i < mesh.positions.size(); ++i) {
        const Vec3f out = mesh.positions[i] - center;
        error2 += std::pow(out.norm() - 20, 2);
        angle2 += 2 * (1 - mesh.normals[i].dot(out.normalized()));
    }
    const auto count = static_cast<double>(mesh.positions.size());
    EXPECT_LT(std::sqrt(error2 / count), 0.12); // [spacings]
    EXPECT_LT(std::sqrt(angle2 / count) * 180 / kPi, 4);
}

TEST(Surface, BlockKeepsItsVolumeWithoutWalls)
{
    const Surface surface = make_surface(block({30, 20, 30}), 1, {});
    expect_sound(surface);
    EXPECT_NEAR(volume_of(surface.mesh) / (30 * 20 * 30), 1, 0.02);
}

TEST(Surface, PoolIsFlatAtItsTrueHeight)
{
    const Box3f tank{Vec3f(0, 0, 0), Vec3f(40, 40, 40)};
    const Surface surface = make_surface(block({40, 20, 40}), 1, {}, tank);
    expect_sound(surface);
    double sum = 0, sum2 = 0, tilt2 = 0;
    int count = 0;
    for (size_t i = 0; i < surface.mesh.positions.size(); ++i) {
        const Vec3f& x = surface.mesh.positions[i];
        if (x.y() < 15 || near_a_wall(x, tank)) continue;
        sum += x.y(), sum2 += x.y() * x.y(), tilt2 += 2 * (1 - surface.mesh.normals[i].y()), ++count;
    }
    ASSERT_GT(count, 1000);
    const double mean = sum / count;
    EXPECT_NEAR(mean, 20, 0.1); // [spacings]
    EXPECT_LT(std::sqrt(sum2 / count - mean * mean), 0.12);
    EXPECT_LT(std::sqrt(tilt2 / count) * 180 / kPi, 3);
    EXPECT_NEAR(volume_of(surface.mesh) / (40 * 20 * 40), 1, 0.005);
}

TEST(Surface, WaterInATankReachesTheWallsAndIsFlatThere)
{
    // Walls that are not aligned with the grid.
    const Box3f tank{Vec3f(-0.37f, 0.21f, 0.13f), Vec3f(30.41f, 40, 25.77f)};
    const auto water = filled({-1, 0, 0}, {31, 15, 26}, [&](const Vec3f& p) { return tank.contains(p); });
    const Surface surface = make_surface(water, 1, {}, tank);
    expect_sound(surface);
    const Box3f bounds = bounds_of(surface.mesh);
    EXPECT_EQ(bounds.min, tank.min);
    EXPECT_EQ(bounds.max.x(), tank.max.x());
    EXPECT_EQ(bounds.max.z(), tank.max.z());
    for (const Vec3f& x : surface.mesh.positions) {
        if (x.y() > 13) continue;
        const Vec3f low = x - tank.min, high = tank.max - x;
        EXPECT_EQ(std::min({low.x(), low.y(), low.z(), high.x(), high.z()}), 0.0f) << x.transpose();
    }
    const Vec3f size = tank.size();
    EXPECT_NEAR(volume_of(surface.mesh) / (size.x() * (15 - tank.min.y()) * size.z()), 1, 0.01);
}

TEST(Surface, OpenSideOfATankHasNoWall)
{
    Box3f tank{Vec3f(0, 0, 0), Vec3f(20, 20, 20)};
    tank.max.x() = kInfinity;
    const Surface surface = make_surface(block({20, 10, 20}), 1, {}, tank);
    expect_sound(surface);
    const Box3f bounds = bounds_of(surface.mesh);
    EXPECT_EQ(bounds.min, tank.min);
    EXPECT_NEAR(bounds.max.x(), 20, 0.6);
    EXPECT_NE(bounds.max.x(), 20);
}

TEST(Surface, LoneParticleBecomesOneSmallDrop)
{
    Random random(3);
    double mean = 0;
    constexpr int kDrops = 60;
    for (int k = 0; k < kDrops; ++k) {
        Particles particles;
        particles.resize(1);
        particles.P[0] = Vec3f(random.uniform(-9, 9), random.uniform(-9, 9), random.uniform(-9, 9));
        particles.v[0] = Vec3f(1, 2, 3);
        const Surface surface = make_surface(particles, 1, {});
        expect_sound(surface);
        EXPECT_EQ(part_count(surface.mesh), 1u);
        EXPECT_LT((bounds_of(surface.mesh).center() - particles.P[0]).norm(), 0.35f);
        for (const Vec3f& v : surface.mesh.velocities) EXPECT_LT((v - Vec3f(1, 2, 3)).norm(), 1e-5f);
        mean += volume_of(surface.mesh) / kDrops;
    }
    EXPECT_NEAR(mean, 1, 0.2); // its share of the volume
}

TEST(Surface, NoParticlesGiveAnEmptyMesh)
{
    const Surface surface = make_surface({}, 0.01f, {}, Box3f{Vec3f::Zero(), Vec3f::Ones()});
    EXPECT_TRUE(surface.mesh.positions.empty() && surface.mesh.triangles.empty());
    EXPECT_EQ(surface.topology->tile_count(), 0);
}

TEST(Surface, ScatteredClumpedAndRepeatedParticlesGiveClosedMeshes)
{
    for (int k = 0; k < 6; ++k) {
        Random random(static_cast<uint64_t>(k));
        Particles particles;
        particles.resize(6000);
        for (size_t i = 0; i < particles.size(); ++i) {
            const float spread = i % 3 == 0 ? 1.0f : 12.0f + 3.0f * static_cast<float>(k);
            particles.P[i] = spread * Vec3f(random.uniform(), random.uniform(), random.uniform());
            if (i % 5 == 4) particles.P[i] = particles.P[i - 1];
        }
        expect_sound(make_surface(particles, 1, {}));
        expect_sound(make_surface(particles, 1, {}, Box3f{Vec3f::Zero(), Vec3f::Constant(30)}));
        SurfaceParams coarse;
        coarse.voxel = 2.7f;
        expect_sound(make_surface(particles, 1, coarse));
    }
}

TEST(Surface, BitIdenticalForAnyNumberOfThreads)
{
    const Particles particles = filled({0, 0, 0}, {30, 30, 30}, [](const Vec3f& p) {
        return p.y() < 10 + 4 * std::sin(0.4f * p.x()) || (p - Vec3f(15, 22, 15)).norm() < 4;
    });
    const Box3f tank{Vec3f(0, 0, 0), Vec3f(30, 40, 30)};
    set_thread_count(1);
    const Surface one = make_surface(particles, 1, {}, tank);
    set_thread_count(2);
    const Surface two = make_surface(particles, 1, {}, tank);
    set_thread_count(0);
    EXPECT_EQ(one.mesh.positions, two.mesh.positions);
    EXPECT_EQ(one.mesh.normals, two.mesh.normals);
    EXPECT_EQ(one.mesh.velocities, two.mesh.velocities);
    EXPECT_EQ(one.mesh.triangles, two.mesh.triangles);
    EXPECT_TRUE(std::ranges::equal(one.phi.values(), two.phi.values()));
}

TEST(Surface, SmallVoidsAreClosedAndLargeOnesKept)
{
    const auto with_void = [](float radius) {
        const auto solid = [radius](const Vec3f& p) { return (p - Vec3f(13, 12, 11)).norm() > radius; };
        return make_surface(filled({0, 0, 0}, {25, 25, 25}, solid), 1, {}).mesh;
    };
    EXPECT_EQ(part_count(with_void(1.1f)), 1u);
    const Mesh hollow = with_void(5);
    EXPECT_EQ(part_count(hollow), 2u);
    EXPECT_NEAR(volume_of(hollow) / (25 * 25 * 25 - ball_volume(5)), 1, 0.02);
}

TEST(Surface, TwoSlabsWithAGapStaySeparate)
{
    const auto slabs = [](const Vec3f& p) { return p.y() < 10 || p.y() > 14; };
    const Mesh mesh = make_surface(filled({0, 0, 0}, {24, 24, 24}, slabs), 1, {}).mesh;
    EXPECT_TRUE(is_closed(mesh));
    EXPECT_EQ(part_count(mesh), 2u);
    EXPECT_NEAR(volume_of(mesh) / (24 * 20 * 24), 1, 0.03);
}

TEST(Surface, ThinSheetSurvivesSmoothing)
{
    const auto sheet = [](const Vec3f& p) { return p.y() > 8 && p.y() < 9; };
    SurfaceParams params;
    params.smoothing = 8;
    const Mesh mesh = make_surface(filled({0, 0, 0}, {40, 20, 40}, sheet), 1, params).mesh;
    EXPECT_TRUE(is_closed(mesh));
    EXPECT_EQ(part_count(mesh), 1u);
    EXPECT_GT(volume_of(mesh), 0.7 * 40 * 40);
}

TEST(Surface, DistanceIsNegativeInsideAndAgreesWithTheMesh)
{
    const Vec3f center(0.3f, 0.2f, 0.1f);
    const Surface surface = make_surface(ball(center, 12), 1, {});
    EXPECT_EQ(surface.voxel, 1);
    EXPECT_GT(surface.phi.background(), 1);
    double error2 = 0, count = 0;
    for (int t = 0; t < surface.topology->tile_count(); ++t)
        for (int c = 0; c < kTileCells; ++c) {
            const Vec3f x = (surface.topology->first_cell(t) + cell_in_tile(c)).cast<float>().array() + 0.5f;
            const float exact = (x - center).norm() - 12, phi = surface.phi.tile(t)[c];
            if (std::abs(exact) > 0.6f) {
                ASSERT_EQ(phi < 0, exact < 0) << x.transpose();
                continue;
            }
            error2 += (phi - exact) * (phi - exact), ++count;
        }
    EXPECT_LT(std::sqrt(error2 / count), 0.3);
}

TEST(Surface, VoxelTooFineForTheParticlesIsAnError)
{
    SurfaceParams params;
    params.mode = SurfaceMode::averaged;
    params.voxel = 0.1f;
    EXPECT_THROW(make_surface(block({2, 2, 2}), 1, params), Error);
    EXPECT_THROW(make_surface(block({2, 2, 2}), 0, {}), Error);
}
