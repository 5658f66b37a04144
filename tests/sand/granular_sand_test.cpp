#include "sand/sands.h"

#include "base/determinism.h"

#include <gtest/gtest.h>
#include <map>

using namespace spindrift;

namespace {

SandScene heap(float alpha)
{
    SandScene scene(alpha, Vec3f(-0.4f, 0, -0.4f), Vec3f(0.4f, 0.6f, 0.4f));
    scene.fill_box(Vec3f(-0.3f, 0, -0.3f), Vec3f(0.3f, 0.5f, 0.3f));
    return scene;
}

double angle_after(float alpha, double degrees, int frames)
{
    const auto sand = heap(alpha).start(cone(0.28f, degrees));
    for (int f = 0; f < frames; ++f) sand->advance();
    return RadialProfile(sand->particles(), 1600, 0.02f).angle();
}

bool all_finite(const Particles& particles)
{
    for (size_t i = 0; i < particles.size(); ++i)
        if (!particles.P[i].allFinite() || !particles.v[i].allFinite()) return false;
    return true;
}

} // namespace

TEST(GranularSand, PileBelowTheFrictionAngleStands)
{
    for (const float alpha : {0.3f, 0.5f}) {
        const double angle = 0.9 * angle_of_friction(static_cast<double>(alpha));
        EXPECT_NEAR(angle_after(alpha, angle, 48), angle, 0.1 * angle) << alpha;
    }
}

TEST(GranularSand, PileAboveTheFrictionAngleSlides)
{
    const double friction = angle_of_friction(0.3);
    EXPECT_LT(angle_after(0.3f, 1.6 * friction, 48), 1.35 * friction);
}

// Slabs that slide on a floor as rough as they are decelerate by Coulomb friction, however thin they are.
TEST(GranularSand, ThinLayersHaveTheFrictionOfThickOnes)
{
    constexpr float kVoxel = 0.015f;
    for (const float cells : {1.0f, 2.0f, 2.5f, 4.0f, 8.0f}) {
        SandScene scene(0.4f, Vec3f(-0.6f, 0, -0.3f), Vec3f(1.5f, 0.6f, 0.3f), kVoxel);
        scene.fill_box(Vec3f(-0.45f, 0, -0.3f), Vec3f(0.45f, cells * kVoxel, 0.3f), 0, Vec3f(1, 0, 0));
        const auto sand = scene.start();
        for (int f = 0; f < 2; ++f) sand->advance();
        double sum = 0, count = 0;
        for (size_t i = 0; i < sand->particles().size(); ++i)
            if (std::abs(sand->particles().P[i].z()) < 0.15f) // away from the side walls
                sum += static_cast<double>(sand->particles().v[i].x()), count += 1;
        const double friction = (1 - sum / count) / (2 / 24.0) / 9.81;
        EXPECT_GT(friction, 0.3) << cells; // the sine is 0.49
        EXPECT_LT(friction, 0.8) << cells;
    }
}

TEST(GranularSand, FrictionlessColumnKeepsMostOfItsEnergy)
{
    constexpr float kRadius = 0.12f;
    SandScene scene(0, Vec3f(-0.6f, 0, -0.6f), Vec3f(0.6f, 0.6f, 0.6f), 0.015f);
    scene.fill_box(Vec3f(-kRadius, 0, -kRadius), Vec3f(kRadius, kRadius, kRadius));
    const auto sand = scene.start([](const Vec3f& x) { return std::hypot(x.x(), x.z()) < kRadius; });
    const auto energy = [&] {
        const auto& mass = *sand->particles().find<float>(kMass);
        double sum = 0;
        for (size_t i = 0; i < mass.size(); ++i)
            sum += static_cast<double>(
                mass[i] * (0.5f * sand->particles().v[i].squaredNorm() + 9.81f * sand->particles().P[i].y()));
        return sum;
    };
    const double before = energy();
    for (int f = 0; f < 4; ++f) sand->advance();
    EXPECT_GT(energy(), 0.72 * before);
    EXPECT_LT(energy(), 1.01 * before);
}

