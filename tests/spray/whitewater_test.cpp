#include "spindrift/spray/whitewater.h"
#include "spray/sprays.h"

namespace spindrift {

namespace {

constexpr float kSpacing = 0.05f;

// Particles on a jittered lattice in a box, all with the same velocity.
Particles block(const Vec3f& min, const Vec3f& max, const Vec3f& velocity, int first_id = 0)
{
    Random random(7, static_cast<uint64_t>(first_id));
    Particles p;
    for (float x = min.x() + kSpacing / 2; x < max.x(); x += kSpacing)
        for (float y = min.y() + kSpacing / 2; y < max.y(); y += kSpacing)
            for (float z = min.z() + kSpacing / 2; z < max.z(); z += kSpacing)
                p.P.push_back(Vec3f(x, y, z) + random_in_box(random, Vec3f::Constant(0.3f * kSpacing)));
    p.resize(p.P.size());
    for (size_t i = 0; i < p.size(); ++i) p.v[i] = velocity, p.id[i] = first_id + static_cast<int32_t>(i);
    return p;
}

Particles both(Particles a, const Particles& b)
{
    a.P.insert(a.P.end(), b.P.begin(), b.P.end());
    a.v.insert(a.v.end(), b.v.begin(), b.v.end());
    a.id.insert(a.id.end(), b.id.begin(), b.id.end());
    return a;
}

WhitewaterParams air_only()
{
    WhitewaterParams p;
    p.trapped_air = 100;
    return p;
}

double mean_potential(const LiquidView& liquid, const WhitewaterParams& params, float Potentials::*which)
{
    double sum = 0;
    for (const Potentials& p : find_potentials(liquid, params)) sum += p.*which;
    return sum / static_cast<double>(liquid.particles().size());
}

} // namespace

TEST(LiquidView, CountsParticlesAroundAPlace)
{
    const LiquidView liquid(block(Vec3f(0, 0, 0), Vec3f(1, 1, 1), Vec3f(1, 2, 3)), kSpacing);
    Random random(3);
    for (int trial = 0; trial < 200; ++trial) {
        const Vec3f x = Vec3f(0.5f, 0.5f, 0.5f) + random_in_box(random, Vec3f::Constant(0.7f));
        size_t expected = 0, found = 0;
        for (const Vec3f& p : liquid.particles().P) expected += (p - x).norm() < liquid.reach();
        liquid.for_each_near(x, [&](size_t i, float distance) {
            EXPECT_NEAR((liquid.particles().P[i] - x).norm(), distance, 1e-6f);
            ++found;
        });
        EXPECT_EQ(found, expected);
    }
    EXPECT_NEAR(liquid.around(Vec3f(0.5f, 0.5f, 0.5f)).share, 1, 0.15);
    EXPECT_NEAR(liquid.around(Vec3f(0.5f, 1, 0.5f)).share, 0.5, 0.15);
    EXPECT_EQ(liquid.around(Vec3f(0.5f, 1.2f, 0.5f)).share, 0);
    EXPECT_NEAR((liquid.around(Vec3f(0.5f, 0.5f, 0.5f)).velocity - Vec3f(1, 2, 3)).norm(), 0, 1e-5);
    EXPECT_EQ(LiquidView(Particles(), kSpacing).around(Vec3f::Zero()).share, 0);
}

TEST(Whitewater, AirIsTrappedWhereLiquidMeetsLiquid)
{
    const Vec3f low(0, 0, 0), middle(0.5f, 1, 1), middle_low(0.5f, 0, 0), high(1, 1, 1), fast(3, 0, 0);
    const auto trapped = [&](const Vec3f& left, const Vec3f& right) {
        const LiquidView liquid(both(block(low, middle, left), block(middle_low, high, right, 100000)), kSpacing);
        return mean_potential(liquid, air_only(), &Potentials::trapped_air);
    };
    EXPECT_EQ(trapped(fast, fast), 0) << "rigid motion";
    EXPECT_GT(trapped(fast, -fast), 0.02) << "head-on";
    EXPECT_LT(trapped(-fast, fast), 0.2 * trapped(fast, -fast)) << "separating";
}

TEST(Whitewater, CrestsBreakWhereTheyAreConvexAndMoveOutward)
{
    WhitewaterParams params;
    params.wave_crests = 100;
    const auto crest = [&](const Vec3f& velocity) {
        // The edge of a block is the sharpest crest.
        const LiquidView liquid(block(Vec3f(0, 0, 0), Vec3f(0.3f, 0.3f, 1), velocity), kSpacing);
        return mean_potential(liquid, params, &Potentials::wave_crest);
    };
    EXPECT_EQ(crest(Vec3f::Zero()), 0);
    EXPECT_GT(crest(Vec3f(3, 3, 0)), 0.005);
    // A wide rising pool has edges only far out.
    const LiquidView pool(block(Vec3f(0, 0, 0), Vec3f(2, 0.3f, 2), Vec3f(0, 4, 0)), kSpacing);
    EXPECT_LT(mean_potential(pool, params, &Potentials::wave_crest), 0.5 * crest(Vec3f(0, 4, 0)));
}

TEST(Whitewater, EmitsAtItsRateAndTheSameForAnyNumberOfThreads)
{
    const auto liquid = [] {
        return LiquidView(both(block(Vec3f(0, 0, 0), Vec3f(0.5f, 1, 1), Vec3f(4, 0, 0)),
                               block(Vec3f(0.5f, 0, 0), Vec3f(1, 1, 1), Vec3f(-4, 0, 0), 100000)),
                          kSpacing);
    };
    const LiquidView view = liquid();
    const WhitewaterParams params = air_only();
    double expected = 0;
    for (const Potentials& p : find_potentials(view, params)) expected += 100 * p.energy * p.trapped_air / 24;
    const Particles droplets = emit_whitewater(view, params, 1.0f / 24, 11);
    EXPECT_NEAR(static_cast<double>(droplets.size()), expected, 0.05 * expected);
    EXPECT_GT(expected, 1000);
    for (const Vec3f& x : droplets.P) {
        EXPECT_LT(std::abs(x.x() - 0.5f), 3 * kSpacing + 4.0f / 24);
        EXPECT_TRUE(x.allFinite());
    }
    for (const int threads : {1, 3})
        EXPECT_TRUE(same_bits(droplets,
                              with_threads(threads, [&] { return emit_whitewater(liquid(), params, 1.0f / 24, 11); })))
            << threads << " threads";
}

// A droplet falls into a pool, drifts as foam and bursts; a bubble rises and becomes foam.
TEST(Whitewater, DropletsBecomeFoamAndBubblesRise)
{
    SprayParams params;
    params.whitewater.handover = true; // makes the spray read the liquid
    params.whitewater.life_low = 0.25f;
    const LiquidView pool(block(Vec3f(0, 0, 0), Vec3f(1, 0.5f, 1), Vec3f(0.5f, 0, 0)), kSpacing);
    const auto kind = [](const Spray& spray) { return (*spray.particles().find<int32_t>(kKindAttribute))[0]; };

    auto spray = started_spray(params, one_droplet(Vec3f(0.4f, 0.9f, 0.5f), Vec3f::Zero(), 1e-3f));
    int frames = 0;
    for (; frames < 48 && spray->particles().size() == 1; ++frames) {
        spray->advance(pool, pool);
        if (spray->particles().size() == 0) break;
        if (kind(*spray) != static_cast<int>(WaterKind::bubble)) {
            EXPECT_GT(spray->particles().P[0].y(), 0.5f - 2 * kSpacing);
        }
    }
    const double fall = std::sqrt(2 * 0.4 / 9.81);
    EXPECT_NEAR(frames / 24.0, fall + 0.25, 0.15);

    spray = started_spray(params, one_droplet(Vec3f(0.5f, 0.2f, 0.5f), Vec3f::Zero(), 1e-3f));
    spray->advance(pool, pool);
    EXPECT_EQ(kind(*spray), static_cast<int>(WaterKind::bubble));
    const float deep = spray->particles().P[0].y();
    for (int f = 0; f < 5; ++f) spray->advance(pool, pool);
    EXPECT_GT(spray->particles().P[0].y(), deep + 0.05f);
}

TEST(Whitewater, IsolatedLiquidParticlesAreHandedOverOnceWithTheirVolume)
{
    SprayParams params;
    params.whitewater.handover = true;
    params.max_radius = 1, params.collisions = false;
    const auto liquid = [](float height) {
        Particles lone;
        lone.resize(1);
        lone.P[0] = Vec3f(0.5f, height, 0.5f), lone.v[0] = Vec3f(0, 2, 0), lone.id[0] = 500000;
        return LiquidView(both(block(Vec3f(0, 0, 0), Vec3f(1, 0.5f, 1), Vec3f::Zero()), lone), kSpacing);
    };
    auto spray = started_spray(params);
    spray->advance(liquid(0.45f), liquid(0.8f));
    ASSERT_EQ(spray->particles().size(), 1u);
    const float radius = radii_of(spray->particles())[0];
    EXPECT_NEAR(4.0 / 3 * kPi * std::pow(radius, 3), std::pow(kSpacing, 3), 1e-6);
    spray->advance(liquid(0.8f), liquid(0.9f));
    EXPECT_EQ(spray->particles().size(), 1u) << "handed over before";
    EXPECT_EQ(spray->taken(), std::vector<int32_t>{500000});
    // The droplet falls back into the liquid, but its particle has not: the droplet waits there.
    for (int f = 0; f < 48; ++f) spray->advance(liquid(0.9f), liquid(0.9f));
    ASSERT_EQ(spray->particles().size(), 1u);
    EXPECT_EQ((*spray->particles().find<int32_t>(kKindAttribute))[0], static_cast<int>(WaterKind::foam));
    const SprayReport last = spray->advance(liquid(0.9f), liquid(0.45f));
    EXPECT_EQ(last.emitted, 0u) << "one was given back";
    EXPECT_EQ(spray->particles().size(), 0u);
    EXPECT_TRUE(spray->taken().empty());
}

// A pool flows against a plate of 0.1 mm, which is at rest or moves. Its foam, bubbles and new droplets all stay on
// their side.
TEST(Whitewater, StaysOnItsSideOfAThinPlate)
{
    for (const float speed : {0.0f, -0.02f, 0.03f}) { // of the plate [m/frame]
        const auto plate_at = [&](int frame) { return 0.5f + speed * static_cast<float>(frame); };
        SprayParams params;
        params.whitewater = air_only();
        params.whitewater.speed = {0, 0.1f};
        SprayColliderParams plate;
        plate.min = Vec3f(0.49995f, -9, -9), plate.max = Vec3f(0.50005f, 9, 9);
        plate.translate = {{0, 0, 0, 0}, {100, 100 * speed, 0, 0}};
        params.colliders = {plate};
        const auto pool = [&](int frame) { // flows through the plate, except for the particles next to it
            Particles p = both(block(Vec3f(-1, 0, 0), Vec3f(1, 0.5f, 0.5f), Vec3f(4, 0, 0)),
                               block(Vec3f(-1, 0, 0), Vec3f(1, 0.5f, 0.5f), Vec3f(2, 1, 0), 100000));
            std::vector<uint8_t> keep;
            for (const Vec3f& x : p.P) keep.push_back(x.x() < plate_at(frame) - 1e-4f);
            remove_particles(p, keep);
            return LiquidView(p, kSpacing);
        };
        auto spray = started_spray(params);
        std::array<size_t, 3> kinds{};
        for (int frame = 1; frame <= 12; ++frame) {
            spray->advance(pool(frame - 1), pool(frame));
            for (const Vec3f& x : spray->particles().P)
                ASSERT_LT(x.x(), plate_at(frame)) << speed << " m a frame, frame " << frame;
            for (const int32_t kind : *spray->particles().find<int32_t>(kKindAttribute)) ++kinds[kind];
        }
        for (const size_t count : kinds) EXPECT_GT(count, 100u);
    }
}

// Water that flows along one side of a thin wall, or against it, traps no air of the still water on the other side.
TEST(Whitewater, LiquidBehindAThinWallTrapsNoAir)
{
    const Vec3f low(0, 0, 0), middle(0.5f, 1, 1), middle_low(0.5f, 0, 0), high(1, 1, 1);
    const LiquidView liquid(both(block(low, middle, Vec3f(3, 0, 2)), block(middle_low, high, Vec3f::Zero(), 100000)),
                            kSpacing);
    SprayColliderParams wall;
    wall.min = Vec3f(0.4999f, -9, -9), wall.max = Vec3f(0.5001f, 9, 9);
    const SprayColliders colliders({Shape(wall, "a test")}, {wall}, 24);
    const auto trapped = [&](const Barriers& barriers) {
        double sum = 0;
        for (const Potentials& p : find_potentials(liquid, air_only(), barriers))
            sum += static_cast<double>(p.trapped_air);
        return sum;
    };
    EXPECT_GT(trapped({}), 10);
    EXPECT_EQ(trapped(colliders.barriers(0)), 0);
}

// Droplets just above a thin lid over water, which is at rest or sinks, stay droplets.
TEST(Whitewater, DropletsAboveALidAreNotFoam)
{
    for (const float speed : {0.0f, -0.005f}) { // [m/frame]
        SprayParams params;
        params.whitewater.handover = true; // makes the spray read the liquid
        params.gravity = Vec3f::Zero();
        SprayColliderParams lid;
        lid.min = Vec3f(-9, 0.5f, -9), lid.max = Vec3f(9, 0.501f, 9);
        lid.translate = {{0, 0, 0, 0}, {100, 0, 100 * speed, 0}};
        params.colliders = {lid};
        const LiquidView pool(block(Vec3f(0, 0, 0), Vec3f(1, 0.47f, 1), Vec3f::Zero()), kSpacing);
        auto spray = started_spray(params, one_droplet(Vec3f(0.5f, 0.504f, 0.5f), Vec3f::Zero(), 1e-3f));
        for (int frame = 1; frame <= 4; ++frame) {
            spray->advance(pool, pool);
            ASSERT_EQ(spray->particles().size(), 1u);
            EXPECT_EQ((*spray->particles().find<int32_t>(kKindAttribute))[0], static_cast<int>(WaterKind::spray))
                << "frame " << frame;
        }
    }
}

// The volume balance holds for droplets that merge, break up, leave, and hold water that never was the liquid's.
TEST(Whitewater, TheLandedVolumeIsGivenBack)
{
    constexpr double kVolume = 1;
    const auto liquid = [](const std::vector<float>& heights) {
        Particles lone;
        lone.resize(heights.size());
        for (size_t i = 0; i < heights.size(); ++i)
            lone.P[i] = Vec3f(0.1f + 0.2f * static_cast<float>(i), heights[i], 0.5f),
            lone.id[i] = static_cast<int32_t>(500000 + i);
        return LiquidView(both(block(Vec3f(0, 0, 0), Vec3f(1, 0.5f, 1), Vec3f::Zero()), lone), kSpacing);
    };
    const auto all_alone = liquid({0.8f, 0.8f, 0.8f, 0.8f}), two_back = liquid({0.8f, 0.4f, 0.4f, 0.8f});
    const auto anywhere = [](const Vec3f&) { return true; };
    const auto started = [&] {
        Handover handover;
        handover.inspect(all_alone, 0.1f);
        EXPECT_EQ(handover.take(all_alone, Vec3f::Zero(), anywhere).size(), 4u);
        handover.inspect(two_back, 0.1f);
        return handover;
    };
    Handover h = started();
    EXPECT_EQ(h.give_back(0.9, 4, kVolume), 0) << "not all of a particle has landed";
    EXPECT_EQ(h.taken().size(), 4u);
    h = started();
    EXPECT_EQ(h.give_back(1.7, 4, kVolume), 1);
    EXPECT_EQ(h.taken(), (std::vector<int32_t>{500000, 500002, 500003}));
    h = started();
    EXPECT_EQ(h.give_back(3, 4, kVolume), 2) << "only two particles are in the liquid";
    h = started();
    EXPECT_EQ(h.give_back(3, 4.5, kVolume), 2.5) << "mixed-in water is removed too";
    h = started();
    EXPECT_EQ(h.give_back(1, 2, kVolume), 1) << "droplets that left do not come back";
    EXPECT_EQ(h.taken().size(), 3u);
}

// Three droplets hold the volume of two particles; one particle is given back. The rest of the second droplet would be
// below the minimum radius.
TEST(Whitewater, GivingBackConservesTheRemainingVolume)
{
    SprayParams params;
    params.whitewater.handover = true, params.collisions = false, params.max_radius = 1;
    const float radius = radius_of_share(kSpacing);
    params.min_radius = 0.8f * radius;
    Particles lone;
    lone.resize(2);
    lone.P = {Vec3f(0.5f, 0.45f, 0.5f), Vec3f(0.5f, 0.9f, 0.5f)}, lone.id = {500000, 500001};
    const LiquidView liquid(both(block(Vec3f(0, 0, 0), Vec3f(1, 0.5f, 1), Vec3f::Zero()), lone), kSpacing);

    auto spray = started_spray(params);
    Spray::State state = spray->state();
    Particles droplets;
    for (const float share : {0.7f, 0.7f, 0.6f}) {
        const auto i = static_cast<int32_t>(droplets.size());
        droplets.resize(droplets.size() + 1);
        droplets.P.back() = Vec3f(0.2f + 0.2f * static_cast<float>(i), 0.48f, 0.5f), droplets.id.back() = i;
        droplets.attribute<float>(kRadiusAttribute).back() = radius * std::cbrt(share);
        droplets.attribute<float>(kLifeAttribute).back() = kEndsInLiquid;
    }
    for (const char* name : {kAgeAttribute, kRestAttribute}) droplets.attribute<float>(name);
    for (const char* name : {kParentAttribute, kOutcomeAttribute}) droplets.attribute<int32_t>(name);
    state.particles = droplets, state.next_id = 3, state.taken = {500000, 500001};
    spray->restore(std::move(state));
    spray->advance(liquid, liquid);
    EXPECT_EQ(spray->taken(), std::vector<int32_t>{500001});
    double left = 0;
    for (const float r : radii_of(spray->particles())) left += ball_volume(r);
    EXPECT_NEAR(left, ball_volume(radius), 1e-5 * ball_volume(radius));
}

} // namespace spindrift
