// The example expressions in scenes/ax against the same computation in C++.
#include "samples.h"
#include "spindrift/expression/random_numbers.h"
#include "spindrift/expression/volume_expression.h"
#include "spindrift/io/atomic_file.h"

#include <filesystem>
#include <set>

namespace spindrift {

namespace {

const std::string kFolder = std::string(SPINDRIFT_SOURCE_DIR) + "/scenes/ax/";
constexpr float kStep = 0.02f;

Particles run_example(const std::string& name, const ExpressionParameters& parameters, Particles particles,
                      ExpressionContext context = {})
{
    context.dt = kStep;
    Expression(name, read_file(kFolder + name), {parameters, kDefaultLoopLimit}).run(particles, context);
    return particles;
}

// Expects the remaining ids to be those for which `stays` is true.
template <class Stays> void expect_kept(const Particles& before, const Particles& after, const Stays& stays)
{
    std::set<int32_t> expected;
    for (size_t i = 0; i < before.size(); ++i)
        if (stays(i)) expected.insert(before.id[i]);
    EXPECT_EQ(std::set<int32_t>(after.id.begin(), after.id.end()), expected);
    EXPECT_GT(after.size(), 0u);
    EXPECT_LT(after.size(), before.size());
}

size_t neighbours_of(const Particles& particles, size_t i, float radius)
{
    size_t count = 0;
    for (const Vec3f& x : particles.P) count += (x - particles.P[i]).squaredNorm() <= radius * radius;
    return count - 1;
}

} // namespace

TEST(AxExamples, AllStateTheirCommandLine)
{
    size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
        const std::string text = read_file(entry.path().string()), name = entry.path().filename().string();
        EXPECT_TRUE(text.starts_with("// ")) << name;
        EXPECT_TRUE(contains(text, "//     spindrift ax scenes/ax/" + name + " --in ")) << name;
        ++count;
    }
    EXPECT_EQ(count, 15u);
}

TEST(AxExamples, WindPushesSparseParticles)
{
    const Particles before = sample_particles(500);
    const Particles after =
        run_example("wind_by_density.ax", {{"wind", Vec3f(4, 0, 1)}, {"radius", 0.12}, {"full", 8.0}}, before);
    bool some_calm = false, some_windy = false;
    for (size_t i = 0; i < before.size(); ++i) {
        const auto crowd = static_cast<float>(neighbours_of(before, i, 0.12f));
        const float exposed = clamp01(1 - crowd / 8);
        ASSERT_LT((after.v[i] - before.v[i] - Vec3f(4, 0, 1) * exposed * kStep).norm(), 1e-5f);
        some_calm |= exposed == 0, some_windy |= exposed > 0.9f;
    }
    EXPECT_TRUE(some_calm && some_windy);
}

// A falling drop reaches the speed at which drag balances weight: 4 m/s measured for a diameter of 1 mm.
TEST(AxExamples, DragStopsAFallingDropAtItsTerminalSpeed)
{
    Particles drop;
    drop.resize(1);
    drop.attribute<float>("pscale") = {0.5e-3f};
    ExpressionContext context;
    context.volumes["surface"] = [](const Vec3f&) { return 1.0f; };
    context.dt = kStep;
    const Expression drag("air_drag.ax", read_file(kFolder + "air_drag.ax"),
                          {{{"wind", Vec3f(0, 0, 0)}, {"above", 0.05}, {"fast", 0.0}}, kDefaultLoopLimit});
    for (int step = 0; step < 500; ++step) {
        drop.v[0].y() -= 9.81f * kStep;
        drag.run(drop, context);
    }
    EXPECT_NEAR(drop.v[0].y(), -4.0f, 0.2f);

    // No drag below the surface or for slow drops; the velocity converges to the wind's.
    context.volumes["surface"] = [](const Vec3f&) { return -1.0f; };
    Particles same = drop;
    drag.run(same, context);
    EXPECT_EQ(same.v[0], drop.v[0]);
    context.volumes["surface"] = [](const Vec3f&) { return 1.0f; };
    Expression windy = Expression("air_drag.ax", read_file(kFolder + "air_drag.ax"),
                                  {{{"wind", Vec3f(3, 0, 0)}, {"above", 0.05}, {"fast", 0.01}}, kDefaultLoopLimit});
    for (int step = 0; step < 2000; ++step) windy.run(same, context);
    EXPECT_LT((same.v[0] - Vec3f(3, 0, 0)).norm(), 0.02f);
    Particles still = same;
    windy.set("fast", 100.0);
    windy.run(still, context);
    EXPECT_EQ(still.v[0], same.v[0]);
}