TEST(GranularSand, IsotropicFrictionMakesAColumnSpreadMoreEvenly)
{
    // How much farther sand spreads along the grid than diagonally: the mean of cos 4 angle, weighted by squared
    // distance.
    const auto unevenness = [](bool isotropic) {
        SandScene scene(0.42f, Vec3f(-0.6f, 0, -0.6f), Vec3f(0.6f, 0.4f, 0.6f), 0.015f);
        scene.params.isotropic = isotropic;
        scene.fill_box(Vec3f(-0.1f, 0, -0.1f), Vec3f(0.1f, 0.2f, 0.1f));
        const auto sand = scene.start([](const Vec3f& x) { return std::hypot(x.x(), x.z()) < 0.1f; });
        for (int f = 0; f < 16; ++f) sand->advance();
        const auto& mass = *sand->particles().find<float>(kMass);
        double uneven = 0, all = 0;
        for (size_t i = 0; i < mass.size(); ++i) {
            const Vec3d x = sand->particles().P[i].cast<double>();
            const double weight = static_cast<double>(mass[i]) * (x.x() * x.x() + x.z() * x.z());
            uneven += weight * std::cos(4 * std::atan2(x.z(), x.x())), all += weight;
        }
        return uneven / all;
    };
    EXPECT_LT(unevenness(true), 0.85 * unevenness(false));
}

TEST(GranularSand, SlabSlidesAsFarDiagonallyAsAlongTheGrid)
{
    const auto way = [](const Vec3f& direction) {
        SandScene scene(0.3f, Vec3f(-0.6f, 0, -0.6f), Vec3f(0.6f, 0.4f, 0.6f));
        scene.fill_box(Vec3f(-0.2f, 0, -0.2f), Vec3f(0.2f, 0.06f, 0.2f), 0, 1.5f * direction);
        const auto sand = scene.start([](const Vec3f& x) { return std::hypot(x.x(), x.z()) < 0.2f; });
        for (int f = 0; f < 10; ++f) sand->advance();
        const auto& mass = *sand->particles().find<float>(kMass);
        double sum = 0;
        for (size_t i = 0; i < mass.size(); ++i)
            sum += static_cast<double>(mass[i]) * static_cast<double>(sand->particles().P[i].dot(direction));
        return sum / sand->mass();
    };
    const double along = way(Vec3f(1, 0, 0)), across = way(Vec3f(1, 0, 1).normalized());
    EXPECT_GT(along, 0.05);
    EXPECT_NEAR(across / along, 1, 0.1); // 0.81 if each shear had a separate bound
    std::printf("slid by %.3f m along the grid, %.3f m across it\n", along, across);
}

TEST(GranularSand, PressureOnTheFloorEqualsTheWeightAbove)
{
    // Without friction: otherwise the sides carry part of the weight, and vertical stress exceeds the mean.
    SandScene scene(0, Vec3f(-0.16f, 0, -0.16f), Vec3f(0.16f, 0.5f, 0.16f));
    scene.fill_box(Vec3f(-0.16f, 0, -0.16f), Vec3f(0.16f, 0.3f, 0.16f));
    const auto sand = scene.start();
    const Stress& stress = sand->stress();
    double sum = 0, count = 0;
    for (int f = 0; f < 48; ++f) {
        sand->advance();
        if (f < 24) continue; // waves decay only slowly: average over them
        for (int x = -6; x < 6; ++x)
            for (int z = -6; z < 6; ++z)
                sum += static_cast<double>(stress.q().at({x, 0, z}) / stress.step()), count += 1;
    }
    // q = p dt / (density h); the cell's centre lies half a cell above the floor.
    const double depth = sum / count * 0.02 / 9.81;
    EXPECT_NEAR(depth, 0.29, 0.02); // within the weight of one cell
}

