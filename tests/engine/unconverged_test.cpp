// Solves that end above their tolerance are reported by every solver.
#include "spindrift/crowd/population.h"
#include "spindrift/liquid/liquid.h"
#include "spindrift/sand/granular_sand.h"
#include "spindrift/shaped_smoke/shaped_smoke.h"
#include "spindrift/smoke/smoke.h"

#include <gtest/gtest.h>

namespace spindrift {

namespace {

constexpr float kImpossible = -1; // no residual is as small

template <class Source> Source block(const Vec3f& max)
{
    Source source;
    source.min = Vec3f::Zero(), source.max = max;
    return source;
}

DomainParams unit_box()
{
    DomainParams domain;
    domain.min = Vec3f::Zero(), domain.max = Vec3f::Ones();
    return domain;
}

} // namespace

TEST(Unconverged, PressureAndViscosityOfALiquid)
{
    LiquidParams params;
    params.voxel = 0.1f, params.domain = unit_box(), params.viscosity = 1000;
    params.sources = {block<SourceParams>({0.5f, 0.5f, 1})};
    const auto report = [&] {
        Liquid liquid(params);
        liquid.start(1);
        return liquid.advance();
    };
    EXPECT_EQ(report().unconverged, 0);
    params.tolerance = kImpossible;
    const LiquidReport both = report();
    EXPECT_GE(both.unconverged, 2 * both.substeps);
    params.viscosity = 0;
    const LiquidReport pressure = report();
    EXPECT_GE(pressure.unconverged, pressure.substeps);
    EXPECT_LT(pressure.unconverged * both.substeps, both.unconverged * pressure.substeps);
}

TEST(Unconverged, PressureOfSmoke)
{
    SmokeParams params;
    params.voxel = 0.1f, params.domain = unit_box();
    SmokeSourceParams source = block<SmokeSourceParams>({0.5f, 0.5f, 1});
    source.temperature = 100;
    params.sources = {source};
    const auto unconverged = [&] {
        Smoke smoke(params);
        smoke.start(1);
        return smoke.advance().unconverged;
    };
    EXPECT_EQ(unconverged(), 0);
    params.tolerance = kImpossible;
    EXPECT_GT(unconverged(), 0);
}

TEST(Unconverged, PressureOfShapedSmoke)
{
    ShapedSmokeParams params;
    params.voxel = 0.1f, params.markers = 5000, params.controls = 500, params.project = true;
    MarkerSourceParams source;
    source.shape = ShapeParams::Kind::sphere, source.radius = 0.4f;
    params.sources = {source};
    TargetParams target;
    target.shape = ShapeParams::Kind::sphere, target.center = Vec3f(1, 0, 0), target.radius = 0.4f;
    params.targets = {target};
    const auto unconverged = [&] {
        ShapedSmoke smoke(params);
        smoke.start(1);
        return smoke.advance().unconverged;
    };
    EXPECT_EQ(unconverged(), 0);
    params.tolerance = kImpossible;
    EXPECT_GT(unconverged(), 0);
}

TEST(Unconverged, PressureOfSand)
{
    SandParams params;
    params.voxel = 0.05f, params.domain = unit_box();
    params.sources = {block<SandSourceParams>({0.5f, 0.5f, 1})};
    const auto unconverged = [&] {
        GranularSand sand(params);
        sand.start(1);
        int sum = 0;
        for (int frame = 0; frame < 4; ++frame) sum += sand.advance().stress.unconverged;
        return sum;
    };
    EXPECT_EQ(unconverged(), 0);
    params.tolerance = kImpossible;
    EXPECT_GT(unconverged(), 0);
}

TEST(Unconverged, DensityOfACrowd)
{
    PopulationParams params;
    params.cell = 1;
    PlanAreaParams floor;
    floor.box = {{0, 0}, {10, 10}};
    PlanGoalParams exit;
    exit.name = "exit", exit.box = {{9, 4}, {10, 6}};
    params.plan.boundary = {floor}, params.plan.goals = {exit};
    GroupParams people;
    people.count = 150, people.box = {{5, 2}, {9, 8}};
    VisitParams visit;
    visit.goal = "exit";
    people.visits = {visit};
    params.groups = {people};
    const auto unconverged = [&] {
        Population population(params, 24);
        population.start(1);
        int sum = 0;
        for (int frame = 0; frame < 12; ++frame) sum += population.advance().unconverged;
        return sum;
    };
    EXPECT_EQ(unconverged(), 0);
    params.tolerance = kImpossible, params.max_iterations = 1;
    EXPECT_GT(unconverged(), 0);
}

} // namespace spindrift
