#include "shaped_smoke/smokes.h"

#include "base/determinism.h"
#include "io/temp_folder.h"
#include "shaped_smoke/shape_measures.h"
#include "spindrift/base/state_error.h"
#include "spindrift/shaped_smoke/controls.h"

#include <Eigen/Geometry>
#include <gtest/gtest.h>

namespace spindrift {

namespace {

void run(ShapedSmoke& smoke, int frames)
{
    for (int f = 0; f < frames; ++f) smoke.advance();
}

// Small, with everything in it: a morph, letting go in wind, two shapes at once, containment, projection.
ShapedSmokeParams small_smoke()
{
    ShapedSmokeParams params;
    params.voxel = 0.1f, params.markers = 20000, params.controls = 1000;
    params.vortices.radius = 0.3f, params.vortices.speed = 0.5f;
    params.sources = {marker_ball(Vec3f::Zero(), 1)};
    params.targets = {target_ball(Vec3f(2, 0, 0), 0.8f), target_ball(Vec3f(0, 2, 0), 0.6f),
                      target_ball(Vec3f(0, -1, 0), 0.6f)};
    params.targets[0].let_go = 6;
    params.targets[1].frame = params.targets[2].frame = 8;
    params.targets[1].share = 1, params.targets[2].share = 2;
    params.wind = {{1, 0, 0, 0}, {8, 2, 0, 1}};
    return params;
}

Vec3d mean_place(const ShapedSmoke& smoke)
{
    Vec3d sum = Vec3d::Zero();
    for (const Vec3f& x : smoke.markers().P) sum += x.cast<double>();
    return sum / static_cast<double>(smoke.markers().size());
}

struct MatchCase {
    const char* name;
    Mesh mesh;
    float voxel;
    double outside_most;
};

TEST(ShapedSmoke, TakesTheShapeOfABallALetterAndACreature)
{
    const TempFolder folder;
    const MatchCase cases[] = {{"ball", sphere_mesh(Vec3f(0, 0.5f, 0), 0.5f, 4), 0.03f, 0.01},
                               {"letter", letter_mesh(), 0.02f, 0.01},
                               {"creature", creature_mesh(0.1f), 0.02f, 0.01}};
    for (const MatchCase& c : cases) {
        const std::string file = folder / (std::string(c.name) + ".obj");
        write_mesh(file, c.mesh);
        ShapedSmokeParams params = smoke_of_a_metre();
        params.voxel = c.voxel;
        params.targets = {target_mesh(file)};
        ShapedSmoke smoke(params, 24);
        smoke.start(1);
        const ShapeMeasure measure(c.mesh, params.control_radius * params.voxel);
        EXPECT_LT(measure.match(smoke.markers()).overlap, 0.5) << c.name;
        run(smoke, 36);
        const ShapeMatch match = measure.match(smoke.markers());
        EXPECT_GE(match.overlap, 0.85) << c.name;
        EXPECT_LE(match.distance, 0.015) << c.name;
        EXPECT_LE(match.outside, c.outside_most) << c.name;
    }
}

// Letters of thin, bent strokes, for several seeds.
TEST(ShapedSmoke, TakesTheShapesOfPsiAndOmegaForAnySeed)
{
    const TempFolder folder;
    for (const auto& [name, mesh] : {std::pair("psi", psi_mesh()), {"omega", omega_mesh()}}) {
        const std::string file = folder / (std::string(name) + ".obj");
        write_mesh(file, mesh);
        for (const int seed : {1, 2, 3}) {
            ShapedSmokeParams params = smoke_of_a_metre();
            params.targets = {target_mesh(file)}, params.seed = seed;
            ShapedSmoke smoke(params, 24);
            smoke.start(1);
            run(smoke, 36);
            const ShapeMatch match = ShapeMeasure(mesh, params.control_radius * params.voxel).match(smoke.markers());
            EXPECT_GE(match.overlap, 0.85) << name << " " << seed;
            EXPECT_LE(match.distance, 0.015) << name << " " << seed;
        }
    }
}

// The small one gets most of the smoke: the large one is filled all the same, only thinner.
TEST(ShapedSmoke, SeveralShapesGetTheirShares)
{
    ShapedSmokeParams params = small_smoke();
    const Vec3f large(1.5f, 0, 0), small(-1.5f, 0, 0);
    params.targets = {target_ball(large, 1), target_ball(small, 0.4f)};
    params.targets[0].share = 1, params.targets[1].share = 3;
    params.wind = {}, params.controls = 6000;
    ShapedSmoke smoke(params, 24);
    smoke.start(1);
    run(smoke, 60);
    double in_large = 0, in_small = 0, upper_half = 0;
    for (const Vec3f& x : smoke.markers().P) {
        in_large += (x - large).norm() < 1.2f, in_small += (x - small).norm() < 0.6f;
        upper_half += (x - large).norm() < 1.2f && x.y() > 0;
    }
    const auto all = static_cast<double>(smoke.markers().size());
    EXPECT_NEAR(in_large / all, 0.25, 0.03);
    EXPECT_NEAR(in_small / all, 0.75, 0.03);
    EXPECT_NEAR(upper_half / in_large, 0.5, 0.05);
}

TEST(ShapedSmoke, FillsAShapeThatGrowsAndStaysInOneThatShrinks)
{
    for (const float scale : {4.0f, 0.3f}) {
        ShapedSmokeParams params = small_smoke();
        params.targets = {target_ball(Vec3f::Zero(), 0.5f)};
        params.targets[0].scale = {{1, 1, 1, 1}, {12, 1, 1, 1}, {36, scale, scale, scale}};
        params.vortices.radius = 0.15f, params.wind = {};
        ShapedSmoke smoke(params, 24);
        smoke.start(1);
        run(smoke, 47);
        const double radius = 0.5 * static_cast<double>(scale);
        double within = 0, inner = 0;
        for (const Vec3f& x : smoke.markers().P) {
            const auto r = static_cast<double>(x.norm());
            within += r < radius + 0.2, inner += r < 0.5 * radius;
        }
        const auto all = static_cast<double>(smoke.markers().size());
        EXPECT_GT(within / all, 0.99) << scale;
        if (scale < 1) continue; // a few cells wide
        EXPECT_NEAR(inner / all, 0.125, 0.04);
    }
}

// A ball on a rod that swings to and fro: smoke neither lags behind nor runs ahead where it turns.
TEST(ShapedSmoke, KeepsUpWithATargetThatAccelerates)
{
    for (const bool vortices : {false, true}) {
        ShapedSmokeParams params = smoke_of_a_metre();
        params.markers = 30000, params.controls = 3000, params.voxel = 0.04f;
        if (!vortices) params.vortices.count = 0;
        params.sources = {marker_ball(Vec3f::Zero(), 0.3f)};
        params.targets = {target_ball(Vec3f::Zero(), 0.3f)};
        // 0.5 m to either side, once a second: up to 3 m/s and 20 m/s2.
        const auto place = [](int f) { return f < 12 ? 0.0 : 0.5 * std::sin(2 * kPi * (f - 12) / 24.0); };
        for (int f = 1; f <= 72; ++f)
            params.targets[0].translate.push_back({static_cast<float>(f), static_cast<float>(place(f)), 0, 0});
        ShapedSmoke smoke(params, 24);
        smoke.start(1);
        while (smoke.frame() < 72) {
            smoke.advance();
            if (smoke.frame() < 36) continue;
            double middle = 0, outside = 0;
            for (const Vec3f& x : smoke.markers().P) {
                middle += static_cast<double>(x.x());
                outside += (x - Vec3f(static_cast<float>(place(smoke.frame())), 0, 0)).norm() > 0.3f + 0.08f;
            }
            const auto all = static_cast<double>(smoke.markers().size());
            EXPECT_NEAR(middle / all, place(smoke.frame()), 0.02) << smoke.frame();
            EXPECT_LT(outside / all, 0.01) << smoke.frame();
        }
    }
}

TEST(ShapedSmoke, FollowsACreatureThatWalks)
{
    const TempFolder folder;
    const int stands = 24, frames = 60;
    ShapedSmokeParams params = smoke_of_a_metre();
    params.targets = {target_mesh(write_walk(folder.path(), frames, stands))};
    ShapedSmoke smoke(params, 24);
    smoke.start(1);
    while (smoke.frame() < frames) {
        smoke.advance();
        if (smoke.frame() < stands + 12 || smoke.frame() % 6 != 0) continue;
        const Mesh now = creature_mesh(static_cast<float>(smoke.frame() - stands) / 24);
        const ShapeMatch match = ShapeMeasure(now, params.control_radius * params.voxel).match(smoke.markers());
        EXPECT_GE(match.overlap, 0.7) << smoke.frame();
        EXPECT_LE(match.distance, 0.015) << smoke.frame();
        EXPECT_LE(match.outside, 0.01) << smoke.frame();
    }
}

TEST(ShapedSmoke, MotionLivesOnWithVorticesAndDiesWithout)
{
    const int arrived = 36, frames = 240; // 10 s after arrival
    for (const bool vortices : {true, false}) {
        ShapedSmokeParams params = smoke_of_a_metre();
        params.markers = 20000, params.controls = 3000, params.voxel = 0.04f;
        params.targets = {target_ball(Vec3f(0.5f, 0.5f, 0), 0.5f)};
        if (!vortices) params.vortices.count = 0;
        ShapedSmoke smoke(params, 24);
        smoke.start(1);
        double most = 0, mean = 0, last = 0;
        std::vector<double> energies;
        for (int f = 0; f < arrived + frames; ++f) {
            last = smoke.advance().kinetic, most = std::max(most, last);
            if (f >= arrived) energies.push_back(last), mean += last / frames;
        }
        if (!vortices) {
            EXPECT_LT(last, 0.01 * most);
            continue;
        }
        for (const double energy : energies) {
            EXPECT_GT(energy, 0.5 * mean);
            EXPECT_LT(energy, 2 * mean);
        }
    }
}

TEST(ShapedSmoke, ContainmentKeepsMarkersInTheShape)
{
    double outside[2];
    for (const bool contain : {false, true}) {
        ShapedSmokeParams params = smoke_of_a_metre();
        params.markers = 50000, params.controls = 3000, params.voxel = 0.04f;
        params.vortices.radius = 0.2f, params.vortices.speed = 1;
        params.redistribution.rate = 0; // which would return them
        params.contain = contain;
        params.targets = {target_ball(Vec3f(0, 0.6f, 0), 0.4f)};
        ShapedSmoke smoke(params, 24);
        smoke.start(1);
        run(smoke, 72);
        const float radius = params.control_radius * params.voxel;
        double beyond = 0;
        for (const Vec3f& x : smoke.markers().P) beyond += (x - Vec3f(0, 0.6f, 0)).norm() > 0.4f + radius;
        outside[contain] = beyond / static_cast<double>(smoke.markers().size());
    }
    EXPECT_GT(outside[0], 0.1);
    EXPECT_LE(outside[1], 0.01);
}

TEST(ShapedSmoke, ProjectionMakesTheControlFieldDivergenceFree)
{
    double divergence[2];
    for (const bool project : {false, true}) {
        ShapedSmokeParams params = small_smoke();
        params.project = project;
        ShapedSmoke smoke(params, 24);
        smoke.measure_divergence(true);
        smoke.start(1);
        run(smoke, 4);
        divergence[project] = smoke.control_divergence();
    }
    EXPECT_GT(divergence[0], 0.1);
    EXPECT_LT(divergence[1], divergence[0] / 100);
}

TEST(ShapedSmoke, SameBitsForAnyNumberOfThreads)
{
    ShapedSmokeParams params = small_smoke();
    params.contain = params.project = true, params.substeps = 2, params.place_every_frame = true;
    const auto markers = [&](int threads) {
        return with_threads(threads, [&] {
            ShapedSmoke smoke(params, 24);
            smoke.start(1);
            run(smoke, 12);
            return smoke.markers();
        });
    };
    const Particles one = markers(1);
    EXPECT_TRUE(same_bits(one, markers(2)));
    EXPECT_TRUE(same_bits(one, markers(3)));
}

TEST(ShapedSmoke, RestoredSmokeContinuesWithTheSameBits)
{
    const TempFolder folder;
    ShapedSmokeParams params = small_smoke();
    params.contain = true;
    TargetParams walk = target_mesh(write_walk(folder.path(), 12, 2));
    walk.frame = 3;
    params.targets.insert(params.targets.begin() + 1, walk);
    for (const int saved : {2, 5, 7, 9, 10}) { // gathering, walking, let go, two shapes, and with all of each step
        params.substeps = saved == 10 ? 2 : 1, params.place_every_frame = saved == 10;
        ShapedSmoke whole(params, 24), resumed(params, 24);
        whole.start(1);
        run(whole, saved - 1);
        resumed.restore(whole.state());
        run(whole, 3), run(resumed, 3);
        EXPECT_TRUE(same_bits(whole.markers(), resumed.markers())) << saved;
        EXPECT_TRUE(same_bits(whole.controls(), resumed.controls())) << saved;
        EXPECT_TRUE(same_bits(whole.vortices(), resumed.vortices())) << saved;
    }
}

TEST(ShapedSmoke, DamagedStatesAreRefused)
{
    ShapedSmoke smoke(small_smoke(), 24);
    smoke.start(1);
    run(smoke, 2);
    const auto refuses = [&](const auto& damage) {
        ShapedSmoke::State state = smoke.state();
        damage(state);
        EXPECT_THROW(ShapedSmoke(small_smoke(), 24).restore(std::move(state)), StateError);
    };
    refuses([](auto& s) { s.group = 7; });
    refuses([](auto& s) { s.batches.push_back(3); });
    refuses([](auto& s) { s.batches = {uint64_t{1} << 60}; });
    refuses([](auto& s) { s.controls.template attribute<int32_t>(kTargetAttribute)[0] = -1; });
    refuses([](auto& s) {
        auto& target = s.controls.template attribute<int32_t>(kTargetAttribute);
        target[0] = target[1];
    });
    refuses([](auto& s) { s.controls.template attribute<Vec3f>(kStepAttribute)[1].y() = 1e20f; });
    refuses([](auto& s) { s.controls.attributes.erase(kStepAttribute); });
    refuses([](auto& s) { s.markers.P[3].x() = std::numeric_limits<float>::quiet_NaN(); });
    refuses([](auto& s) { s.vortices.attributes.clear(); });
    refuses([](auto& s) { s.vortices.template attribute<float>(kSigmaAttribute).assign(s.vortices.size(), 1e9f); });
}

TEST(ShapedSmoke, LetGoSmokeIsBlownAwayAndReforms)
{
    ShapedSmokeParams params = small_smoke();
    params.targets = {target_ball(Vec3f::Zero(), 0.8f), target_ball(Vec3f::Zero(), 0.8f)};
    params.targets[0].let_go = 12, params.targets[1].frame = 36;
    params.wind = {{1, 1.5f, 0, 0}};
    ShapedSmoke smoke(params, 24);
    smoke.start(1);
    const auto mean_x = [&] { return mean_place(smoke).x(); };
    run(smoke, 11);
    EXPECT_NEAR(mean_x(), 0, 0.1);
    run(smoke, 24);
    EXPECT_EQ(smoke.controls().size(), 0u);
    EXPECT_NEAR(mean_x(), 1.5, 0.3);
    run(smoke, 36);
    EXPECT_NEAR(mean_x(), 0, 0.1);
}

TEST(ShapedSmoke, HooksSeeVelocitiesAndMoveMarkers)
{
    ShapedSmokeParams params = small_smoke();
    ShapedSmoke plain(params, 24), hooked(params, 24), pushed(params, 24);
    int calls = 0;
    hooked.set_hooks({[&](Particles&, float, float) { ++calls; }, {}});
    pushed.set_hooks({[](Particles& p, float, float) { p.v[0] = Vec3f(0, 0, 100); },
                      [](Particles& p, float, float) { p.resize(p.size() - 1); }});
    for (ShapedSmoke* smoke : {&plain, &hooked, &pushed}) smoke->start(1), smoke->advance();
    EXPECT_EQ(calls, 1);
    ASSERT_EQ(plain.markers().size(), hooked.markers().size());
    for (size_t i = 0; i < plain.markers().size(); ++i)
        EXPECT_LT((plain.markers().P[i] - hooked.markers().P[i]).norm(), 1e-4f);
    EXPECT_EQ(pushed.markers().size(), plain.markers().size() - 1);
    EXPECT_GT(pushed.markers().P[0].z(), 3.0f);
    pushed.advance();
}

// In still air, a velocity that an expression sets in each step moves a marker by as much in each frame.
TEST(ShapedSmoke, AVelocityOfAnExpressionMovesMarkersEvenly)
{
    ShapedSmokeParams params = small_smoke();
    params.vortices.count = 0, params.wind = {}, params.targets.resize(1);
    params.targets[0].let_go = 1;
    ShapedSmoke smoke(params, 24);
    smoke.set_hooks({[](Particles& p, float, float) { std::fill(p.v.begin(), p.v.end(), Vec3f(0, 1, 0)); }, {}});
    smoke.start(1);
    double before = mean_place(smoke).y();
    for (int frame = 0; frame < 4; ++frame) {
        smoke.advance();
        EXPECT_EQ(smoke.controls().size(), 0u);
        const double now = mean_place(smoke).y();
        EXPECT_NEAR(24 * (now - before), 1, 1e-4) << frame;
        before = now;
    }
}

// (9) is of second order: in a rotating field, half the step leaves a quarter of the error.
TEST(ShapedSmoke, MarkersFollowARotatingFieldToSecondOrder)
{
    const auto turn = [](const Vec3f& x) { return Vec3f(-2 * x.y(), 2 * x.x(), 0); }; // 2 rad/s about z
    const auto error_with = [&](int substeps) {
        ShapedSmokeParams params = small_smoke();
        params.vortices.count = 0, params.wind = {}, params.targets.resize(1), params.targets[0].let_go = 1;
        params.markers = 2000, params.substeps = substeps;
        ShapedSmoke smoke(params, 24);
        smoke.set_hooks({[&](Particles& p, float, float) {
                             for (size_t i = 0; i < p.size(); ++i) p.v[i] = turn(p.P[i]);
                         },
                         {}});
        smoke.start(1);
        std::vector<Vec3f> start(smoke.markers().size());
        for (size_t i = 0; i < start.size(); ++i) start[smoke.markers().id[i]] = smoke.markers().P[i];
        run(smoke, 12);
        const Eigen::AngleAxisd exact(2 * 0.5, Vec3d::UnitZ());
        double squares = 0;
        for (size_t i = 0; i < start.size(); ++i)
            squares += (exact * start[smoke.markers().id[i]].cast<double>() - smoke.markers().P[i].cast<double>())
                           .squaredNorm();
        return std::sqrt(squares / static_cast<double>(start.size()));
    };
    const double coarse = error_with(1), middle = error_with(2), fine = error_with(4);
    EXPECT_LT(coarse, 0.01);
    EXPECT_NEAR(coarse / middle, 4, 0.8);
    EXPECT_NEAR(middle / fine, 4, 0.8);
}

TEST(ShapedSmoke, PointsOfACacheBecomeMarkers)
{
    ShapedSmokeParams params = small_smoke();
    params.sources.emplace_back().particles = "points.vdb";
    ShapedSmoke::Shapes shapes{shapes_of(params.sources, "source"), shapes_of(params.targets, "target"), {}};
    shapes.particles[1] = [] {
        Particles points;
        points.resize(10);
        for (size_t i = 0; i < 10; ++i) points.P[i] = Vec3f(5, static_cast<float>(i), 0);
        return points;
    };
    ShapedSmoke smoke(params, std::move(shapes), 24);
    smoke.start(1);
    EXPECT_EQ(smoke.markers().size(), 20010u);
    smoke.advance();
    EXPECT_GT(smoke.controls().size(), 900u);
    EXPECT_EQ(smoke.controls().size(), smoke.goals().size());
}

TEST(ShapedSmoke, WithoutASourceThereIsAMessage)
{
    ShapedSmokeParams params = small_smoke();
    params.sources.clear();
    ShapedSmoke smoke(params, 24);
    EXPECT_TRUE(contains(error_of(ExitCode::bad_input, [&] { smoke.start(1); }), "no markers"));
}

} // namespace

} // namespace spindrift
