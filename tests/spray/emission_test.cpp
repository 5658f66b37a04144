#include "spray/sprays.h"

namespace spindrift {

namespace {

SprayParams emitting(const EmitterParams& emitter)
{
    SprayParams params;
    params.collisions = false, params.gravity = Vec3f::Zero(), params.drag = 0;
    params.emitters = {emitter};
    return params;
}

TEST(SprayEmission, CountsFollowTheRateForAnyStep)
{
    for (const float rate : {0.0f, 7.0f, 1234.5f, 1e5f})
        for (const int substeps : {1, 3, 7}) {
            EmitterParams e;
            e.rate = rate;
            SprayParams params = emitting(e);
            params.substeps = substeps;
            const auto spray = started_spray(params);
            for (int frame = 1; frame <= 30; ++frame) {
                spray->advance();
                EXPECT_EQ(spray->particles().size(), static_cast<size_t>(frame / 24.0 * rate))
                    << rate << ", " << substeps;
            }
        }
}

TEST(SprayEmission, EmissionDoesNotDependOnTheStep)
{
    EmitterParams e;
    e.from = EmitterParams::From::disc;
    e.rate = 5000, e.spread = 20, e.droplet_variation = 0.5f, e.speed_variation = 0.3f;
    e.translate = {{0, 0, 0, 0}, {10, 1, 0, 0}};
    SprayParams params = emitting(e);
    const auto run = [&](int substeps) {
        params.substeps = substeps;
        const auto spray = started_spray(params);
        for (int frame = 0; frame < 5; ++frame) spray->advance();
        return spray->particles();
    };
    const Particles once = run(1), often = run(8);
    ASSERT_EQ(once.size(), often.size());
    ASSERT_GT(once.size(), 1000u);
    for (size_t i = 0; i < once.size(); ++i) {
        EXPECT_LT((once.P[i] - often.P[i]).norm(), 1e-5f);
        EXPECT_EQ(once.v[i], often.v[i]);
        EXPECT_EQ(radii_of(once)[i], radii_of(often)[i]);
    }
}

TEST(SprayEmission, StartsAndEndsOnTime)
{
    EmitterParams e;
    e.rate = 2400, e.first_frame = 3, e.last_frame = 5;
    const auto spray = started_spray(emitting(e));
    const size_t expected[] = {0, 0, 0, 100, 200, 300, 300, 300};
    for (const size_t count : expected) {
        spray->advance();
        EXPECT_EQ(spray->particles().size(), count) << spray->frame();
    }
}

// Droplets are spread evenly along the jet, without pulses at the steps.
TEST(SprayEmission, AJetHasNoGaps)
{
    EmitterParams e;
    e.rate = 24000, e.speed = 12;
    SprayParams params = emitting(e);
    params.substeps = 1;
    const auto spray = started_spray(params);
    for (int frame = 0; frame < 4; ++frame) spray->advance();
    std::vector<float> heights;
    for (const Vec3f& x : spray->particles().P) heights.push_back(x.y());
    std::sort(heights.begin(), heights.end());
    for (size_t i = 1; i < heights.size(); ++i) EXPECT_NEAR(heights[i] - heights[i - 1], 12.0 / 24000, 1e-5);
}

// Gravity acts on droplets from their emission on, not from the next step on.
TEST(SprayEmission, AFallingJetHasNoKinks)
{
    EmitterParams e;
    e.rate = 24000, e.speed = 12, e.direction = Vec3f(1, 0, 0);
    SprayParams params = emitting(e);
    params.substeps = 1, params.gravity = Vec3f(0, -9.81f, 0);
    const auto spray = started_spray(params);
    for (int frame = 0; frame < 4; ++frame) spray->advance();
    std::vector<Vec3f> places = spray->particles().P;
    std::sort(places.begin(), places.end(), [](const Vec3f& a, const Vec3f& b) { return a.x() < b.x(); });
    const float steepest = 9.81f * 4 / 24 / 12; // at the end of the jet
    for (size_t i = 1; i < places.size(); ++i) {
        const Vec3f way = places[i] - places[i - 1];
        ASSERT_LT(std::abs(way.y()), 1.5f * steepest * way.x()) << places[i].transpose();
    }
}

TEST(SprayEmission, DropletsStartWhereTheEmitterIs)
{
    EmitterParams e;
    e.rate = 24 * 4000, e.speed = 1, e.droplet_radius = 1e-3f, e.droplet_variation = 0.5f, e.spread = 30;
    e.center = Vec3f(1, 2, 3), e.radius = 0.5f, e.direction = Vec3f(0, 0, 2);
    const auto births = [](const EmitterParams& params) {
        Emitter emitter(params, Shape(params.carrier(), "a test"), 1);
        emitter.prepare(1);
        std::vector<Droplet> droplets;
        for (int64_t n = 0; n < 4000; ++n) droplets.push_back(emitter.birth(n, 0, 24).droplet);
        return droplets;
    };
    for (const Droplet& d : births(e)) {
        EXPECT_EQ(d.x, e.center);
        EXPECT_GE(d.v.z(), std::cos(kPi / 6) - 1e-5);
        EXPECT_NEAR(d.v.norm(), 1, 1e-5);
        EXPECT_TRUE(d.radius >= 0.499e-3f && d.radius <= 1.501e-3f);
    }
    e.from = EmitterParams::From::disc;
    double within_half = 0;
    for (const Droplet& d : births(e)) {
        EXPECT_NEAR(d.x.z(), 3, 1e-5);
        const double away = (d.x - e.center).norm();
        EXPECT_LE(away, 0.5 + 1e-5);
        within_half += away < 0.5 * std::sqrt(0.5);
    }
    EXPECT_NEAR(within_half / 4000, 0.5, 0.04); // half of the area
    e.from = EmitterParams::From::curve, e.points = {{0, 0, 0}, {1, 0, 0}, {1, 3, 0}};
    double on_first = 0;
    for (const Droplet& d : births(e)) {
        EXPECT_TRUE((d.x.y() == 0 && d.x.x() <= 1) || d.x.x() == 1);
        on_first += d.x.y() == 0;
    }
    EXPECT_NEAR(on_first / 4000, 0.25, 0.03); // by length
    e.from = EmitterParams::From::surface, e.shape = ShapeParams::Kind::sphere, e.direction = Vec3f::Zero(),
    e.spread = 0;
    Vec3d mean = Vec3d::Zero();
    for (const Droplet& d : births(e)) {
        EXPECT_NEAR((d.x - e.center).norm(), 0.5, 0.01);
        EXPECT_GT(d.v.dot(d.x - e.center), 0.49f); // outwards
        mean += (d.x - e.center).cast<double>() / 4000;
    }
    EXPECT_LT(mean.norm(), 0.03);
}

TEST(SprayEmission, DirectionsTurnWithTheEmitter)
{
    EmitterParams e;
    e.rate = 2400, e.rotate = {{0, 0, 0, 1, 0}, {2, 0, 0, 1, 90}, {4, 0, 0, 1, 90}}; // from +y to -x
    for (const auto from : {EmitterParams::From::disc, EmitterParams::From::surface}) {
        e.from = from, e.first_frame = 2, e.inherit = 0;
        const auto spray = started_spray(emitting(e));
        for (int frame = 0; frame < 4; ++frame) spray->advance();
        ASSERT_EQ(spray->particles().size(), 200u);
        for (const Vec3f& v : spray->particles().v) EXPECT_LT((v - Vec3f(-1, 0, 0)).norm(), 1e-4f);
    }
}

TEST(SprayEmission, DropletsInheritTheEmittersVelocity)
{
    EmitterParams e;
    e.rate = 2400, e.speed = 0, e.translate = {{0, 0, 0, 0}, {24, 3, 0, 0}}; // 3 m/s
    for (const auto from : {EmitterParams::From::point, EmitterParams::From::surface}) {
        e.from = from, e.min = Vec3f::Constant(-1e-4f), e.max = Vec3f::Constant(1e-4f);
        const auto spray = started_spray(emitting(e));
        for (int frame = 0; frame < 6; ++frame) spray->advance();
        for (size_t i = 0; i < spray->particles().size(); ++i) {
            EXPECT_NEAR(spray->particles().v[i].x(), 3, 1e-4);
            EXPECT_NEAR(spray->particles().P[i].x(), 0.75, 1e-3); // all still at the emitter
        }
    }
}

} // namespace

} // namespace spindrift
