#include "spindrift/shaped_smoke/control_field.h"
#include "spindrift/shaped_smoke/control_projection.h"
#include "spindrift/shaped_smoke/density.h"

#include "spindrift/base/random.h"

#include <gtest/gtest.h>

namespace spindrift {

namespace {

Particles random_controls(size_t count)
{
    Particles controls;
    controls.resize(count);
    Random random(3);
    for (size_t i = 0; i < count; ++i)
        for (int a = 0; a < 3; ++a) controls.P[i][a] = random.uniform(), controls.v[i][a] = random.uniform(-1, 1);
    return controls;
}

// (1), (2) summed directly.
Vec3f shepard(const Particles& controls, const Vec3f& x, float radius)
{
    Vec3d sum = Vec3d::Zero();
    double weights = 0;
    for (size_t i = 0; i < controls.size(); ++i) {
        const double left = static_cast<double>(radius * radius - (x - controls.P[i]).squaredNorm());
        if (left <= 0) continue;
        sum += left * left * left * controls.v[i].cast<double>(), weights += left * left * left;
    }
    return weights > 0 ? Vec3f((sum / weights).cast<float>()) : Vec3f(Vec3f::Zero());
}

TEST(ControlField, IsShepardsInterpolation)
{
    const Particles controls = random_controls(800);
    const float voxel = 0.05f, radius = 0.2f;
    const Topology topology = Topology::covering({-8, -8, -8}, {28, 28, 28});
    ControlField field;
    field.interpolate(topology, voxel, controls, radius, Vec3f::Zero());
    for (int x = 2; x < 18; x += 3)
        for (int y = 2; y < 18; y += 3)
            for (int z = 2; z < 18; z += 3) { // inside, where weights are large
                const Vec3f place = voxel * (Vec3i(x, y, z).cast<float>() + Vec3f::Constant(0.5f));
                Vec3f found;
                for (int a = 0; a < 3; ++a) found[a] = field.components()[a].at({x, y, z});
                ASSERT_LT((found - shepard(controls, place, radius)).norm(), 1e-4f);
            }
}

TEST(ControlField, WindBlowsWhereNoControlParticleIsNear)
{
    const Particles controls = random_controls(800);
    const Topology topology = Topology::covering({-40, -8, -8}, {28, 28, 28});
    ControlField field;
    field.interpolate(topology, 0.05f, controls, 0.2f, Vec3f(3, 2, 1));
    for (int a = 0; a < 3; ++a) EXPECT_EQ(field.components()[a].at({-20, 5, 5}), 3.0f - static_cast<float>(a));
}

TEST(ControlField, ProjectionRemovesDivergence)
{
    const float voxel = 0.05f;
    const Topology topology = Topology::covering({-8, -8, -8}, {28, 28, 28});
    ControlField field;
    field.interpolate(topology, voxel, random_controls(800), 0.2f, Vec3f::Zero());
    MacField velocity;
    for (int a = 0; a < 3; ++a) velocity.u[a].copy_from(field.components()[a]);
    const double before = rms_divergence(velocity, voxel);
    EXPECT_GT(before, 0.1);
    ControlProjection projection;
    const PoissonResult result = projection.project(velocity, 1e-4);
    EXPECT_TRUE(result.converged);
    EXPECT_LT(rms_divergence(velocity, voxel), before / 100);
}

TEST(ParticleDensity, TentBlurKeepsTheSumAndIsATent)
{
    Particles one;
    one.resize(1);
    one.P[0] = Vec3f(0.35f, 0.35f, 0.35f); // in cell 3
    const Topology topology = Topology::covering({-8, -8, -8}, {16, 16, 16});
    ParticleIndex index;
    sort_by_tile(one, topology, 0.1f, index);
    Field<float> density, scratch;
    count_particles(index, topology, density);
    blur(density, Tent(4), scratch);
    double sum = 0;
    for (const float d : density.values()) sum += static_cast<double>(d);
    EXPECT_NEAR(sum, 1, 1e-5);
    const float peak = density.at({3, 3, 3});
    EXPECT_NEAR(peak, 1.0 / 64, 1e-6); // (1/4)^3
    for (int k = 0; k <= 4; ++k) {
        EXPECT_NEAR(density.at({3 + k, 3, 3}), peak * static_cast<float>(4 - k) / 4, 1e-6f);
        EXPECT_NEAR(density.at({3, 3 - k, 3}), peak * static_cast<float>(4 - k) / 4, 1e-6f);
        EXPECT_NEAR(density.at({3, 3, 3 - k}), peak * static_cast<float>(4 - k) / 4, 1e-6f);
    }
}

} // namespace

} // namespace spindrift
