#include "spindrift/liquid/elasticity.h"

#include "base/determinism.h"
#include "liquid/twisted_jelly.h"

#include <Eigen/Geometry>
#include <gtest/gtest.h>

namespace spindrift {
namespace {

// Changes the particles of a liquid through its state.
template <class Change> void change_state(Liquid& liquid, const Change& change)
{
    Liquid::State state = liquid.state();
    change(state);
    liquid.restore(std::move(state));
}

TEST(Elasticity, TwistedCylinderOscillatesAtTheExactFrequency)
{
    constexpr int cells = 12;
    const double exact = TwistedJelly::exact_frequency(), found = TwistedJelly::measured_frequency(cells);
    std::printf("twisted jelly %d cells high: %.3f Hz, exact %.3f Hz (%+.1f%%)\n", cells, found, exact,
                100 * (found / exact - 1));
    // Particles next to the floor see the distance to the first face below it, half a cell too much.
    EXPECT_NEAR(found, exact / (1 + 0.5 / cells), 0.02 * exact);
}

// Liquid that fills a closed box with uniform stress stays at rest, and the stress relaxes by the constitutive law.
TEST(Elasticity, StressRelaxesByTheConstitutiveLaw)
{
    for (const float yield : {0.0f, 0.04f}) {
        LiquidParams p;
        p.voxel = 1.0f / 16, p.elasticity = 1000, p.relaxation = 3, p.yield_strain = yield;
        p.gravity = Vec3f::Zero();
        p.domain = closed_domain(Vec3f(0, 0, 0), Vec3f(1, 1, 1));
        p.sources = {box_source(Vec3f(0, 0, 0), Vec3f(1, 1, 1))};
        const auto liquid = started_liquid(p);
        const Vec3f shear(0.03f, -0.05f, 0.04f);
        change_state(*liquid, [&](Liquid::State& state) {
            for (Vec3f& s : state.particles.attribute<Vec3f>(kStrainShear)) s = shear;
        });
        const double size = std::sqrt(2.0) * static_cast<double>(shear.norm()), limit = static_cast<double>(yield);
        for (int frame = 1; frame <= 12; ++frame) {
            liquid->advance();
            const double expected = limit + (size - limit) * std::exp(-3 * frame / static_cast<double>(kFps));
            const auto& s = *liquid->particles().find<Vec3f>(kStrainShear);
            const double found = std::sqrt(2.0) * mean_of(liquid->particles(),
                                                          [&](size_t i) { return static_cast<double>(s[i].norm()); });
            EXPECT_NEAR(found / expected, 1, 0.01) << "frame " << frame << ", yield strain " << yield;
        }
    }
}

double sunk_in_a_second(float yield)
{
    LiquidParams p;
    p.voxel = 1.0f / 48, p.transfer = Transfer::apic;
    p.elasticity = 1e5f, p.yield_strain = yield, p.relaxation = 50;
    p.domain = closed_domain(Vec3f(0, 0, 0), Vec3f(1, 1, 1));
    p.sources = {box_source(Vec3f(0.35f, 0, 0.35f), Vec3f(0.65f, 0.3f, 0.65f))};
    const auto liquid = started_liquid(p);
    for (int frame = 0; frame < 6; ++frame) liquid->advance(); // it yields a little at first
    const double before = mean_height(liquid->particles());
    for (int frame = 0; frame < 24; ++frame) liquid->advance();
    return 1 - mean_height(liquid->particles()) / before;
}

// The weight of the block strains it by about density g height / (2 elasticity) = 0.015.
TEST(Elasticity, ClayKeepsItsShapeBelowYieldAndFlowsAbove)
{
    const double below = sunk_in_a_second(0.06f), above = sunk_in_a_second(0.0f);
    std::printf("a block of clay sinks in a second by %.2f%% of its height below yield, %.1f%% above\n", 100 * below,
                100 * above);
    EXPECT_LT(std::abs(below), 0.01);
    EXPECT_GT(above, 0.1);
}

TEST(Elasticity, AnyElasticityIsStable)
{
    for (const float relaxation : {0.0f, 20.0f})
        for (const float elasticity : {1.0f, 1e3f, 1e5f, 1e6f}) {
            LiquidParams p = dam_break(20);
            p.elasticity = elasticity, p.relaxation = relaxation, p.yield_strain = 0.05f;
            const auto liquid = started_liquid(p);
            const double start = 9.81 * mean_height(liquid->particles());
            double most = 0;
            for (int frame = 0; frame < 24; ++frame) {
                liquid->advance();
                const Particles& all = liquid->particles();
                const auto &d = *all.find<Vec3f>(kStrainDiagonal), &s = *all.find<Vec3f>(kStrainShear);
                const double elastic = mean_of(all, [&](size_t i) { // energy per volume: G |e|^2
                    return static_cast<double>(elasticity / p.density * (d[i].squaredNorm() + 2 * s[i].squaredNorm()));
                });
                const double energy = kinetic_energy(all) + 9.81 * mean_height(all) + elastic;
                ASSERT_TRUE(std::isfinite(energy));
                most = std::max(most, energy / start);
            }
            EXPECT_LT(most, 1.05) << elasticity << " Pa";
        }
}

// A stressed ball rotating in free space: the stress rotates with it, and must not slow it down.
TEST(Elasticity, RotatingBallConservesAngularMomentum)
{
    LiquidParams p;
    p.voxel = 1.0f / 16, p.flip = 1, p.elasticity = 1e4f, p.cfl = 0.1f, p.gravity = Vec3f::Zero();
    SourceParams ball;
    ball.shape = ShapeParams::Kind::sphere, ball.center = Vec3f(0, 0, 0), ball.radius = 0.5f;
    p.sources = {ball};
    const auto liquid = started_liquid(p);
    const Vec3f spin(0, 0, 2 * static_cast<float>(kPi));
    change_state(*liquid, [&](Liquid::State& state) {
        for (size_t i = 0; i < state.particles.size(); ++i) state.particles.v[i] = spin.cross(state.particles.P[i]);
        state.speed = 3.2f;
    });
    const auto momentum = [&] {
        return mean_of(liquid->particles(), [&](size_t i) {
            return static_cast<double>(liquid->particles().P[i].cross(liquid->particles().v[i]).z());
        });
    };
    const double before = momentum();
    for (int frame = 0; frame < 12; ++frame) liquid->advance();
    std::printf("a turning ball of jelly keeps %.2f%% of its angular momentum in half a turn\n",
                100 * momentum() / before);
    EXPECT_NEAR(momentum() / before, 1, 0.01);
}

TEST(Elasticity, BitIdenticalForAnyNumberOfThreadsAndAfterResuming)
{
    LiquidParams p = dam_break(20);
    p.elasticity = 2000, p.yield_strain = 0.1f, p.relaxation = 5;
    const auto run = [&](int threads, bool resume) {
        return with_threads(threads, [&] {
            auto liquid = started_liquid(p);
            for (int frame = 0; frame < 2; ++frame) liquid->advance();
            if (resume) {
                auto again = make_liquid(p);
                again->restore(liquid->state());
                liquid = std::move(again);
            }
            for (int frame = 0; frame < 2; ++frame) liquid->advance();
            return liquid->particles();
        });
    };
    const Particles one = run(1, false);
    EXPECT_TRUE(same_bits(one, run(2, false)));
    EXPECT_TRUE(same_bits(one, run(7, false)));
    EXPECT_TRUE(same_bits(one, run(2, true)));
}

} // namespace
} // namespace spindrift
