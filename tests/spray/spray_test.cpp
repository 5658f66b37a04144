#include "spray/sprays.h"

#include "spindrift/base/error.h"
#include "spindrift/spray/air.h"

#include <set>

namespace spindrift {

namespace {

// Dense, without gravity and drag, so that only collisions happen.
SprayParams free_droplets()
{
    SprayParams params;
    params.gravity = Vec3f::Zero(), params.drag = 0;
    return params;
}

EmitterParams jet(float rate)
{
    EmitterParams e;
    e.from = EmitterParams::From::disc;
    e.radius = 0.03f, e.rate = rate, e.speed = 5, e.speed_variation = 0.1f, e.spread = 5;
    e.droplet_variation = 0.6f;
    return e;
}

TEST(Spray, ManyCollisionsConserveMassAndMomentum)
{
    const Particles droplets = random_droplets(20000, 0.1f, 2, 2e-3f, 2, 1);
    const auto spray = started_spray(free_droplets(), droplets);
    const double volume = volume_of(droplets);
    double momenta = 0;
    for (size_t i = 0; i < droplets.size(); ++i)
        momenta += 4 * kPi / 3 * std::pow(static_cast<double>(radii_of(droplets)[i]), 3) * droplets.v[i].norm();
    std::array<size_t, 4> met{};
    for (int frame = 0; frame < 8; ++frame) {
        const SprayReport report = spray->advance();
        for (size_t o = 0; o < met.size(); ++o) met[o] += report.collisions[o];
        EXPECT_NEAR(volume_of(spray->particles()) / volume, 1, 1e-5);
        EXPECT_LT((momentum_of(spray->particles()) - momentum_of(droplets)).norm(), 1e-5 * momenta);
    }
    for (const Outcome o : {Outcome::coalescence, Outcome::stretching, Outcome::reflexive})
        EXPECT_GT(met[static_cast<size_t>(o)], 300u) << static_cast<int>(o);
}

TEST(Spray, HooksRunWhereTheirNamesSay)
{
    SprayParams params;
    params.drag = 0;
    const auto spray = started_spray(params, one_droplet({0, 5, 0}, {1, 0, 0}, 1e-3f));
    Vec3f place = spray->particles().P[0];
    int steps = 0;
    const auto after_forces = [&](Particles& droplets, float, float dt) {
        EXPECT_LT((droplets.P[0] - place).norm(), 1e-6f) << "nothing has moved yet";
        EXPECT_NEAR(droplets.v[0].y(), dt * params.gravity.y(), 1e-4f) << "gravity of this step";
        droplets.v[0] = Vec3f(1, 0, 0);
    };
    const auto after_advection = [&](Particles& droplets, float, float dt) {
        place += Vec3f(dt, 0, 0), ++steps;
        EXPECT_LT((droplets.P[0] - place).norm(), 1e-6f) << "moved by what after_forces left";
        place.z() += 0.5f, droplets.P[0] = place;
    };
    spray->set_hooks({after_forces, after_advection});
    for (int frame = 0; frame < 3; ++frame) spray->advance();
    EXPECT_EQ(steps, 3 * params.substeps);
    EXPECT_LT((spray->particles().P[0] - place).norm(), 1e-6f);
}

TEST(Spray, SameBitsForAnyNumberOfThreads)
{
    SprayParams params;
    params.emitters = {jet(200000), jet(50000)};
    params.emitters[1].direction = Vec3f(1, 0.2f, 0), params.perturbation = 0.1f, params.gusts.strength = 1;
    params.emitters[1].translate = {{0, 0, 0, 0}, {4, 0.1f, 0, 0}};
    SprayColliderParams floor;
    floor.min = Vec3f(-1, -0.2f, -1), floor.max = Vec3f(0.2f, -0.01f, 1);
    params.colliders = {floor};
    const auto run = [&](int threads) {
        return with_threads(threads, [&] {
            const auto spray = started_spray(params, random_droplets(20000, 0.15f, 2, 2e-3f, 20, 1));
            for (int frame = 0; frame < 3; ++frame) spray->advance();
            return spray->particles();
        });
    };
    const Particles one = run(1);
    std::set<int32_t> ids(one.id.begin(), one.id.end());
    EXPECT_EQ(ids.size(), one.size());
    for (const int threads : {2, 3}) EXPECT_TRUE(same_bits(one, run(threads))) << threads << " threads";
}

TEST(Spray, ResumeFromAStateIsBitIdentical)
{
    SprayParams params;
    params.emitters = {jet(100000)};
    const auto through = started_spray(params), other = make_spray(params);
    for (int frame = 0; frame < 3; ++frame) through->advance();
    other->start(99);
    other->restore(through->state());
    for (int frame = 0; frame < 2; ++frame) through->advance(), other->advance();
    EXPECT_EQ(other->frame(), 5);
    EXPECT_TRUE(same_bits(through->particles(), other->particles()));
}

// Droplets that collided have their cooldown set in this substep.
TEST(Spray, NoDropletCollidesTwiceWithinTheRestTime)
{
    SprayParams params = free_droplets();
    params.substeps = 1, params.rest_time = 3.5f / 48;
    const auto spray = started_spray(params, random_droplets(20000, 0.1f, 2, 2e-3f, 3, 2), 48);
    std::map<int32_t, int> last; // frame of a droplet's last collision
    size_t collisions = 0;
    for (int frame = 1; frame <= 12; ++frame) {
        spray->advance();
        const std::vector<float>& rest = *spray->particles().find<float>(kRestAttribute);
        for (size_t i = 0; i < rest.size(); ++i) {
            if (rest[i] <= params.rest_time) continue; // counts from the end of the step
            const int32_t id = spray->particles().id[i];
            if (const auto before = last.find(id); before != last.end()) {
                EXPECT_GE(frame - before->second - 1, 3.5f);
                ++collisions;
            }
            last[id] = frame;
        }
    }
    EXPECT_GT(collisions, 100u);
}

TEST(Spray, RadiiStayInTheirRange)
{
    SprayParams params = free_droplets();
    params.min_radius = 5e-4f, params.max_radius = 2.5e-3f, params.rest_time = 0;
    const auto spray =
        started_spray(params, random_droplets(10000, 0.1f, 3, 4e-3f, 100, 4)); // below and above the range
    for (int frame = 0; frame < 10; ++frame) {
        spray->advance();
        for (const float r : radii_of(spray->particles())) ASSERT_TRUE(r >= 5e-4f && r <= 2.5e-3f) << r;
    }
}

void expect_finite(const Particles& p)
{
    for (size_t i = 0; i < p.size(); ++i)
        ASSERT_TRUE(p.P[i].allFinite() && p.v[i].allFinite() && std::isfinite(radii_of(p)[i])) << i;
}

TEST(Spray, DegenerateDropletsStayFinite)
{
    for (const SprayParams::Drag law : {SprayParams::Drag::newton, SprayParams::Drag::stokes}) {
        SprayParams params;
        params.drag_law = law, params.gusts.strength = 1;
        started_spray(params)->advance(); // no droplets
        started_spray(params, one_droplet(Vec3f(0, 0, 0), Vec3f(0, 0, 0), 0))->advance();
        Particles p = random_droplets(3000, 0.02f, 1, 1e-3f, 1e4f, 5);
        std::vector<float>& radius = p.attribute<float>(kRadiusAttribute);
        for (size_t i = 0; i < 500; ++i) p.P[i] = Vec3f(0.01f, 0, 0), p.v[i] = Vec3f(1, 0, 0); // identical
        for (size_t i = 500; i < 900; ++i) p.P[i] = Vec3f(0, 0.01f, 0);                        // at one place
        for (size_t i = 900; i < 1000; ++i) radius[i] = 0;
        p.v[1000] = Vec3f(1e37f, -1e38f, 1), p.v[1001] = Vec3f(1e18f, 0, 0), p.v[1002] = Vec3f(1e5f, 0, 0);
        p.P[1003] = Vec3f(1e38f, 0, 0), p.P[1004] = Vec3f(9e5f, 9e5f, 0);
        const auto spray = started_spray(params, p);
        for (int frame = 0; frame < 5; ++frame) {
            spray->advance();
            expect_finite(spray->particles());
        }
        EXPECT_GT(spray->particles().size(), 1000u);
    }
}

TEST(Spray, AMillionDropletsInOnePlaceTakeLinearTime)
{
    // Each droplet tests a bounded number of others; without the bound this test would take hours.
    SprayParams params = free_droplets();
    params.substeps = 1;
    Particles p = random_droplets(1000000, 0, 1, 1e-3f, 1, 6);
    const auto spray = started_spray(params, std::move(p));
    const SprayReport report = spray->advance();
    EXPECT_GT(report.collisions[1] + report.collisions[2] + report.collisions[3], 0u);
    expect_finite(spray->particles());
}

TEST(Spray, SatellitesStoreTheIdOfTheirParent)
{
    SprayParams params = free_droplets();
    params.substeps = 1;
    const auto spray = started_spray(params, random_droplets(20000, 0.1f, 3, 2e-3f, 1, 7));
    const SprayReport report = spray->advance();
    size_t satellites = 0;
    const std::vector<int32_t>& parent = *spray->particles().find<int32_t>(kParentAttribute);
    const std::vector<int32_t>& outcome = *spray->particles().find<int32_t>(kOutcomeAttribute);
    for (size_t i = 0; i < parent.size(); ++i) {
        if (spray->particles().id[i] < 20000) {
            EXPECT_EQ(parent[i], -1);
            continue;
        }
        ++satellites;
        EXPECT_GE(parent[i], 0);
        EXPECT_LT(parent[i], 20000);
        EXPECT_GE(outcome[i], static_cast<int32_t>(Outcome::stretching));
    }
    EXPECT_EQ(satellites, report.satellites);
    EXPECT_GT(satellites, 100u);
}

TEST(Spray, AddRefusesDropletsThatAreNotFinite)
{
    const auto spray = started_spray(free_droplets());
    EXPECT_THROW(spray->add(one_droplet(Vec3f(0, NAN, 0), Vec3f::Zero(), 1e-3f)), Error);
    Particles without;
    without.resize(1);
    EXPECT_THROW(spray->add(without), Error);
    spray->add(random_droplets(5, 1, 1, 1e-3f, 1, 1));
    spray->add(random_droplets(5, 1, 1, 1e-3f, 1, 2));
    for (int32_t i = 0; i < 10; ++i) EXPECT_EQ(spray->particles().id[static_cast<size_t>(i)], i);
}

// Two droplets that fly towards each other and merge.
TEST(Spray, AMergedDropletIsWhereItsParentsWouldHaveMet)
{
    SprayParams params = free_droplets();
    params.substeps = 1;
    Particles p = one_droplet(Vec3f(-5e-3f, 0, 0), Vec3f(0.2f, 1, 0), 1e-3f);
    p.resize(2);
    p.P[1] = Vec3f(5e-3f, 0, 0), p.v[1] = Vec3f(-0.2f, 1, 0), p.attribute<float>(kRadiusAttribute)[1] = 1e-3f;
    const auto spray = started_spray(params, p, 24); // they touch after 0.02 s; the deepest overlap is after 0.025 s
    spray->advance();
    ASSERT_EQ(spray->particles().size(), 1u);
    EXPECT_NEAR(spray->particles().P[0].x(), 0, 1e-7);
    EXPECT_NEAR(spray->particles().P[0].y(), 1.0 / 24, 1e-6); // the whole step, as without a collision
    EXPECT_NEAR(radii_of(spray->particles())[0], 1e-3 * std::cbrt(2.0), 1e-9);
}

// [Jones 2018, figure 4.12 and table 4.2]: a geyser with low surface tension becomes a fine spray of more droplets than
// were emitted, one with high surface tension has fewer and larger ones.
TEST(Spray, SurfaceTensionDecidesBetweenMistAndLargeDroplets)
{
    SprayParams params;
    params.emitters = {jet(20000)};
    params.emitters[0].speed = 4, params.emitters[0].droplet_variation = 0, params.emitters[0].spread = 2;
    params.domain.min = Vec3f(-20, -1, -20), params.domain.max = Vec3f(20, 20, 20);
    struct After {
        double droplets;
        float median, largest;
    };
    const auto after = [&](float tension, bool collisions) {
        params.surface_tension = tension, params.collisions = collisions;
        const auto spray = started_spray(params);
        for (int frame = 0; frame < 36; ++frame) spray->advance();
        std::vector<float> radii = radii_of(spray->particles());
        std::sort(radii.begin(), radii.end());
        return After{static_cast<double>(radii.size()), radii[radii.size() / 2], radii[radii.size() * 99 / 100]};
    };
    const After alone = after(0.072f, false), mist = after(0.0072f, true), water = after(0.072f, true),
                syrup = after(0.72f, true);
    EXPECT_GT(mist.droplets, 2 * alone.droplets);
    EXPECT_GT(mist.droplets, 2 * water.droplets);
    EXPECT_GT(water.droplets, 1.5 * syrup.droplets);
    EXPECT_LT(syrup.droplets, 0.8 * alone.droplets);
    EXPECT_LT(mist.median, 0.5f * alone.median);
    EXPECT_GT(syrup.largest, 1.2f * water.largest);
    EXPECT_GT(water.largest, 1.1f * mist.largest);
}

// ---------------------------------------------------------------------------------------------------------------- air

TEST(SprayAir, StokesDragIsExact)
{
    const double drag = 1e-6, radius = 2e-4, rate = drag / (radius * radius), g = -9.81;
    for (const double time : {1e-6, 1e-3, 0.1, 10.0}) {
        const Vec3f v = after_drag(Vec3f(3, 4, 0), Vec3f(0, -9.81f, 0), Vec3f(1, 0, 2), 2e-4f, 1e-6f,
                                   SprayParams::Drag::stokes, static_cast<float>(time));
        const double left = std::exp(-rate * time);
        EXPECT_NEAR(v.x(), 1 + 2 * left, 1e-5);
        EXPECT_NEAR(v.y(), 4 * left + g / rate * (1 - left), 1e-5);
        EXPECT_NEAR(v.z(), 2 - 2 * left, 1e-5);
    }
}

TEST(SprayAir, NewtonDragIsExactWithoutGravity)
{
    // Without gravity |w| = w0 / (1 + k w0 t), in one step or in many.
    const float radius = 1e-3f, drag = 1e-3f;
    for (const int steps : {1, 10, 1000}) {
        Vec3f v(20, 0, 0);
        for (int s = 0; s < steps; ++s)
            v = after_drag(v, Vec3f::Zero(), Vec3f::Zero(), radius, drag, SprayParams::Drag::newton,
                           2.0f / static_cast<float>(steps));
        EXPECT_NEAR(v.x(), 20 / (1 + 1 * 20 * 2.0), 1e-4);
    }
}

// From rest, v = v_t tanh(g t / v_t) with v_t = sqrt(g r / drag) for Newton's drag.
TEST(SprayAir, ADropletReachesItsTerminalVelocity)
{
    for (const float radius : {5e-5f, 1e-3f, 1e-2f}) {
        SprayParams params;
        params.drag = 1e-4f;
        const auto spray = started_spray(params, one_droplet(Vec3f(0, 0, 0), Vec3f(0, 0, 0), radius));
        const double terminal = std::sqrt(9.81 * static_cast<double>(radius) / 1e-4);
        for (int frame = 1; frame <= 120; ++frame) {
            spray->advance();
            const double exact = terminal * std::tanh(9.81 * frame / 24 / terminal);
            EXPECT_NEAR(-spray->particles().v[0].y(), exact, 0.002 * terminal) << radius << ", frame " << frame;
        }
    }
    SprayParams mist;
    mist.drag = 1e-7f, mist.drag_law = SprayParams::Drag::stokes, mist.wind = Vec3f(2, 0, 0);
    const auto spray = started_spray(mist, one_droplet(Vec3f(0, 0, 0), Vec3f(0, 0, 0), 1e-4f));
    for (int frame = 0; frame < 48; ++frame) spray->advance();
    EXPECT_NEAR(spray->particles().v[0].y(), -9.81 * 1e-8 / 1e-7, 1e-4);
    EXPECT_NEAR(spray->particles().v[0].x(), 2, 1e-4);
}

TEST(SprayAir, AnAirFieldCarriesDropletsAlong)
{
    SprayParams params = free_droplets();
    params.drag = 1, params.drag_law = SprayParams::Drag::stokes, params.collisions = false;
    const auto spray = started_spray(params, random_droplets(10000, 1, 1, 1e-3f, 1, 3));
    spray->set_air([](float frame, std::span<const Vec3f> x, std::span<Vec3f> air) {
        ASSERT_EQ(x.size(), air.size());
        for (size_t i = 0; i < x.size(); ++i) air[i] += Vec3f(-x[i].y(), x[i].x(), frame > 2.4f ? 1.0f : 0.0f);
    });
    for (int frame = 0; frame < 2; ++frame) spray->advance();
    for (size_t i = 0; i < 10000; ++i) ASSERT_NEAR(spray->particles().v[i].z(), 0, 1e-5);
    spray->advance();
    for (size_t i = 0; i < 10000; ++i) {
        const Vec3f &x = spray->particles().P[i], &v = spray->particles().v[i];
        ASSERT_NEAR(v.z(), 1, 1e-5);
        ASSERT_NEAR(v.x(), -x.y(), 0.1);
    }
}

TEST(SprayAir, AnAirFieldOfNaNsIsIgnored)
{
    const auto spray = started_spray(SprayParams(), random_droplets(3000, 0.05f, 1, 1e-3f, 1, 3));
    spray->set_air([](float, std::span<const Vec3f>, std::span<Vec3f> air) {
        for (size_t i = 0; i < air.size(); ++i) air[i].x() = i % 2 ? NAN : kInfinity;
    });
    for (int frame = 0; frame < 3; ++frame) spray->advance();
    EXPECT_GT(spray->particles().size(), 2000u);
    expect_finite(spray->particles());
}

} // namespace

} // namespace spindrift
