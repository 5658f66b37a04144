// Hooks run at the point of the step that their name says.
#include "liquid/scenes.h"

#include <gtest/gtest.h>

namespace spindrift {
namespace {

LiquidParams falling_block(Transfer transfer)
{
    LiquidParams p;
    p.voxel = 0.05f, p.transfer = transfer;
    p.sources = {box_source(Vec3f(0, 0, 0), Vec3f(0.4f, 0.4f, 0.4f))};
    return p;
}

class Hooks : public testing::TestWithParam<Transfer> {};

TEST_P(Hooks, AfterForcesSeesGravityOfThisStep)
{
    const LiquidParams p = falling_block(GetParam());
    const auto liquid = started_liquid(p);
    float seconds = 0;
    const auto hook = [&](Particles& particles, float, float dt) {
        seconds += dt;
        for (const Vec3f& v : particles.v) EXPECT_NEAR(v.y(), seconds * p.gravity.y(), 1e-3f * 9.81f);
    };
    liquid->set_hooks({hook, {}});
    for (int frame = 0; frame < 3; ++frame) liquid->advance();
    EXPECT_GT(seconds, 0.1f);
}

TEST_P(Hooks, LiquidStoppedAfterForcesStaysInPlace)
{
    const auto liquid = started_liquid(falling_block(GetParam()));
    const std::vector<Vec3f> start = liquid->particles().P;
    liquid->set_hooks({[](Particles& particles, float, float) { std::ranges::fill(particles.v, Vec3f::Zero()); }, {}});
    for (int frame = 0; frame < 3; ++frame) liquid->advance();
    float top = -kInfinity, first_top = -kInfinity;
    for (const Vec3f& x : liquid->particles().P) top = std::max(top, x.y());
    for (const Vec3f& x : start) first_top = std::max(first_top, x.y());
    EXPECT_NEAR(top, first_top, 1e-3f); // it falls by 0.08 m without the hook
}

// A hook that does nothing leaves the fall of the liquid and of its drops as it is.
TEST_P(Hooks, AfterForcesChangesNothingByItself)
{
    LiquidParams p = falling_block(GetParam());
    p.domain = closed_domain(Vec3f(-0.2f, -0.3f, -0.2f), Vec3f(0.8f, 1, 0.6f));
    const auto with = started_liquid(p), without = started_liquid(p);
    with->set_hooks({[](Particles&, float, float) {}, {}});
    const auto energy = [&](const Liquid& liquid) {
        double sum = 0;
        for (size_t i = 0; i < liquid.particles().size(); ++i)
            sum += 0.5 * static_cast<double>(liquid.particles().v[i].squaredNorm()) +
                   9.81 * static_cast<double>(liquid.particles().P[i].y() + 0.3f);
        return sum / static_cast<double>(liquid.particles().size());
    };
    for (int frame = 0; frame < 12; ++frame) {
        with->advance(), without->advance();
        EXPECT_NEAR(energy(*with), energy(*without), 0.05 * energy(*without)) << frame;
    }
}

INSTANTIATE_TEST_SUITE_P(Transfers, Hooks, testing::Values(Transfer::flip, Transfer::apic));

} // namespace
} // namespace spindrift