TEST(GranularSand, ParticlesInFlightFollowTheirParabolas)
{
    const Vec3f throw_up(0.5f, 3, -0.2f), gravity(0, -9.81f, 0);
    for (const bool shapes : {false, true}) {
        SandScene scene(0.5f, Vec3f(-1, -5, -1), Vec3f(1, 5, 1));
        scene.fill_box(Vec3f(-0.5f, 0, -0.5f), Vec3f(0.5f, 0.02f, 0.5f), 0, throw_up);
        scene.params.shapes = shapes;
        // Every tenth cell: isolated clumps.
        const auto sand = scene.start([](const Vec3f& x) {
            const Vec3i c = cell_of(x, 1 / 0.02f);
            return (c.x() + 100) % 10 == 0 && (c.z() + 100) % 10 == 0;
        });
        std::map<int32_t, Vec3f> from;
        for (size_t i = 0; i < sand->particles().size(); ++i) from[sand->particles().id[i]] = sand->particles().P[i];
        for (int f = 0; f < 12; ++f) sand->advance();
        const float t = 12 / kFps;
        ASSERT_FALSE(from.empty());
        ASSERT_EQ(sand->particles().size(), from.size());
        for (size_t i = 0; i < sand->particles().size(); ++i) {
            const Vec3f exact = from[sand->particles().id[i]] + t * throw_up + 0.5f * t * t * gravity;
            EXPECT_LT((sand->particles().P[i] - exact).norm(), 5e-4f); // a fortieth of a cell
        }
    }
}

TEST(GranularSand, LooseBallOfSandFollowsItsParabola)
{
    // Half as dense as sand at rest: it moves with the grid, without pressure.
    const Vec3f throw_up(0.5f, 2, -0.2f), gravity(0, -9.81f, 0);
    SandScene scene(0.5f, Vec3f(-1, -5, -1), Vec3f(1, 5, 1));
    scene.fill_box(Vec3f::Constant(-0.1f), Vec3f::Constant(0.1f), 0, throw_up);
    const auto sand = scene.start([](const Vec3f& x) {
        const Vec3i place = cell_of(x, 2 / 0.02f);
        return x.norm() < 0.1f && (place.sum() & 1);
    });
    std::map<int32_t, Vec3f> from;
    for (size_t i = 0; i < sand->particles().size(); ++i) from[sand->particles().id[i]] = sand->particles().P[i];
    ASSERT_GT(from.size(), 1000u);
    for (int f = 0; f < 12; ++f) sand->advance();
    const float t = 12 / kFps;
    for (size_t i = 0; i < sand->particles().size(); ++i) {
        const Vec3f exact = from[sand->particles().id[i]] + t * throw_up + 0.5f * t * t * gravity;
        EXPECT_LT((sand->particles().P[i] - exact).norm(), 1e-3f); // a twentieth of a cell
        EXPECT_LT((sand->particles().v[i] - throw_up - t * gravity).norm(), 0.01f);
    }
}

TEST(GranularSand, DenseBallOfSandFallsFreely)
{
    SandScene scene(0.5f, Vec3f(-1, -5, -1), Vec3f(1, 5, 1));
    scene.fill_box(Vec3f::Constant(-0.1f), Vec3f::Constant(0.1f));
    const auto sand = scene.start([](const Vec3f& x) { return x.norm() < 0.1f; });
    const auto height = [&] {
        const auto& mass = *sand->particles().find<float>(kMass);
        double sum = 0;
        for (size_t i = 0; i < mass.size(); ++i)
            sum += static_cast<double>(mass[i]) * static_cast<double>(sand->particles().P[i].y());
        return sum / sand->mass();
    };
    const double start = height();
    for (int f = 0; f < 6; ++f) sand->advance();
    const double t = 6.0 / static_cast<double>(kFps);
    EXPECT_NEAR(height() - start, -0.5 * 9.81 * t * t, 0.003); // after falling 0.31 m
}

TEST(GranularSand, ThrownDenseBallKeepsItsVelocity)
{
    for (const Vec3f& gravity : {Vec3f(0, 0, 0), Vec3f(0, -9.81f, 0)})
        for (const Vec3f& thrown : {Vec3f(2, 0, 0), Vec3f(0, 2, 0), Vec3f(0, -2, 0), Vec3f(0, 0, -2)}) {
            SandScene scene(0.5f, Vec3f::Constant(-1), Vec3f::Constant(1));
            scene.params.gravity = gravity;
            scene.fill_box(Vec3f::Constant(-0.1f), Vec3f::Constant(0.1f), 0, thrown);
            const auto sand = scene.start([](const Vec3f& x) { return x.norm() < 0.1f; });
            sand->advance();
            const auto& mass = *sand->particles().find<float>(kMass);
            Vec3d momentum = Vec3d::Zero();
            for (size_t i = 0; i < mass.size(); ++i)
                momentum += static_cast<double>(mass[i]) * sand->particles().v[i].cast<double>();
            const Vec3d exact = (thrown + gravity / kFps).cast<double>();
            // Thrown sideways and falling, its front counts as a heap for a while.
            const double lost = gravity.isZero() || thrown.x() + thrown.z() == 0 ? 0.01 : 0.05;
            EXPECT_LT((momentum / sand->mass() - exact).norm(), lost)
                << "thrown along " << thrown.transpose() << ", gravity " << gravity.y();
        }
}