TEST(AxExamples, ParticlesAreDeletedByAttributeDensityAndShape)
{
    const Particles before = sample_particles();
    const auto& age = *before.find<float>("age");
    expect_kept(before, run_example("delete_by_age.ax", {{"life", 2.0}, {"spread", 0.5}}, before), [&](size_t i) {
        return age[i] <= 2 * (1 + 0.5f * (2 * static_cast<float>(rand_of_double(before.id[i])) - 1));
    });
    expect_kept(before, run_example("delete_by_speed.ax", {{"fastest", 3.0}}, before),
                [&](size_t i) { return before.v[i].norm() <= 3; });
    expect_kept(before, run_example("delete_by_height.ax", {{"low", -0.2}, {"high", 0.3}}, before),
                [&](size_t i) { return before.P[i].y() >= -0.2f && before.P[i].y() <= 0.3f; });
    expect_kept(before, run_example("delete_by_density.ax", {{"radius", 0.1}, {"fewest", 4.0}}, before),
                [&](size_t i) { return neighbours_of(before, i, 0.1f) >= 4; });
    const Box3f box = {Vec3f(-0.4f, -0.3f, -0.4f), Vec3f(0.4f, 0.45f, 0.2f)};
    expect_kept(
        before,
        run_example("delete_by_shape.ax",
                    {{"centre", Vec3f(0.1f, 0, 0)}, {"radius", 0.2}, {"low", box.min}, {"high", box.max}}, before),
        [&](size_t i) { return box.contains(before.P[i]) && (before.P[i] - Vec3f(0.1f, 0, 0)).norm() >= 0.2f; });
}

TEST(AxExamples, MasksFollowDistanceSpeedAndHeight)
{
    const Particles before = sample_particles();
    Particles after = before;
    const Expression travel("travel", read_file(kFolder + "mask_by_travel.ax"),
                            {{{"near", 1.0}, {"far", 3.0}}, kDefaultLoopLimit});
    ExpressionContext context;
    context.dt = kStep;
    for (int step = 0; step < 50; ++step) travel.run(after, context);
    const Particles masked = run_example("mask_by_speed_and_height.ax",
                                         {{"slow", 1.0}, {"fast", 4.0}, {"low", -0.2}, {"high", 0.4}}, before);
    for (size_t i = 0; i < before.size(); ++i) {
        const float speed = before.v[i].norm(), way = 50 * kStep * speed, t = clamp01((way - 1) / 2);
        ASSERT_NEAR((*after.find<float>("travelled"))[i], way, 1e-4);
        ASSERT_NEAR((*after.find<float>("mask"))[i], t * t * (3 - 2 * t), 1e-4);
        ASSERT_NEAR((*masked.find<float>("mask"))[i],
                    clamp01((speed - 1) / 3) * clamp01((before.P[i].y() + 0.2f) / 0.6f), 1e-5);
    }
}

TEST(AxExamples, OnlyHighClumpsAreShaken)
{
    Particles before = sample_particles(600);
    before.attribute<int32_t>("group_clump").assign(before.size(), 1); // from the previous step
    const Particles after = run_example(
        "clumps.ax", {{"radius", 0.1}, {"crowd", 4.0}, {"size", 0.1}, {"strength", 2.0}, {"height", 0.3}}, before);
    size_t clumped = 0, shaken = 0;
    for (size_t i = 0; i < before.size(); ++i) {
        const bool clump = neighbours_of(before, i, 0.1f) > 4;
        ASSERT_EQ((*after.find<int32_t>("group_clump"))[i], clump);
        const bool moved = after.v[i] != before.v[i];
        if (!clump || before.P[i].y() <= 0) {
            ASSERT_FALSE(moved);
        }
        clumped += clump, shaken += moved;
    }
    EXPECT_GT(clumped, shaken);
    EXPECT_GT(shaken, 20u);
}

