#include "spindrift/liquid/liquid.h"

#include "base/determinism.h"
#include "liquid/scenes.h"

#include <gtest/gtest.h>
#include <map>

namespace spindrift {
namespace {

constexpr float kGravity = 9.81f;

// Motion of a liquid that should be at rest: the largest kinetic energy of any frame over 2 s, relative to what it
// would gain by falling its own depth.
double largest_motion(Liquid& liquid, float depth)
{
    double worst = 0;
    for (int frame = 0; frame < 48; ++frame) {
        liquid.advance();
        worst = std::max(worst, kinetic_energy(liquid.particles()) / static_cast<double>(kGravity * depth));
    }
    return worst;
}

TEST(Liquid, StillWaterStaysStillInABox)
{
    for (const Transfer transfer : {Transfer::flip, Transfer::apic}) {
        LiquidParams p;
        p.voxel = 1.0f / 24, p.transfer = transfer;
        p.domain = closed_domain(Vec3f(0, 0, 0), Vec3f(1, 1, 1));
        p.sources = {pool_source(0.5f)};
        const auto liquid = started_liquid(p);
        const size_t count = liquid->particles().size();
        const double height = mean_height(liquid->particles()), motion = largest_motion(*liquid, 0.5f);
        std::printf("still water in a box, %s: energy %.2e of g H\n", transfer == Transfer::flip ? "FLIP" : "APIC",
                    motion);
        EXPECT_LT(motion, 1e-5);
        EXPECT_EQ(liquid->particles().size(), count);
        EXPECT_NEAR(mean_height(liquid->particles()), height, 0.02 * static_cast<double>(p.voxel));
    }
}

TEST(Liquid, StillWaterStaysStillInATiltedBox)
{
    for (const Transfer transfer : {Transfer::flip, Transfer::apic}) {
        LiquidParams p;
        p.voxel = 1.0f / 24, p.transfer = transfer;
        p.domain = closed_domain(Vec3f(-1, -1, -1), Vec3f(2, 2, 2));
        p.sources = {pool_source(0.5f)};
        ColliderParams box;
        box.min = Vec3f(0, 0, 0), box.max = Vec3f(1, 1, 1), box.invert = true;
        box.rotate = {{0, 0, 0, 1, 20}};
        p.colliders = {box};
        const auto liquid = started_liquid(p);
        const double height = mean_height(liquid->particles()), motion = largest_motion(*liquid, 0.64f);
        std::printf("still water in a tilted box, %s: energy %.2e of g H\n",
                    transfer == Transfer::flip ? "FLIP" : "APIC", motion);
        EXPECT_LT(motion, 1e-5);
        EXPECT_NEAR(mean_height(liquid->particles()), height, 0.1 * static_cast<double>(p.voxel));
    }
}

TEST(Liquid, BlockInFreeFallFollowsGravityExactly)
{
    for (const Transfer transfer : {Transfer::pic, Transfer::flip, Transfer::apic}) {
        LiquidParams p;
        p.voxel = 1.0f / 16, p.transfer = transfer;
        p.gravity = Vec3f(1, -9.81f, -2);
        p.keep_volume = false; // it would even out the jitter of the particles
        SourceParams block = box_source(Vec3f(-0.25f, 0, -0.25f), Vec3f(0.25f, 0.5f, 0.25f));
        block.velocity = Vec3f(1, 2, -0.5f);
        p.sources = {block};
        const auto liquid = started_liquid(p);
        const Particles start = liquid->particles();
        ASSERT_EQ(start.size(), 8u * 8 * 8 * 8);
        for (int frame = 0; frame < 12; ++frame) liquid->advance();
        const Particles& end = liquid->particles();
        ASSERT_EQ(end.size(), start.size());
        const float t = 12 / kFps;
        const Vec3f v = block.velocity + t * p.gravity;
        // A step moves particles with the velocity at its end; the error depends on the number of steps.
        Vec3f low = Vec3f::Constant(kInfinity), high = -low;
        for (size_t i = 0; i < end.size(); ++i) {
            ASSERT_LT((end.v[i] - v).norm(), 1e-4f * v.norm());
            const Vec3f moved = end.P[i] - start.P[end.id[i]];
            low = low.cwiseMin(moved), high = high.cwiseMax(moved);
        }
        EXPECT_LT((high - low).maxCoeff(), 1e-4f) << "the block did not keep its shape";
        const Vec3f exact = t * block.velocity + 0.5f * t * t * p.gravity, step = 0.5f / kFps * t * p.gravity;
        EXPECT_LE(((low - exact).cwiseAbs() - step.cwiseAbs()).maxCoeff(), 1e-4f);
    }
}

void expect_inside(const Particles& particles, const DomainParams& domain, const Solids& solids)
{
    size_t in_solids = 0, outside = 0;
    for (const Vec3f& x : particles.P) {
        ASSERT_TRUE(x.allFinite());
        outside += !Box3f{*domain.min, *domain.max}.contains(x);
        in_solids += solids.distance(x) < 0;
    }
    EXPECT_EQ(outside, 0u);
    EXPECT_EQ(in_solids, 0u);
}

TEST(Liquid, DropFallsBallisticallyAndJoinsAPool)
{
    LiquidParams p;
    p.voxel = 1.0f / 16;
    p.domain = closed_domain(Vec3f(0, 0, 0), Vec3f(1, 2, 1));
    p.sources = {pool_source(0.5f)};
    const auto liquid = started_liquid(p);
    // One hovers just above the surface, one falls so fast that it would cross the pool in a step.
    Liquid::State state = liquid->state();
    const size_t first = state.particles.size();
    state.particles.resize(first + 2);
    state.particles.P[first] = Vec3f(0.3f, 0.56f, 0.5f), state.particles.id[first] = state.next_id++;
    state.particles.P[first + 1] = Vec3f(0.7f, 1.9f, 0.5f), state.particles.id[first + 1] = state.next_id++;
    state.particles.v[first + 1] = Vec3f(0, -40, 0);
    const int hovering = state.particles.id[first], fast = state.particles.id[first + 1];
    liquid->restore(std::move(state));
    const auto height = [&](int id) {
        const Particles& all = liquid->particles();
        const auto at = static_cast<size_t>(std::find(all.id.begin(), all.id.end(), id) - all.id.begin());
        return all.P[at].y();
    };
    liquid->advance();
    EXPECT_NEAR(height(fast), 0.5f, 0.1f) << "stopped at the surface";
    for (int frame = 0; frame < 23; ++frame) liquid->advance();
    EXPECT_LT(height(hovering), 0.53f);
}

// The pressure in a column of width a and height h that is free at its top and at x = a, and stands against a wall at x
// = 0, solves Laplace's equation; a cosine series along x satisfies all conditions.
Vec3d acceleration_of_a_column(double a, double h, double x, double y)
{
    constexpr double g = 9.81;
    Vec3d sum(0, -g, 0);
    for (int n = 0; n < 200; ++n) {
        const double k = (n + 0.5) * kPi / a, weight = 2 * g * (n % 2 ? -1 : 1) / (k * a);
        const double fade = std::exp(-k * y), mirrored = std::exp(-2 * k * (h - y)), whole = 1 + std::exp(-2 * k * h);
        sum.x() += weight * std::sin(k * x) * fade * (1 - mirrored) / whole;
        sum.y() += weight * std::cos(k * x) * fade * (1 + mirrored) / whole;
    }
    return sum;
}

TEST(Liquid, CollapsingColumnStartsWithTheAccelerationOfPotentialFlow)
{
    LiquidParams p;
    p.voxel = 1.0f / 24, p.tolerance = 1e-6f;
    p.domain = closed_domain(Vec3f(0, 0, 0), Vec3f(2, 3, 8 * p.voxel));
    p.sources = {box_source(Vec3f(0, 0, 0), Vec3f(1, 2, 8 * p.voxel))};
    for (const Transfer transfer : {Transfer::pic, Transfer::flip, Transfer::apic}) {
        p.transfer = transfer, p.flip = 1;
        std::vector<Shape> sources;
        for (const auto& s : p.sources) sources.emplace_back(s, "source");
        constexpr float fps = 10000;
        Liquid liquid(p, {std::move(sources), {}, {}}, fps);
        liquid.start(0);
        liquid.advance();
        double error = 0, size = 0, toe = 0, toe_exact = 0;
        const Particles& particles = liquid.particles();
        for (size_t i = 0; i < particles.size(); ++i) {
            const Vec3d exact = acceleration_of_a_column(1, 2, particles.P[i].x(), particles.P[i].y());
            const Vec3d found = particles.v[i].cast<double>() * fps;
            error += (found - exact).squaredNorm(), size += exact.squaredNorm();
            // The foot of the free side, where acceleration is largest; it is singular in the corner itself.
            if (particles.P[i].x() > 0.9f && particles.P[i].y() > 0.1f && particles.P[i].y() < 0.3f)
                toe += found.x(), toe_exact += exact.x();
        }
        EXPECT_LT(std::sqrt(error / size), 0.03) << static_cast<int>(transfer);
        EXPECT_NEAR(toe / toe_exact, 1, 0.02) << static_cast<int>(transfer);
    }
}

TEST(Liquid, SloshingLosesLittleVolumeWithoutCorrection)
{
    LiquidParams p = dam_break(24);
    p.keep_volume = false;
    const auto liquid = started_liquid(p);
    for (int frame = 0; frame < 96; ++frame) liquid->advance();
    // Particles in cells with liquid above them.
    std::map<std::array<int, 3>, int> count;
    for (const Vec3f& x : liquid->particles().P) {
        const Vec3i c = cell_of(x, 1 / p.voxel);
        ++count[{c.x(), c.y(), c.z()}];
    }
    double sum = 0, cells = 0;
    for (const auto& [c, n] : count)
        if (count.contains({c[0], c[1] + 1, c[2]}) && count.contains({c[0], c[1] + 2, c[2]})) sum += n, ++cells;
    EXPECT_LT(sum / cells, 1.4 * 8); // twice as many without close_surface()
}

TEST(Liquid, DamBreakKeepsAllParticlesInside)
{
    LiquidParams p = dam_break(24);
    const auto liquid = started_liquid(p);
    const size_t count = liquid->particles().size();
    EXPECT_NEAR(static_cast<double>(count) * liquid->particle_volume(), 0.24, 0.002);
    const Solids solids(p.domain, {}, kFps);
    float farthest = 0;
    for (int frame = 1; frame <= 36; ++frame) {
        const LiquidReport report = liquid->advance();
        EXPECT_EQ(liquid->frame(), frame);
        EXPECT_EQ(report.particles, count);
        ASSERT_EQ(liquid->particles().size(), count);
        expect_inside(liquid->particles(), p.domain, solids);
        for (const Vec3f& x : liquid->particles().P) farthest = std::max(farthest, x.x());
    }
    EXPECT_GT(farthest, 0.99f) << "the wave did not reach the far wall";
    // Energy only decreases: at the start the water stands 0.6 m high.
    const double energy =
        kinetic_energy(liquid->particles()) + static_cast<double>(kGravity) * mean_height(liquid->particles());
    EXPECT_LT(energy, static_cast<double>(kGravity) * 0.3);
    std::vector<int32_t> ids = liquid->particles().id;
    std::sort(ids.begin(), ids.end());
    for (size_t i = 0; i < ids.size(); ++i) ASSERT_EQ(ids[i], static_cast<int32_t>(i));
}

TEST(Liquid, NoParticleEndsInASolid)
{
    LiquidParams p = dam_break(20);
    p.voxel = 0.05f;
    ColliderParams sphere, plane, box;
    sphere.shape = ShapeParams::Kind::sphere, sphere.center = Vec3f(0.6f, 0.15f, 0.4f), sphere.radius = 0.2f;
    plane.shape = ShapeParams::Kind::half_space, plane.point = Vec3f(0.5f, 0.05f, 0.5f),
    plane.normal = Vec3f(0.2f, 1, 0.1f);
    box.min = Vec3f(0.7f, 0, 0.7f), box.max = Vec3f(0.78f, 0.5f, 1);
    p.colliders = {sphere, plane, box};
    const auto liquid = started_liquid(p);
    const Solids solids(p.domain, shapes_of(p.colliders), kFps);
    for (int frame = 0; frame < 24; ++frame) {
        liquid->advance();
        expect_inside(liquid->particles(), p.domain, solids);
    }
}

TEST(Liquid, LiquidLeavesThroughAnOpenSide)
{
    LiquidParams p = dam_break(16);
    p.domain.x_max = DomainParams::Side::open;
    const auto liquid = started_liquid(p);
    const size_t count = liquid->particles().size();
    for (int frame = 0; frame < 48; ++frame) {
        liquid->advance();
        for (const Vec3f& x : liquid->particles().P) ASSERT_LE(x.x(), 1);
    }
    EXPECT_LT(liquid->particles().size(), count / 2);
}

TEST(Liquid, EmittedVolumeIsConserved)
{
    LiquidParams p;
    p.voxel = 1.0f / 20;
    p.domain = closed_domain(Vec3f(0, 0, 0), Vec3f(0.6f, 1, 0.6f));
    SourceParams tap = box_source(Vec3f(0.2f, 0.8f, 0.2f), Vec3f(0.4f, 0.9f, 0.4f));
    tap.mode = SourceParams::Mode::flow, tap.velocity = Vec3f(0, -2, 0);
    tap.first_frame = 0, tap.last_frame = 23;
    p.sources = {tap};
    const auto liquid = started_liquid(p);
    EXPECT_EQ(liquid->particles().size(), 0u);
    for (int frame = 0; frame < 24; ++frame) liquid->advance();
    const size_t poured = liquid->particles().size();
    const double volume = static_cast<double>(poured) * liquid->particle_volume();
    for (int frame = 0; frame < 360; ++frame) liquid->advance(); // until the sloshing has died down
    EXPECT_EQ(liquid->particles().size(), poured);
    const double height = 2 * mean_height(liquid->particles()), in_place = height * 0.36;
    std::printf("emitter: %.5f m3 went in, %.5f m3 stand there (%+.2f%%), energy %.1e of g H\n", volume, in_place,
                100 * (in_place / volume - 1),
                kinetic_energy(liquid->particles()) / (static_cast<double>(kGravity) * height));
    EXPECT_NEAR(in_place / volume, 1, 0.01);
}

TEST(Liquid, SourceEmitsItsVelocityTimesItsArea)
{
    for (const float cfl : {0.3f, 1.0f, 5.0f}) {
        LiquidParams p;
        p.voxel = 1.0f / 20, p.cfl = cfl, p.gravity = Vec3f(0, 0, 0);
        SourceParams tap = box_source(Vec3f(-0.1f, 0, -0.1f), Vec3f(0.1f, 0.1f, 0.1f));
        tap.mode = SourceParams::Mode::flow, tap.velocity = Vec3f(0, -2, 0);
        p.sources = {tap};
        const auto liquid = started_liquid(p);
        for (int frame = 0; frame < 24; ++frame) liquid->advance();
        // 0.04 m2 at 2 m/s for a second, and the source is full in the end.
        const double volume = static_cast<double>(liquid->particles().size()) * liquid->particle_volume();
        std::printf("poured out at a CFL of %.1f: %.4f m3 instead of 0.0840\n", static_cast<double>(cfl), volume);
        EXPECT_NEAR(volume, 0.084, 0.003) << "CFL " << cfl;
    }
}

TEST(Liquid, DropRaisesAPoolByItsVolume)
{
    LiquidParams p;
    p.voxel = 1.0f / 24;
    p.domain = closed_domain(Vec3f(0, 0, 0), Vec3f(0.5f, 1, 0.5f));
    SourceParams drop;
    drop.shape = ShapeParams::Kind::sphere, drop.center = Vec3f(0.25f, 0.6f, 0.25f), drop.radius = 0.15f;
    p.sources = {pool_source(0.3f), drop};
    const auto liquid = started_liquid(p);
    for (int frame = 0; frame < 96; ++frame) liquid->advance();
    const double volume = 0.25 * 0.3 + 4.0 / 3 * kPi * 0.15 * 0.15 * 0.15;
    EXPECT_NEAR(static_cast<double>(liquid->particles().size()) * liquid->particle_volume() / volume, 1, 0.01);
    EXPECT_NEAR(2 * mean_height(liquid->particles()) * 0.25 / volume, 1, 0.01);
}

TEST(Liquid, OverlappingSourcesFillSpaceOnce)
{
    LiquidParams p = dam_break(16);
    const size_t once = started_liquid(p)->particles().size();
    p.sources = {p.sources[0], box_source(Vec3f(0, 0, 0), Vec3f(0.2f, 0.5f, 0.5f)), p.sources[0]};
    EXPECT_EQ(started_liquid(p)->particles().size(), once);
}

// Angular velocity about the z axis through (0.5, 0.5) of the particles within a distance of it [rad/s]: angular
// momentum over moment of inertia.
double turning_speed(const Particles& particles, double within)
{
    double momentum = 0, inertia = 0;
    for (size_t i = 0; i < particles.size(); ++i) {
        const Vec3d x = particles.P[i].cast<double>() - Vec3d(0.5, 0.5, 0), v = particles.v[i].cast<double>();
        const double r2 = x.head<2>().squaredNorm();
        if (r2 > within * within) continue;
        momentum += x.x() * v.y() - x.y() * v.x(), inertia += r2;
    }
    return momentum / inertia;
}

struct Kept {
    double inside, all; // shares of the angular momentum
};

// The share of its spin that a disc of water without gravity, one voxel deep, in a round container keeps over one turn.
Kept kept_by_a_spinning_disc(Transfer transfer, float cfl)
{
    constexpr int cells = 64;
    const float voxel = 1.0f / cells, speed = 2 * static_cast<float>(kPi); // [rad/s]
    LiquidParams p;
    p.voxel = voxel, p.transfer = transfer, p.cfl = cfl, p.flip = 1, p.gravity = Vec3f(0, 0, 0);
    p.domain = closed_domain(Vec3f(0, 0, 0), Vec3f(1, 1, voxel));
    SourceParams disc;
    disc.shape = ShapeParams::Kind::sphere, disc.center = Vec3f(0.5f, 0.5f, 0.5f * voxel), disc.radius = 0.4f;
    p.sources = {disc};
    ColliderParams container;
    container.shape = disc.shape, container.center = disc.center, container.radius = disc.radius;
    container.invert = true;
    p.colliders = {container};
    const auto liquid = started_liquid(p);
    Liquid::State state = liquid->state();
    for (size_t i = 0; i < state.particles.size(); ++i) {
        const Vec3f x = state.particles.P[i] - disc.center;
        state.particles.v[i] = speed * Vec3f(-x.y(), x.x(), 0);
    }
    if (transfer == Transfer::apic) {
        for (Vec3f& row : state.particles.attribute<Vec3f>(kAffine[0])) row = Vec3f(0, -speed, 0);
        for (Vec3f& row : state.particles.attribute<Vec3f>(kAffine[1])) row = Vec3f(speed, 0, 0);
    }
    const double before = turning_speed(state.particles, 1);
    EXPECT_NEAR(before, speed, 1e-3);
    liquid->restore(std::move(state));
    for (int frame = 0; frame < 24; ++frame) liquid->advance();
    return {turning_speed(liquid->particles(), 0.3) / before, turning_speed(liquid->particles(), 1) / before};
}

TEST(Liquid, ApicAndFlipConserveTheSpinOfADiscAndPicDoesNot)
{
    // Advecting before projecting costs a factor of cos(angle) in every step, for any transfer: short steps isolate the
    // loss of the transfer itself. The wall slows the liquid near it, so only the inner part is compared.
    std::map<Transfer, Kept> kept;
    for (const float cfl : {5.0f, 0.5f}) {
        for (const Transfer transfer : {Transfer::pic, Transfer::flip, Transfer::apic})
            kept[transfer] = kept_by_a_spinning_disc(transfer, cfl);
        std::printf(
            "angular momentum after one turn, CFL %.1f: PIC %.3f, FLIP %.3f, APIC %.3f; with what is near the wall: "
            "%.3f, %.3f, %.3f\n",
            static_cast<double>(cfl), kept[Transfer::pic].inside, kept[Transfer::flip].inside,
            kept[Transfer::apic].inside, kept[Transfer::pic].all, kept[Transfer::flip].all, kept[Transfer::apic].all);
    }
    for (const Transfer transfer : {Transfer::flip, Transfer::apic}) {
        EXPECT_GT(kept[transfer].inside, 0.9);
        EXPECT_LT(kept[transfer].inside, 1.01);
        EXPECT_GT(kept[transfer].all, 0.8);
        EXPECT_LT(kept[Transfer::pic].inside, kept[transfer].inside - 0.1);
        EXPECT_LT(kept[Transfer::pic].all, kept[transfer].all - 0.1);
    }
}

// A ball that keyframes push through a pool.
LiquidParams stirred_pool(int cells)
{
    LiquidParams p;
    p.voxel = 1.0f / static_cast<float>(cells);
    p.domain = closed_domain(Vec3f(0, 0, 0), Vec3f(1, 1, 0.5f));
    p.sources = {pool_source(0.4f)};
    ColliderParams ball;
    ball.shape = ShapeParams::Kind::sphere, ball.center = Vec3f(0.25f, 0.25f, 0.25f), ball.radius = 0.12f;
    ball.translate = {{0, 0, 0, 0}, {12, 0.5f, 0, 0}, {18, 0.5f, 0.4f, 0}};
    p.colliders = {ball};
    return p;
}

TEST(Liquid, NoParticleEntersAMovingCollider)
{
    const LiquidParams p = stirred_pool(24);
    const auto liquid = started_liquid(p);
    const size_t count = liquid->particles().size();
    Solids solids(p.domain, shapes_of(p.colliders), kFps);
    for (int frame = 1; frame <= 24; ++frame) {
        liquid->advance();
        ASSERT_EQ(liquid->particles().size(), count);
        solids.set_frame(static_cast<float>(frame));
        expect_inside(liquid->particles(), p.domain, solids);
    }
}

TEST(Liquid, FastCollidersAndSourcesShortenTheStepLikeFastLiquid)
{
    LiquidParams p;
    p.voxel = 1.0f / 16;
    p.domain = closed_domain(Vec3f(0, 0, 0), Vec3f(4, 1, 0.5f));
    p.sources = {pool_source(0.25f)};
    ColliderParams ball;
    ball.shape = ShapeParams::Kind::sphere, ball.center = Vec3f(0.5f, 0.2f, 0.25f), ball.radius = 0.15f;
    ball.translate = {{0, 0, 0, 0}, {2, 2, 0, 0}}; // a metre, 16 cells, in each frame
    p.colliders = {ball};
    EXPECT_GE(started_liquid(p)->advance().substeps, 4);

    SourceParams jet = box_source(Vec3f(0.1f, 0.5f, 0.1f), Vec3f(0.3f, 0.7f, 0.3f));
    jet.mode = SourceParams::Mode::flow, jet.velocity = Vec3f(24, 0, 0);
    p.sources = {jet}, p.colliders = {};
    EXPECT_GE(started_liquid(p)->advance().substeps, 4);
}

TEST(Liquid, FlowAroundAMovingBallIsPotentialFlow)
{
    // A ball that moves along x at 1 m/s carries the water in front of it along and sends the water beside it back; far
    // from walls, u_x = (R / r)^3 (3 cos^2 - 1) / 2.
    const float radius = 0.1f;
    LiquidParams p;
    p.voxel = 1.0f / 32, p.cfl = 0.3f;
    p.domain = closed_domain(Vec3f(0, 0, 0), Vec3f(1, 1, 1));
    p.sources = {pool_source(0.7f)};
    ColliderParams ball;
    ball.shape = ShapeParams::Kind::sphere, ball.center = Vec3f(0.4f, 0.35f, 0.5f), ball.radius = radius;
    ball.translate = {{0, 0, 0, 0}, {24, 1, 0, 0}};
    p.colliders = {ball};
    const auto liquid = started_liquid(p);
    for (int frame = 0; frame < 2; ++frame) liquid->advance();
    const Vec3f center = ball.center + Vec3f(2 / kFps, 0, 0);
    struct Mean {
        double measured = 0, ideal = 0, count = 0;
    } ahead, beside;
    const Particles& particles = liquid->particles();
    for (size_t i = 0; i < particles.size(); ++i) {
        const Vec3f d = particles.P[i] - center;
        const float r = d.norm(), cosine = d.x() / r;
        if (r > 2 * radius) continue;
        Mean* mean = cosine > 0.9f ? &ahead : std::abs(cosine) < 0.3f ? &beside : nullptr;
        if (!mean) continue;
        mean->measured += particles.v[i].x();
        mean->ideal += std::pow(radius / r, 3) * (3 * cosine * cosine - 1) / 2;
        mean->count += 1;
    }
    std::printf("velocity ahead of a ball: %.3f, ideal %.3f; beside it: %.3f, ideal %.3f\n",
                ahead.measured / ahead.count, ahead.ideal / ahead.count, beside.measured / beside.count,
                beside.ideal / beside.count);
    ASSERT_GT(ahead.count, 100);
    ASSERT_GT(beside.count, 100);
    EXPECT_NEAR(ahead.measured / ahead.ideal, 1, 0.2);
    EXPECT_NEAR(beside.measured / beside.ideal, 1, 0.2);
}

TEST(Liquid, BitIdenticalForAnyNumberOfThreads)
{
    for (const Transfer transfer : {Transfer::flip, Transfer::apic}) {
        const auto run = [&](int threads) {
            return with_threads(threads, [&] {
                LiquidParams p = stirred_pool(16);
                p.transfer = transfer;
                p.sources.push_back(box_source(Vec3f(0.6f, 0.5f, 0), Vec3f(0.8f, 0.8f, 0.3f)));
                SourceParams tap = box_source(Vec3f(0.1f, 0.6f, 0.1f), Vec3f(0.3f, 0.7f, 0.3f));
                tap.mode = SourceParams::Mode::flow, tap.velocity = Vec3f(1, -1, 0);
                p.sources.push_back(tap);
                const auto liquid = started_liquid(p);
                for (int frame = 0; frame < 12; ++frame) liquid->advance();
                return liquid->particles();
            });
        };
        const Particles one = run(1);
        EXPECT_GT(one.size(), 5000u);
        for (const int threads : {2, 7}) EXPECT_TRUE(same_bits(one, run(threads))) << threads << " threads";
    }
}

TEST(Liquid, ResumeFromStateIsBitIdentical)
{
    for (const Transfer transfer : {Transfer::pic, Transfer::flip, Transfer::apic}) {
        LiquidParams p = stirred_pool(16);
        p.transfer = transfer;
        SourceParams tap = box_source(Vec3f(0.1f, 0.6f, 0.1f), Vec3f(0.3f, 0.7f, 0.3f));
        tap.mode = SourceParams::Mode::flow, tap.velocity = Vec3f(1, -1, 0);
        p.sources.push_back(tap);
        const auto whole = started_liquid(p, 3);
        for (int frame = 3; frame < 9; ++frame) whole->advance();
        const Liquid::State state = whole->state();
        const auto resumed = make_liquid(p);
        resumed->restore(state);
        for (int frame = 9; frame < 15; ++frame) whole->advance(), resumed->advance();
        EXPECT_EQ(resumed->frame(), whole->frame());
        EXPECT_EQ(resumed->state().next_id, whole->state().next_id);
        EXPECT_TRUE(same_bits(resumed->particles(), whole->particles()));
    }
}

} // namespace
} // namespace spindrift