TEST(GranularSand, WithoutGravitySandStaysAtRest)
{
    SandScene scene(0.5f, Vec3f(-0.4f, 0, -0.4f), Vec3f(0.4f, 0.6f, 0.4f));
    scene.params.gravity = Vec3f::Zero();
    scene.fill_box(Vec3f(-0.1f, 0.2f, -0.1f), Vec3f(0.1f, 0.4f, 0.1f));
    const auto sand = scene.start();
    std::map<int32_t, Vec3f> from;
    for (size_t i = 0; i < sand->particles().size(); ++i) from[sand->particles().id[i]] = sand->particles().P[i];
    for (int f = 0; f < 6; ++f) sand->advance();
    ASSERT_EQ(sand->particles().size(), from.size());
    for (size_t i = 0; i < sand->particles().size(); ++i)
        EXPECT_LT((sand->particles().P[i] - from[sand->particles().id[i]]).norm(), 5e-3f); // a quarter of a cell
}

TEST(GranularSand, SourcesFillOnlyTheDomain)
{
    SandScene scene(0.5f, Vec3f(-0.2f, 0, -0.2f), Vec3f(0.2f, 0.4f, 0.2f));
    scene.fill_box(Vec3f(1, 1, 1), Vec3f(1.2f, 1.2f, 1.2f));
    scene.fill_box(Vec3f(1, 1, 1), Vec3f(1.2f, 1.2f, 1.2f));
    scene.params.sources[1].mode = SandSourceParams::Mode::flow;
    {
        const auto none = scene.start();
        for (int f = 0; f < 3; ++f) {
            const SandReport report = none->advance();
            EXPECT_EQ(report.particles, 0u);
            EXPECT_EQ(report.mass, 0);
        }
    }
    scene.fill_box(Vec3f(0.1f, 0, -0.1f), Vec3f(0.5f, 0.1f, 0.1f));
    const auto half = scene.start();
    EXPECT_EQ(half->particles().size(), 8u * 5 * 5 * 10);
    for (const Vec3f& x : half->particles().P) EXPECT_LT(x.x(), 0.2f);
    half->advance();
    EXPECT_TRUE(all_finite(half->particles()));
}

TEST(GranularSand, AFlowDeliversTheVolumeOfItsVelocity)
{
    SandScene scene(0.5f, Vec3f(-0.3f, -3, -0.3f), Vec3f(0.3f, 0.3f, 0.3f));
    const Vec3f size(0.08f, 0.1f, 0.2f);
    scene.fill_box(-0.5f * size, 0.5f * size, 0, Vec3f(0, -2, 0));
    scene.params.sources[0].mode = SandSourceParams::Mode::flow;
    const auto sand = scene.start();
    constexpr int kFrames = 12;
    for (int f = 0; f < kFrames; ++f) sand->advance();
    const double way = 2 * kFrames / static_cast<double>(kFps) + static_cast<double>(size.y());
    const double volume = static_cast<double>(size.x() * size.z()) * way;
    EXPECT_NEAR(sand->mass() / static_cast<double>(scene.params.materials[0].density) / volume, 1, 0.02);
}

