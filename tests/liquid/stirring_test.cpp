#include "liquid/scenes.h"

#include <gtest/gtest.h>

namespace spindrift {

namespace {

LiquidParams stirred(LiquidParams params)
{
    params.turbulence.on = true;
    return params;
}

LiquidParams still_pool()
{
    LiquidParams p;
    p.voxel = 1.0f / 16;
    p.domain = closed_domain(Vec3f(0, 0, 0), Vec3f(1, 1, 1));
    p.sources = {pool_source(0.5f)};
    return p;
}

} // namespace

TEST(StirredLiquid, BitIdenticalForAnyNumberOfThreadsAndAfterResuming)
{
    const LiquidParams params = stirred(dam_break(12));
    const Particles expected = same_for_any_threads(params, 4);
    const auto first = started_liquid(params);
    for (int frame = 0; frame < 2; ++frame) first->advance();
    const auto second = make_liquid(params);
    second->restore(first->state());
    for (int frame = 0; frame < 2; ++frame) second->advance();
    EXPECT_TRUE(same_bits(expected, second->particles()));
}

TEST(StirredLiquid, StillPoolStaysStill)
{
    const auto liquid = started_liquid(stirred(still_pool()));
    for (int frame = 0; frame < 12; ++frame) liquid->advance();
    EXPECT_NEAR(mean_height(liquid->particles()), 0.25, 0.01);
    EXPECT_LT(kinetic_energy(liquid->particles()), 1e-3);
    EXPECT_LT(max_abs(liquid->ripples()->difference()), 0.05f * still_pool().voxel);
}

TEST(StirredLiquid, DamBreakRipplesWithoutGainingEnergy)
{
    const auto liquid = started_liquid(stirred(dam_break(16))), plain = started_liquid(dam_break(16));
    const size_t count = liquid->particles().size();
    float highest = 0;
    bool other_flow = false;
    for (int frame = 0; frame < 72; ++frame) {
        liquid->advance(), plain->advance();
        highest = std::max(highest, max_abs(liquid->ripples()->difference()));
        if (frame == 11) other_flow = !same_bits(liquid->particles().P, plain->particles().P);
        for (const Vec3f& x : liquid->particles().P) ASSERT_TRUE((x.array() >= 0).all() && (x.array() <= 1).all());
    }
    EXPECT_TRUE(other_flow);
    EXPECT_EQ(liquid->particles().size(), count);
    EXPECT_GT(highest, 0.2f / 16);
    // Stirring feeds neither waves nor volume: kinetic plus potential energy [m2/s2] is hardly more than without it,
    // and the liquid is not compressed below the depth of still water.
    const double still = 0.5 * 0.4 * 0.6;
    const auto energy = [&](const Particles& all) { return kinetic_energy(all) + 9.81 * (mean_height(all) - still); };
    EXPECT_LT(energy(liquid->particles()), 1.2 * energy(plain->particles()));
    EXPECT_GT(mean_height(liquid->particles()), 0.98 * still);
}

} // namespace spindrift
