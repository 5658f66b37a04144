#include "spindrift/liquid/heat.h"

#include "liquid/scenes.h"

#include <gtest/gtest.h>

namespace spindrift {
namespace {

const std::vector<float>& temperatures(const Liquid& liquid)
{
    return *liquid.particles().find<float>(kTemperatureAttribute);
}

TEST(Heat, ViscosityIsGeometricBetweenTwoTemperatures)
{
    HeatParams heat;
    heat.cold = 20, heat.cold_viscosity = 1000, heat.hot = 100, heat.hot_viscosity = 0.1f;
    EXPECT_FLOAT_EQ(viscosity_at(heat, 60), 10);
    EXPECT_FLOAT_EQ(viscosity_at(heat, -50), 1000);
    EXPECT_FLOAT_EQ(viscosity_at(heat, 500), 0.1f);
}

// Two halves of a closed box, one hot: the temperature profile is the error function until it reaches the ends, and
// heat is conserved, also where heat crosses many cells in a step.
TEST(Heat, ConductionFollowsTheErrorFunction)
{
    for (const float diffusivity : {0.002f, 0.05f}) {
        LiquidParams p;
        p.voxel = 1.0f / 32, p.gravity = Vec3f::Zero();
        p.domain = closed_domain(Vec3f(0, 0, 0), Vec3f(1, 0.25f, 0.25f));
        p.sources = {box_source(Vec3f(0, 0, 0), Vec3f(0.5f, 0.25f, 0.25f)),
                     box_source(Vec3f(0.5f, 0, 0), Vec3f(1, 0.25f, 0.25f))};
        p.sources[0].temperature = 100.0f, p.sources[1].temperature = 0.0f;
        p.heat.diffusivity = diffusivity;
        const auto liquid = started_liquid(p);
        const auto mean = [&] {
            return mean_of(liquid->particles(),
                           [&](size_t i) { return static_cast<double>(temperatures(*liquid)[i]); });
        };
        const double before = mean();
        const int frames = diffusivity < 0.01f ? 48 : 8;
        for (int frame = 0; frame < frames; ++frame) liquid->advance();
        EXPECT_NEAR(mean(), before, 0.2);
        const double width = 2 * std::sqrt(static_cast<double>(diffusivity) * frames / 24);
        const double error = mean_of(liquid->particles(), [&](size_t i) {
            const double x = static_cast<double>(liquid->particles().P[i].x()) - 0.5;
            return std::abs(static_cast<double>(temperatures(*liquid)[i]) - 50 * std::erfc(x / width));
        });
        std::printf("conduction at %g m2/s: mean error %.2f degrees of 100\n", static_cast<double>(diffusivity), error);
        EXPECT_LT(error, 1.5);
    }
}

// A sheet of liquid so thin that all of it is next to the air.
TEST(Heat, LiquidInAirCoolsByNewtonsLaw)
{
    LiquidParams p;
    p.voxel = 1.0f / 24, p.gravity = Vec3f::Zero();
    p.sources = {box_source(Vec3f(0, 0, 0), Vec3f(1, 1.0f / 24, 1))};
    p.sources[0].temperature = 90.0f;
    p.heat.air = 10, p.heat.air_rate = 2;
    const auto liquid = started_liquid(p);
    for (int frame = 0; frame < 24; ++frame) liquid->advance();
    const double mean =
        mean_of(liquid->particles(), [&](size_t i) { return static_cast<double>(temperatures(*liquid)[i]); });
    EXPECT_NEAR(mean, 10 + 80 * std::exp(-2.0), 0.1);
}

TEST(Heat, HotBlockFlowsAndColdBlockStands)
{
    const auto height_after = [](float temperature) {
        LiquidParams p;
        p.voxel = 1.0f / 32, p.transfer = Transfer::apic;
        p.domain = closed_domain(Vec3f(0, 0, 0), Vec3f(1, 1, 1));
        p.sources = {box_source(Vec3f(0.35f, 0, 0.35f), Vec3f(0.65f, 0.4f, 0.65f))};
        p.sources[0].temperature = temperature;
        p.heat.cold_viscosity = 2e4f;
        const auto liquid = started_liquid(p);
        for (int frame = 0; frame < 12; ++frame) liquid->advance();
        return mean_height(liquid->particles());
    };
    const double cold = height_after(20), hot = height_after(100);
    EXPECT_GT(cold, 0.16);
    EXPECT_LT(hot, 0.1);
}

TEST(Heat, BitIdenticalForAnyNumberOfThreads)
{
    LiquidParams p = dam_break(20);
    p.sources[0].temperature = 60.0f;
    p.heat.air_rate = 1, p.heat.solid_rate = 2, p.heat.solid = 200, p.heat.diffusivity = 1e-3f;
    same_for_any_threads(p, 4);
}

} // namespace
} // namespace spindrift