TEST(GranularSand, MassIsConservedThroughSplitsAndMergesOfAnExplosion)
{
    SandScene scene(0.5f, Vec3f(-0.6f, 0, -0.6f), Vec3f(0.6f, 2, 0.6f));
    scene.fill_box(Vec3f(-0.2f, 0, -0.2f), Vec3f(0.2f, 0.1f, 0.2f));
    scene.params.impulses.resize(1);
    scene.params.impulses[0] = {Vec3f(0, 0.02f, 0), 0.15f, 4, 2};
    const auto sand = scene.start();
    const double mass = sand->mass();
    size_t splits = 0, merges = 0;
    for (int f = 0; f < 36; ++f) {
        const SandReport report = sand->advance();
        splits += report.splits, merges += report.merges;
    }
    EXPECT_GT(splits, 100u);
    EXPECT_GT(merges, 100u);
    EXPECT_NEAR(sand->mass(), mass, 1e-6 * mass);
    EXPECT_TRUE(all_finite(sand->particles()));
    for (const Vec3f& x : sand->particles().P) EXPECT_GT(x.y(), -1e-4f);
}

TEST(GranularSand, ExtremeParametersStayFinite)
{
    for (const float alpha : {0.0f, 100.0f}) {
        const auto sand = heap(alpha).start(cone(0.2f, 40));
        for (int f = 0; f < 8; ++f) sand->advance();
        EXPECT_TRUE(all_finite(sand->particles()));
        for (const Vec3f& v : sand->particles().v) EXPECT_LT(v.norm(), 3.5f);
    }
    { // one particle
        SandScene scene(0.5f, Vec3f(-0.1f, 0, -0.1f), Vec3f(0.1f, 0.2f, 0.1f));
        scene.fill_box(Vec3f(0, 0.1f, 0), Vec3f(0.01f, 0.11f, 0.01f));
        const auto sand = scene.start();
        ASSERT_EQ(sand->particles().size(), 1u);
        for (int f = 0; f < 24; ++f) sand->advance();
        EXPECT_LT(sand->particles().P[0].y(), 0.01f);
        EXPECT_LT(sand->particles().v[0].norm(), 0.5f);
    }
    { // a thousand times denser
        SandScene scene(0.4f, Vec3f(-0.12f, 0, -0.12f), Vec3f(0.12f, 0.5f, 0.12f));
        scene.params.materials.resize(2);
        scene.params.materials[1].density = 1.6f;
        scene.fill_box(Vec3f(-0.12f, 0.1f, -0.12f), Vec3f(0.12f, 0.2f, 0.12f), 0);
        scene.fill_box(Vec3f(-0.12f, 0, -0.12f), Vec3f(0.12f, 0.1f, 0.12f), 1);
        const auto sand = scene.start();
        const double mass = sand->mass();
        for (int f = 0; f < 12; ++f) sand->advance();
        EXPECT_TRUE(all_finite(sand->particles()));
        EXPECT_NEAR(sand->mass(), mass, 1e-6 * mass);
    }
}

// Volume fractions of cells, computed particle by particle.
std::map<std::array<int, 3>, double> volume_fractions(const Particles& sand, float voxel, float density)
{
    std::map<std::array<int, 3>, double> filled;
    const auto& mass = *sand.find<float>(kMass);
    for (size_t i = 0; i < sand.size(); ++i) {
        const Vec3d x = sand.P[i].cast<double>() / static_cast<double>(voxel) - Vec3d::Constant(0.5);
        const Vec3d below = x.array().floor(), f = x - below;
        const double volume = static_cast<double>(mass[i] / (density * voxel * voxel * voxel));
        for (int corner = 0; corner < 8; ++corner) {
            std::array<int, 3> cell{};
            double share = volume;
            for (int a = 0; a < 3; ++a) {
                const int up = corner >> a & 1;
                cell[a] = static_cast<int>(below[a]) + up;
                share *= up == 1 ? f[a] : 1 - f[a];
            }
            filled[cell] += share;
        }
    }
    return filled;
}

double greatest(const std::map<std::array<int, 3>, double>& filled)
{
    double most = 0;
    for (const auto& [cell, f] : filled) most = std::max(most, f);
    return most;
}

