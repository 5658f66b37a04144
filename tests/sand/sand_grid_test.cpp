#include "sand/sands.h"

#include "spindrift/base/random.h"

#include <gtest/gtest.h>

namespace spindrift {
namespace {

TEST(SandGrid, VelocitiesAreMeansOfParticleVelocities)
{
    constexpr float kVoxel = 0.02f;
    SandScene scene(0.5f, Vec3f::Constant(-2), Vec3f::Constant(2), kVoxel);
    scene.fill_box(Vec3f::Constant(-10 * kVoxel), Vec3f::Constant(10 * kVoxel));
    Random random(3, 1);
    Particles particles = scene.start([&](const Vec3f&) { return random.uniform() < 0.05f; })->state().particles;
    for (Vec3f& v : particles.v) v = Vec3f::Constant(random.uniform() - 6);
    SandGrid grid;
    grid.sort(particles, kVoxel, scene.params.gravity);
    grid.splat(particles, scene.params.materials);
    size_t found = 0;
    for (int a = 0; a < 3; ++a)
        for (const float u : grid.velocity.u[a].values())
            if (u != 0) {
                EXPECT_GT(u, -6.001f);
                EXPECT_LT(u, -4.999f);
                ++found;
            }
    EXPECT_GT(found, 1000u);
}

// Refilling without sorting equals splatting after sorting, including added particles.
TEST(SandGrid, RefillEqualsSplattingAfterSorting)
{
    constexpr float kVoxel = 0.02f;
    SandScene scene(0.5f, Vec3f::Constant(-2), Vec3f::Constant(2), kVoxel);
    scene.fill_box(Vec3f::Constant(-10 * kVoxel), Vec3f::Constant(10 * kVoxel));
    Random random(3, 1);
    Particles particles = scene.start([&](const Vec3f&) { return random.uniform() < 0.4f; })->state().particles;
    SandGrid grid;
    grid.sort(particles, kVoxel, scene.params.gravity);
    const size_t sorted = particles.size();
    std::vector<size_t> parents;
    for (size_t i = 0; i < sorted; ++i)
        if (random.uniform() < 0.1f) parents.push_back(i);
    particles.resize(sorted + parents.size());
    for (size_t k = 0; k < parents.size(); ++k)
        particles.for_each_array([&](const std::string&, auto& array) { array[sorted + k] = array[parents[k]]; });
    grid.add(parents, sorted);
    for (Vec3f& x : particles.P)
        for (int a = 0; a < 3; ++a) x[a] += 0.98f * kVoxel * (random.uniform() - 0.5f);
    grid.refill(particles, scene.params.materials);

    SandGrid again;
    again.sort(particles, kVoxel, scene.params.gravity);
    again.splat(particles, scene.params.materials, SandGrid::Splat::volumes);
    const Topology& topology = again.topology;
    float most = 0;
    for (int t = 0; t < topology.tile_count(); ++t) {
        const int before = grid.topology.find(topology.tile(t));
        for (int c = 0; c < kTileCells; ++c) {
            const float f = again.filled.tile(t)[c];
            most = std::max(most, f);
            EXPECT_NEAR(grid.filled.tile(before)[c], f, 2e-5f); // nothing in a missing tile
        }
    }
    EXPECT_GT(most, 0.5f);
}

} // namespace
} // namespace spindrift