TEST(AxExamples, TheSpeedLimitIsSoft)
{
    Particles particles = sample_particles();
    for (size_t i = 0; i < particles.size(); ++i) particles.v[i] *= 0.01f * static_cast<float>(i);
    const Particles after = run_example("soft_speed_limit.ax", {{"soft", 4.0}, {"hard", 8.0}}, particles);
    for (size_t i = 0; i < particles.size(); ++i) {
        const float speed = particles.v[i].norm(), limited = after.v[i].norm();
        if (speed <= 4) {
            ASSERT_EQ(after.v[i], particles.v[i]);
        } else {
            ASSERT_NEAR(limited, 4 + 4 * (1 - std::exp((4 - speed) / 4)), 1e-4);
            ASSERT_LT(limited, 8.001f);
            ASSERT_LT((after.v[i] / limited - particles.v[i] / speed).norm(), 1e-5f);
        }
    }
}

TEST(AxExamples, DecimationKeepsTheRequestedFraction)
{
    const Particles before = sample_particles(20000);
    const Particles after = run_example("decimate.ax", {{"keep", 0.25}}, before);
    EXPECT_NEAR(static_cast<double>(after.size()), 5000, 300); // five standard deviations
    Particles older = before;
    for (Vec3f& x : older.P) x *= 2;
    EXPECT_EQ(run_example("decimate.ax", {{"keep", 0.25}}, older).id, after.id);
}

TEST(AxExamples, ColoursAndDirectionsDependOnIdOnly)
{
    const Particles before = sample_particles(5000);
    const Particles coloured = run_example("colour_by_id.ax", {}, before);
    for (const Vec3f& c : *coloured.find<Vec3f>("Cd")) {
        ASSERT_NEAR(c.maxCoeff(), 0.9f, 1e-5);        // value
        ASSERT_NEAR(c.minCoeff(), 0.9f * 0.2f, 1e-5); // one minus saturation
    }
    const Particles turned = run_example("orient_by_id.ax", {}, before);
    Vec3f mean = Vec3f::Zero();
    for (const Vec3f& d : *turned.find<Vec3f>("N")) {
        ASSERT_NEAR(d.norm(), 1, 1e-4);
        mean += d / static_cast<float>(before.size());
    }
    EXPECT_LT(mean.norm(), 0.05f);
    for (const float s : *turned.find<float>("scale")) ASSERT_TRUE(s >= 0.5f && s <= 1.5f);
    // The same in a subset of the particles.
    Particles half = before;
    std::vector<uint8_t> keep(before.size(), 1);
    keep[0] = 0;
    remove_particles(half, keep);
    EXPECT_EQ((*run_example("colour_by_id.ax", {}, half).find<Vec3f>("Cd"))[0], (*coloured.find<Vec3f>("Cd"))[1]);
}

TEST(AxExamples, FogThinsOutWithHeight)
{
    const Topology topology({morton_of_tile({0, 0, 0}), morton_of_tile({0, 1, 0}), morton_of_tile({0, 4, 0})});
    Field<float> density(topology, 1.0f);
    VolumeExpression("fog", read_file(kFolder + "fog_by_height.ax"), {{{"top", 2.0}, {"size", 0.3}}, kDefaultLoopLimit})
        .run({&topology, 0.1f, {{"density", &density}}}, {});
    for (int t = 0; t < topology.tile_count(); ++t)
        for (int i = 0; i < kTileCells; ++i) {
            const float y = (static_cast<float>((topology.first_cell(t) + cell_in_tile(i)).y()) + 0.5f) * 0.1f;
            ASSERT_GE(density.tile(t)[i], 0);
            ASSERT_LE(density.tile(t)[i], clamp01(1 - y / 2));
        }
}

} // namespace spindrift
