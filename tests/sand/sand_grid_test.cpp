#include "sand/sands.h"

#include "base/random.h"

#include <gtest/gtest.h>

namespace spindrift {
namespace {

// Also where particles that became one do not lie in the cell any more that they were sorted into.
TEST(SandGrid, VelocitiesAreMeansOfThoseOfParticles)
{
    constexpr float kVoxel = 0.02f;
    SandScene scene(0.5f, Vec3f::Constant(-2), Vec3f::Constant(2), kVoxel);
    scene.fill_box(Vec3f::Constant(-10 * kVoxel), Vec3f::Constant(10 * kVoxel));
    Random random(3, 1);
    Particles particles = scene.start([&](const Vec3f&) { return random.uniform() < 0.05f; })->state().particles;
    for (Vec3f& v : particles.v) v = Vec3f::Constant(random.uniform() - 6);
    SandGrid grid;
    grid.sort(particles, kVoxel, scene.params.gravity);
    for (Vec3f& x : particles.P)
        for (int a = 0; a < 3; ++a) x[a] += 0.4f * kVoxel * (random.uniform() - 0.5f);
    grid.splat(particles, scene.params.materials);
    for (int a = 0; a < 3; ++a)
        for (const float u : grid.velocity.u[a].values())
            if (u != 0) {
                EXPECT_GT(u, -6.001f);
                EXPECT_LT(u, -4.999f);
            }
}

} // namespace
} // namespace spindrift
