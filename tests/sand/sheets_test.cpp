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

// A plate of 2 mm in cells of 4 cm that rises, sinks or turns.
TEST(SandSheets, HoldSandWhileTheyMove)
{
    struct Motion {
        float degrees, rise, turn; // at first; [m] and [deg] a frame
    };
    for (const Motion& m : {Motion{20, 0.01f, 0}, Motion{20, -0.02f, 0}, Motion{0, 0, 1}}) {
        SandScene scene = sand_above_a_plate(0);
        ColliderParams& plate = scene.params.colliders[0];
        plate.min.y() = 0.399f, plate.max.y() = 0.401f;
        plate.rotate = {{1, 0, 0, 1, m.degrees}, {101, 0, 0, 1, m.degrees + 100 * m.turn}};
        plate.translate = {{1, 0, 0, 0}, {101, 0, 100 * m.rise, 0}};
        const Shape shape(plate, "a test");
        const auto behind_now = [&](const Particles& particles, int frame) {
            const auto now = static_cast<float>(frame);
            const Vec3f at = shape.placed(Vec3f(0, 0.4f, 0), now), above = shape.placed(Vec3f(0, 1.4f, 0), now);
            return std::count_if(particles.P.begin(), particles.P.end(),
                                 [&](const Vec3f& x) { return (x - at).dot(above - at) < 0; });
        };
        const auto hold = [&](auto& sand, const char* model) {
            for (int frame = 2; frame <= 18; ++frame) {
                sand.advance();
                ASSERT_EQ(behind_now(sand.particles(), frame), 0)
                    << model << ", " << m.rise << " m and " << m.turn << " degrees a frame, frame " << frame;
            }
        };
        hold(*scene.start(), "grains");
        hold(*scene.start_fluid(), "fluid");
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
