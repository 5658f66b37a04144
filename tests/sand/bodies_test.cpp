// Rigid bodies among grains, over many steps.
#include "sand/sands.h"

#include "base/determinism.h"
#include "spindrift/base/error.h"

#include <gtest/gtest.h>

namespace spindrift {
namespace {

float deepest_in_a_body(const GranularSand& sand)
{
    float deepest = 0;
    for (const RigidSolid& body : sand.bodies().solids())
        for (const Vec3f& x : sand.particles().P) deepest = std::max(deepest, -body.distance(x));
    return deepest;
}

Vec3d momentum_of(const Particles& particles)
{
    const auto& mass = *particles.find<float>(kMass);
    Vec3d sum = Vec3d::Zero();
    for (size_t i = 0; i < particles.size(); ++i) sum += static_cast<double>(mass[i]) * particles.v[i].cast<double>();
    return sum;
}

// Balls of 0.3, 3 and 10 times the density of sand, dropped from just above it.
TEST(SandBodies, HeavierBallsSinkDeeperAndAllAreSupported)
{
    SandScene scene(0.5f, Vec3f(-0.54f, 0, -0.2f), Vec3f(0.54f, 0.6f, 0.2f), 0.025f);
    scene.fill_box(Vec3f(-0.54f, 0, -0.2f), Vec3f(0.54f, 0.2f, 0.2f));
    const float ratios[] = {0.3f, 3, 10};
    for (int k = 0; k < 3; ++k)
        scene.add_ball(Vec3f(0.36f * static_cast<float>(k - 1), 0.33f, 0), 0.1f, 1600 * ratios[k]);
    const auto sand = scene.start();
    for (int frame = 0; frame < 16; ++frame) sand->advance();
    const Bodies& bodies = sand->bodies();
    double before = 1;
    for (size_t b = 0; b < 3; ++b) {
        const double y = bodies.center(b).y();
        EXPECT_LT(y, before - 0.003);
        EXPECT_GT(y, 0.14) << "lies on the floor";
        EXPECT_LT(bodies.motion(b).head<3>().norm(), 0.06);
        before = y;
    }
    EXPECT_GT(bodies.center(0).y(), 0.26); // the lightest stays on top
    EXPECT_LT(deepest_in_a_body(*sand), 1e-4f);
}

TEST(SandBodies, LightBallsRollWithoutSlipping)
{
    SandScene scene(0.5f, Vec3f(-0.4f, 0, -0.2f), Vec3f(0.4f, 0.5f, 0.2f), 0.025f);
    scene.fill_box(Vec3f(-0.4f, 0, -0.2f), Vec3f(0.4f, 0.1f, 0.2f));
    scene.add_ball(Vec3f(-0.2f, 0.2f, 0), 0.1f, 480);
    scene.params.bodies[0].velocity = Vec3f(1.5f, 0, 0);
    const auto sand = scene.start();
    for (int frame = 0; frame < 3; ++frame) sand->advance();
    const Vec6d motion = sand->bodies().motion(0);
    EXPECT_GT(motion[0], 0.3);
    EXPECT_NEAR(motion[5], -motion[0] / 0.1, 0.2 * motion[0] / 0.1) << motion.transpose();
}

// Without gravity, a cloud too thin for stresses hits a ball: total momentum is conserved.
TEST(SandBodies, ImpactsConserveMomentum)
{
    for (const float density : {1.0f, 500.0f, 50000.0f}) {
        SandScene scene(0.5f, Vec3f::Constant(-2), Vec3f::Constant(2), 0.05f);
        scene.params.gravity = Vec3f::Zero();
        scene.fill_box(Vec3f(-0.3f, -0.2f, -0.2f), Vec3f(0, 0.2f, 0.2f), 0, Vec3f(2, 0, 0));
        scene.add_ball(Vec3f(0.15f, 0.02f, 0.03f), 0.12f, density);
        int number = 0;
        const auto sand = scene.start([&](const Vec3f&) { return ++number % 41 == 0; });
        const auto total = [&] { return Vec3d(momentum_of(sand->particles()) + sand->bodies().momentum(0).head<3>()); };
        const Vec3d before = total();
        for (int frame = 0; frame < 4; ++frame) sand->advance();
        EXPECT_GT(sand->bodies().motion(0)[0], 1e-3);
        EXPECT_LT(sand->bodies().motion(0)[0], 2.01) << density;
        EXPECT_LT((total() - before).norm(), 1e-4 * before.norm()) << density;
    }
}

TEST(SandBodies, FallingSandTurnsAWheel)
{
    SandScene scene(0.5f, Vec3f(-0.4f, 0, -0.1f), Vec3f(0.4f, 1, 0.1f), 0.025f);
    scene.fill_box(Vec3f(0.1f, 0.65f, -0.08f), Vec3f(0.2f, 0.95f, 0.08f));
    BodyParams wheel;
    wheel.min = Vec3f(-0.25f, 0.38f, -0.09f), wheel.max = Vec3f(0.25f, 0.42f, 0.09f);
    wheel.hinge.anchor = Vec3f(0, 0.4f, 0);
    scene.params.bodies.push_back(wheel);
    const auto sand = scene.start();
    double turned = 0;
    for (int frame = 0; frame < 12; ++frame) {
        sand->advance();
        turned += sand->bodies().motion(0)[5] / static_cast<double>(kFps);
    }
    EXPECT_LT(turned, -0.5); // the side that is hit moves down
    EXPECT_LT((sand->bodies().center(0) - Vec3d(0, 0.4, 0)).norm(), 2e-3);
}

TEST(SandBodies, DensityRatiosOfAThousandAreStable)
{
    for (const float density : {1.6f, 1.6e6f}) {
        SandScene scene(0.5f, Vec3f(-0.25f, 0, -0.25f), Vec3f(0.25f, 0.5f, 0.25f), 0.025f);
        scene.fill_box(Vec3f(-0.25f, 0, -0.25f), Vec3f(0.25f, 0.2f, 0.25f));
        scene.add_ball(Vec3f(0, 0.18f, 0), 0.1f, density); // half of it inside the sand from the start
        const auto sand = scene.start();
        EXPECT_LT(deepest_in_a_body(*sand), 1e-4f);
        double fastest = 0, mass = sand->mass();
        for (int frame = 0; frame < 12; ++frame) {
            sand->advance();
            fastest = std::max(fastest, sand->bodies().motion(0).head<3>().norm());
            for (const Vec3f& v : sand->particles().v) ASSERT_TRUE(v.allFinite());
        }
        EXPECT_LT(fastest, 2.5) << density;
        EXPECT_GT(sand->bodies().center(0).y(), 0.095);
        EXPECT_LT(sand->bodies().center(0).y(), 0.32);
        EXPECT_NEAR(sand->mass(), mass, 1e-5 * mass);
        EXPECT_LT(deepest_in_a_body(*sand), 0.005f);
    }
}

TEST(SandBodies, NearlyMasslessBodiesAreStableFreeAndOnAHinge)
{
    for (const float density : {1e-3f, 1e-12f, 1e-30f}) {
        SandScene scene(0.5f, Vec3f(-0.25f, 0, -0.25f), Vec3f(0.25f, 0.5f, 0.25f), 0.025f);
        scene.fill_box(Vec3f(-0.25f, 0, -0.25f), Vec3f(0.25f, 0.15f, 0.25f));
        scene.fill_box(Vec3f(0, 0.4f, -0.1f), Vec3f(0.1f, 0.5f, 0.1f)); // falls on the wheel
        scene.add_ball(Vec3f(-0.15f, 0.18f, 0), 0.05f, density);
        scene.add_wheel(Vec3f(0.08f, 0.3f, 0), 0.1f, 0.1f, density);
        const auto sand = scene.start();
        for (int frame = 0; frame < 6; ++frame) {
            sand->advance();
            for (const Vec3f& v : sand->particles().v) ASSERT_TRUE(v.allFinite()) << density;
        }
        EXPECT_LT(sand->bodies().motion(0).head<3>().norm(), 5) << density;
        EXPECT_LT((sand->bodies().center(1) - Vec3d(0.08, 0.3, 0)).norm(), 2e-3) << density;
    }
}

TEST(SandBodies, BitIdenticalForAnyNumberOfThreadsAndAfterResuming)
{
    SandScene scene(0.5f, Vec3f(-0.25f, 0, -0.25f), Vec3f(0.25f, 0.5f, 0.25f), 0.025f);
    scene.fill_box(Vec3f(-0.25f, 0, -0.25f), Vec3f(0.25f, 0.15f, 0.25f));
    scene.add_ball(Vec3f(-0.1f, 0.24f, 0), 0.08f, 800), scene.add_ball(Vec3f(0.1f, 0.24f, 0.02f), 0.07f, 4000);
    const auto after = [&](int threads, bool resumed) {
        return with_threads(threads, [&] {
            auto sand = scene.start();
            for (int frame = 0; frame < 4; ++frame) {
                sand->advance();
                if (!resumed || frame != 1) continue;
                GranularSand::State state = sand->state();
                sand = scene.start();
                sand->restore(std::move(state));
            }
            return sand->state();
        });
    };
    const GranularSand::State one = after(1, false);
    for (const GranularSand::State& other : {after(2, false), after(3, true)}) {
        ASSERT_EQ(one.particles.size(), other.particles.size());
        EXPECT_EQ(one.particles.P, other.particles.P);
        EXPECT_EQ(one.particles.v, other.particles.v);
        for (size_t b = 0; b < 2; ++b) {
            EXPECT_EQ(one.bodies[b].position, other.bodies[b].position);
            EXPECT_EQ(one.bodies[b].orientation.coeffs(), other.bodies[b].orientation.coeffs());
            EXPECT_EQ(one.bodies[b].velocity, other.bodies[b].velocity);
        }
    }
}

TEST(SandBodies, BodyThatStartsInsideAWallIsAnError)
{
    SandScene scene(0.5f, Vec3f(-0.25f, 0, -0.25f), Vec3f(0.25f, 0.5f, 0.25f), 0.025f);
    scene.fill_box(Vec3f(-0.25f, 0, -0.25f), Vec3f(0.25f, 0.15f, 0.25f));
    scene.add_ball(Vec3f(0.2f, 0.3f, 0), 0.1f, 800);
    try {
        scene.start();
        FAIL();
    } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("inside a wall or collider"), std::string::npos) << error.what();
    }
}

} // namespace
} // namespace spindrift