TEST(GranularSand, VolumeFractionNeverExceedsItsLimit)
{
    SandScene scene(0.5f, Vec3f(-0.2f, 0, -0.2f), Vec3f(0.2f, 0.6f, 0.2f));
    scene.fill_box(Vec3f(-0.14f, 0, -0.14f), Vec3f(0.14f, 0.08f, 0.14f));
    scene.fill_box(Vec3f(-0.1f, 0.2f, -0.1f), Vec3f(0.1f, 0.36f, 0.1f), 0, Vec3f(0.5f, -2, 0));
    scene.add_ball(Vec3f(0, 0.45f, 0), 0.05f, 4000);
    const auto sand = scene.start();
    int corrections = 0;
    for (int f = 0; f < 16; ++f) {
        const SandReport report = sand->advance();
        EXPECT_LE(report.fullest, 1.02f) << "in frame " << f; // in any step
        corrections += report.stress.spread_iterations;
        EXPECT_LE(greatest(volume_fractions(sand->particles(), scene.params.voxel, scene.params.materials[0].density)),
                  1.0201)
            << "as frame " << f << " ends";
    }
    EXPECT_GT(corrections, 100); // so there was something to correct
}

TEST(GranularSand, AFlowStopsWhenTheBoxIsFull)
{
    SandScene scene(0.4f, Vec3f(-0.1f, 0, -0.1f), Vec3f(0.1f, 0.2f, 0.1f));
    scene.fill_box(Vec3f(-0.06f, 0.12f, -0.06f), Vec3f(0.06f, 0.18f, 0.06f), 0, Vec3f(0, -1, 0));
    scene.params.sources[0].mode = SandSourceParams::Mode::flow;
    const auto sand = scene.start();
    const double full = 0.2 * 0.2 * 0.2 * static_cast<double>(scene.params.materials[0].density);
    double before = 0;
    for (int f = 0; f < 30; ++f) {
        EXPECT_LE(sand->advance().fullest, 1.02f);
        if (f == 20) before = sand->mass();
    }
    EXPECT_GT(sand->mass(), 0.7 * full); // it has reached the source
    EXPECT_LT(sand->mass(), 0.85 * full);
    EXPECT_LT(sand->mass(), 1.01 * before);
    EXPECT_TRUE(all_finite(sand->particles()));
}

TEST(GranularSand, AFlowIsFullButNotOverfull)
{
    for (const Vec3f& velocity : {Vec3f(0, -2, 0), Vec3f(1.5f, -1, 0.3f)}) {
        SandScene scene(0.5f, Vec3f(-0.6f, -0.6f, -0.3f), Vec3f(0.6f, 0.3f, 0.3f));
        scene.fill_box(Vec3f(-0.06f, -0.06f, -0.1f), Vec3f(0.06f, 0.06f, 0.1f), 0, velocity);
        scene.params.sources[0].mode = SandSourceParams::Mode::flow;
        const auto sand = scene.start();
        for (int f = 0; f < 5; ++f) {
            EXPECT_LE(sand->advance().fullest, 1.02f);
            const auto filled =
                volume_fractions(sand->particles(), scene.params.voxel, scene.params.materials[0].density);
            double least = 1;
            for (int x = -1; x < 1; ++x)
                for (int y = -1; y < 1; ++y)
                    for (int z = -3; z < 3; ++z) {
                        const auto found = filled.find({x, y, z});
                        least = std::min(least, found == filled.end() ? 0 : found->second);
                    }
            EXPECT_GT(least, 0.93) << velocity.transpose();
        }
    }
}

TEST(GranularSand, BitIdenticalForAnyNumberOfThreads)
{
    const auto run = [](int threads) {
        return with_threads(threads, [] {
            SandScene scene = heap(0.4f);
            scene.params.materials.resize(2);
            scene.params.materials[1].density = 800;
            scene.fill_box(Vec3f(-0.1f, 0.5f, -0.1f), Vec3f(0.1f, 0.56f, 0.1f), 1, Vec3f(0, -2, 0));
            scene.fill_box(Vec3f(-0.2f, 0.4f, -0.05f), Vec3f(-0.1f, 0.46f, 0.05f), 0, Vec3f(1.5f, -1, 0.3f));
            scene.params.sources.back().mode = SandSourceParams::Mode::flow;
            const auto sand = scene.start(cone(0.3f, 60));
            for (int f = 0; f < 4; ++f) sand->advance();
            return sand->particles();
        });
    };
    const Particles one = run(1), three = run(3);
    EXPECT_EQ(one.P, three.P);
    EXPECT_EQ(one.v, three.v);
    EXPECT_EQ(one.id, three.id);
}
