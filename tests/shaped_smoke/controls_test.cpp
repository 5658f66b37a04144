#include "spindrift/shaped_smoke/controls.h"

#include "base/determinism.h"
#include "spindrift/base/random.h"

#include <gtest/gtest.h>

namespace spindrift {

namespace {

constexpr float kVoxel = 0.05f;

// Markers in a cube of 1.2 m, the denser the larger their x, and control particles thrown among them.
struct ThrownControls {
    Particles markers;
    Topology topology;
    ParticleIndex index;
    std::vector<Vec3f> places;

    explicit ThrownControls(double ratio)
    {
        Random random(4);
        while (markers.P.size() < 100000) {
            const float x = random.uniform(), y = random.uniform(), z = random.uniform(), keep = random.uniform();
            if (keep < 0.2f + 0.8f * x) markers.P.push_back(1.2f * Vec3f(x, y, z));
        }
        markers.resize(markers.P.size());
        topology = tiles_around(markers, kVoxel, 2);
        sort_by_tile(markers, topology, kVoxel, index);
        const Tent tent(2);
        Field<float> density, scratch, control_density;
        count_particles(index, topology, density);
        blur(density, tent, scratch);
        Particles none;
        ParticleIndex controls;
        sort_by_tile(none, topology, kVoxel, controls);
        control_density.reset(topology, 0);
        places = throw_controls({markers, index, controls, density, tent, kVoxel, ratio, 7}, control_density);
    }
};

TEST(Controls, AreAsManyAsWantedAndAsDenseAsTheSmoke)
{
    const double ratio = 0.05;
    const ThrownControls thrown(ratio);
    EXPECT_NEAR(static_cast<double>(thrown.places.size()), 5000, 250);
    Particles controls;
    controls.P = thrown.places, controls.resize(controls.P.size());
    ParticleIndex placed;
    sort_by_tile(controls, thrown.topology, kVoxel, placed);
    int tested = 0;
    for (int tile = 0; tile < thrown.topology.tile_count(); ++tile) {
        const double wanted = ratio * static_cast<double>(thrown.index.tile_end(tile) - thrown.index.tile_begin(tile));
        const auto found = static_cast<double>(placed.tile_end(tile) - placed.tile_begin(tile));
        EXPECT_NEAR(found, wanted, 1 + 0.1 * wanted) << tile;
        tested += wanted > 50;
    }
    EXPECT_GT(tested, 20);
}

TEST(Controls, AreThrownToTheSamePlacesByAnyNumberOfThreads)
{
    const auto throw_with = [](int threads) {
        return with_threads(threads, [] { return ThrownControls(0.05).places; });
    };
    const std::vector<Vec3f> one = throw_with(1);
    EXPECT_TRUE(same_bits(one, throw_with(2)));
    EXPECT_TRUE(same_bits(one, throw_with(3)));
}

// A control particle at rest, which is drawn to a target in a given direction and distance.
struct Drawn {
    Particles controls;
    std::vector<Vec3f> goal;
    std::vector<int32_t> target{0};

    Drawn(const Vec3f& direction, float distance) : goal{distance * direction.normalized()}
    {
        controls.resize(1);
        controls.attribute<Vec3f>(kStepAttribute);
    }
    // Velocity of the next step of dt.
    const Vec3f& attract(const AttractionParams& params, float dt)
    {
        spindrift::attract(controls, {goal, goal, goal}, target, params, dt);
        return controls.attribute<Vec3f>(kStepAttribute)[0];
    }
    void move(float dt) { controls.P[0] += dt * controls.attribute<Vec3f>(kStepAttribute)[0]; }
};

// F_a = S_a saturate((distance - A_phi) A_rho), towards the target.
TEST(Controls, AreAcceleratedTowardsTheTargetByTheForceOfThePaper)
{
    AttractionParams params;
    params.strength = 30, params.slowing = 0.4f, params.arrival = 0.1f, params.damping = 0;
    const Vec3f direction = Vec3f(1, -2, 3).normalized();
    const float dt = 1e-4f;
    const auto force = [&](float distance) {
        const Vec3f acceleration = Drawn(direction, distance).attract(params, dt) / dt;
        EXPECT_LT(acceleration.cross(direction).norm(), 1e-4f * params.strength) << distance;
        return acceleration.dot(direction);
    };
    for (const float far : {0.5f, 1.0f, 100.0f}) EXPECT_NEAR(force(far), 30, 0.01f) << far;
    for (const float share : {0.25f, 0.5f, 0.75f}) EXPECT_NEAR(force(0.1f + share * 0.4f), share * 30, 0.01f) << share;
    for (const float near : {0.0f, 0.05f, 0.1f}) EXPECT_NEAR(force(near), 0, 1e-3f) << near;
}

TEST(Controls, ComeToRestAtTheTargetForAnyStrength)
{
    for (const float strength : {30.0f, 1e3f, 1e6f}) {
        AttractionParams params;
        params.strength = strength;
        const float dt = 1.0f / 24;
        Drawn drawn(Vec3f(1, 2, 3), 2);
        float farthest = 0;
        for (int k = 0; k < 240; ++k) {
            const Vec3f step = drawn.attract(params, dt);
            drawn.move(dt);
            farthest = std::max(farthest, (drawn.controls.P[0] - drawn.goal[0]).norm());
            if (k == 239) {
                EXPECT_LT(step.norm(), 1e-3f) << strength;
            }
        }
        EXPECT_LT((drawn.controls.P[0] - drawn.goal[0]).norm(), 1e-3f) << strength;
        EXPECT_LE(farthest, 2) << strength;
    }
}

// v is the velocity with which (9) makes the same step.
TEST(Controls, HaveTheVelocityWithWhichAdamsAndBashforthMoveThem)
{
    AttractionParams params;
    Drawn drawn(Vec3f(1, 0, 0), 2);
    Vec3f before = drawn.controls.v[0];
    for (int k = 0; k < 10; ++k) {
        const Vec3f step = drawn.attract(params, 0.04f), now = drawn.controls.v[0];
        EXPECT_LT((1.5f * now - 0.5f * before - step).norm(), 1e-5f) << k;
        before = now;
        drawn.move(0.04f);
    }
}

} // namespace

} // namespace spindrift
