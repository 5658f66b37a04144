// Sand at colliders that are thinner than a cell.
#include "sand/sands.h"

#include <gtest/gtest.h>

namespace spindrift {

namespace {

SandScene sand_above_a_plate(float degrees)
{
    SandScene scene(0.5f, {-0.4f, 0, -0.3f}, {0.4f, 1.2f, 0.3f}, 0.04f);
    scene.fill_box({-0.2f, 0.6f, -0.15f}, {0.2f, 0.8f, 0.15f});
    ColliderParams plate;
    plate.min = Vec3f(-2, 0.398f, -2), plate.max = Vec3f(2, 0.402f, 2), plate.friction = 0.3f;
    plate.rotate = {{0, 0, 0, 1, degrees}};
    scene.params.colliders = {plate};
    return scene;
}

size_t behind(const Particles& particles, float degrees)
{
    const double angle = degrees * kPi / 180;
    const Vec3f normal = Vec3d(-std::sin(angle), std::cos(angle), 0).cast<float>();
    return static_cast<size_t>(std::count_if(particles.P.begin(), particles.P.end(),
                                             [&](const Vec3f& x) { return (x - Vec3f(0, 0.4f, 0)).dot(normal) < 0; }));
}

TEST(SandSheets, HoldGrains)
{
    for (const float degrees : {0.0f, 20.0f}) {
        const auto sand = sand_above_a_plate(degrees).start();
        const double mass = sand->mass();
        for (int frame = 0; frame < 20; ++frame) {
            sand->advance();
            ASSERT_EQ(behind(sand->particles(), degrees), 0u) << degrees << " degrees, frame " << frame;
        }
        EXPECT_NEAR(sand->mass(), mass, 1e-5 * mass);
    }
}

TEST(SandSheets, HoldSandAsAFluid)
{
    const auto sand = sand_above_a_plate(20).start_fluid();
    for (int frame = 0; frame < 20; ++frame) {
        sand->advance();
        ASSERT_EQ(behind(sand->particles(), 20), 0u) << "frame " << frame;
    }
}

} // namespace

} // namespace spindrift
