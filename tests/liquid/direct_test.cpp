// Artistic controls of a liquid: sinks, moving sources, attributes, forces, and impermeable colliders.
#include "io/temp_folder.h"
#include "liquid/scenes.h"
#include "spindrift/base/error.h"
#include "spindrift/base/random.h"
#include "spindrift/io/frame_path.h"
#include "spindrift/io/mesh_file.h"

#include <gtest/gtest.h>

namespace spindrift {
namespace {

SourceParams ball_source(const Vec3f& center, float radius)
{
    SourceParams s;
    s.shape = ShapeParams::Kind::sphere, s.center = center, s.radius = radius;
    return s;
}

Vec3d mean_velocity(const Particles& particles)
{
    Vec3d sum = Vec3d::Zero();
    for (const Vec3f& v : particles.v) sum += v.cast<double>();
    return sum / static_cast<double>(particles.size());
}

TEST(DirectedLiquid, SinkRemovesLiquidThatEntersIt)
{
    LiquidParams p;
    p.voxel = 1.0f / 16, p.domain = closed_domain(Vec3f(0, 0, 0), Vec3f(1, 1, 1)), p.sources = {pool_source(0.5f)};
    SinkParams sink;
    sink.min = Vec3f(0, 0, 0), sink.max = Vec3f(0.25f, 0.25f, 1), sink.first_frame = 2;
    p.sinks = {sink};
    const auto liquid = started_liquid(p);
    const size_t at_first = liquid->particles().size();
    const auto in_sink = [&] {
        return std::ranges::count_if(liquid->particles().P,
                                     [](const Vec3f& x) { return x.x() < 0.22f && x.y() < 0.22f; });
    };
    liquid->advance();
    EXPECT_EQ(liquid->particles().size(), at_first) << "it starts at frame 2";
    EXPECT_GT(in_sink(), 0);
    for (int frame = 1; frame < 12; ++frame) liquid->advance();
    EXPECT_LT(liquid->particles().size(), at_first * 8 / 10);
    // Liquid that has flowed in since the last drain is not far inside.
    EXPECT_EQ(std::ranges::count_if(liquid->particles().P, [](const Vec3f& x) { return x.x() < 0.1f && x.y() < 0.1f; }),
              0);
}

TEST(DirectedLiquid, LiquidInheritsTheMotionOfItsSource)
{
    for (const float inherit : {0.0f, 0.5f, 1.0f}) {
        LiquidParams p;
        p.voxel = 1.0f / 32, p.gravity = Vec3f::Zero();
        SourceParams s = ball_source(Vec3f(0, 0, 0), 0.2f);
        s.mode = SourceParams::Mode::flow, s.velocity = Vec3f(0, -0.5f, 0), s.inherit = inherit;
        s.translate = {{0, 0, 0, 0}, {24, 2, 0, 0}}; // 2 m/s
        p.sources = {s};
        const auto liquid = started_liquid(p);
        liquid->advance();
        ASSERT_GT(liquid->particles().size(), 100u);
        const Vec3d mean = mean_velocity(liquid->particles());
        EXPECT_NEAR(mean.x(), 2 * inherit, 0.1);
        EXPECT_NEAR(mean.y(), -0.5, 0.05);
    }
}

TEST(DirectedLiquid, ParticlesCarryTheAttributesOfTheirSource)
{
    LiquidParams p = dam_break(16);
    p.sources.push_back(box_source(Vec3f(0.7f, 0, 0), Vec3f(0.9f, 0.5f, 1)));
    p.sources[0].color = Vec3f(1, 0.2f, 0), p.sources[1].color = Vec3f(0, 0.3f, 1), p.sources[1].material = 7;
    const auto liquid = started_liquid(p);
    std::map<int32_t, bool> is_second;
    for (size_t i = 0; i < liquid->particles().size(); ++i)
        is_second[liquid->particles().id[i]] = liquid->particles().P[i].x() > 0.6f;
    for (int frame = 0; frame < 6; ++frame) liquid->advance();
    const Particles& all = liquid->particles();
    const auto& color = *all.find<Vec3f>("color");
    const auto& material = *all.find<int32_t>("material");
    for (size_t i = 0; i < all.size(); ++i) {
        const bool second = is_second.at(all.id[i]);
        ASSERT_EQ(color[i], second ? Vec3f(0, 0.3f, 1) : Vec3f(1, 0.2f, 0));
        ASSERT_EQ(material[i], second ? 7 : 0);
    }
}

TEST(DirectedLiquid, WindCarriesLoneParticles)
{
    LiquidParams p;
    p.voxel = 0.1f, p.gravity = Vec3f::Zero();
    ForceParams wind;
    wind.velocity = Vec3f(3, 0, 1), wind.drag = 2;
    p.forces = {wind};
    const auto liquid = make_liquid(p);
    Liquid::State state;
    for (int i = 0; i < 5; ++i) // far from each other
        state.particles.P.emplace_back(static_cast<float>(i), 0, 0), state.particles.v.emplace_back(0, 1, 0),
            state.particles.id.push_back(i);
    state.next_id = 5;
    liquid->restore(state);
    for (int frame = 0; frame < 12; ++frame) liquid->advance();
    const float left = std::exp(-2 * 0.5f);
    for (const Vec3f& v : liquid->particles().v) EXPECT_LT((v - Vec3f(3 * (1 - left), left, 1 - left)).norm(), 1e-3f);
}

TEST(DirectedLiquid, AttractionMovesABlobTowardsTheLine)
{
    LiquidParams p;
    p.voxel = 1.0f / 16, p.gravity = Vec3f::Zero(), p.sources = {ball_source(Vec3f(0, 0, 0), 0.25f)};
    ForceParams pull;
    pull.kind = ForceParams::Kind::attraction, pull.strength = 2, pull.reach = 4;
    pull.points = {{2, -1, 0}, {2, 1, 0}}; // nearest to the blob: (2, 0, 0)
    p.forces = {pull};
    const auto liquid = started_liquid(p);
    for (int frame = 0; frame < 6; ++frame) liquid->advance();
    const double fade = 1 - 0.25; // at half its reach
    EXPECT_NEAR(mean_velocity(liquid->particles()).x(), 2 * fade * fade * 0.25, 0.03);
    EXPECT_NEAR(mean_velocity(liquid->particles()).y(), 0, 0.01);
}

TEST(DirectedLiquid, NoiseForceHasItsStrength)
{
    ForceParams noise;
    noise.kind = ForceParams::Kind::noise, noise.strength = 3, noise.size = 0.2f, noise.change = 0;
    Forces forces(Vec3f(0, -1, 0), {noise}, 24);
    forces.set_frame(5);
    Random random(1);
    double sum2 = 0;
    for (int i = 0; i < 4000; ++i) {
        const Vec3f x(random.uniform(0, 10), random.uniform(0, 10), random.uniform(0, 10));
        sum2 += static_cast<double>((forces.acceleration(x) - Vec3f(0, -1, 0)).squaredNorm());
    }
    EXPECT_NEAR(std::sqrt(sum2 / 4000), 3, 0.15);
}

// A layer that slides on a floor: friction decelerates it by the coefficient times its weight.
TEST(DirectedLiquid, FrictionFollowsCoulombsLaw)
{
    for (const float friction : {0.0f, 0.02f, 0.05f}) {
        LiquidParams p;
        p.voxel = 1.0f / 32;
        p.sources = {box_source(Vec3f(0, 0, 0), Vec3f(2, 0.0625f, 2))};
        p.sources[0].velocity = Vec3f(1.5f, 0, 0);
        ColliderParams floor;
        floor.shape = ShapeParams::Kind::half_space, floor.friction = friction;
        p.colliders = {floor};
        const auto liquid = started_liquid(p);
        for (int frame = 0; frame < 6; ++frame) liquid->advance();
        const double lost = 1.5 - mean_velocity(liquid->particles()).x();
        std::printf("friction %.2f: %.3f m/s lost, by Coulomb %.3f m/s\n", static_cast<double>(friction), lost,
                    static_cast<double>(friction) * 9.81 * 0.25);
        EXPECT_NEAR(lost, static_cast<double>(friction) * 9.81 * 0.25, 0.02);
    }
}

TEST(DirectedLiquid, StickyWallHoldsAFilmThatRunsDownASlipperyOne)
{
    const auto height_after = [](float stick) {
        LiquidParams p;
        p.voxel = 1.0f / 32;
        p.sources = {box_source(Vec3f(0, 0, 0), Vec3f(0.04f, 0.5f, 0.5f))}; // a film on a wall
        ColliderParams wall;
        wall.max = Vec3f(0, 3, 3), wall.min = Vec3f(-1, -3, -3), wall.stick = stick;
        p.colliders = {wall};
        const auto liquid = started_liquid(p);
        for (int frame = 0; frame < 8; ++frame) liquid->advance();
        return mean_height(liquid->particles());
    };
    const double falls = 0.25 - 0.5 * 9.81 / 9; // in free fall for a third of a second
    EXPECT_NEAR(height_after(0), falls, 0.05);
    EXPECT_GT(height_after(1), 0.25 - 0.1 * 9.81 / 9);
}

// A jet that moves five cells per substep meets a wall one cell thick.
TEST(DirectedLiquid, NothingPassesAThinWall)
{
    for (const Transfer transfer : {Transfer::flip, Transfer::apic}) {
        LiquidParams p;
        p.voxel = 1.0f / 32, p.transfer = transfer, p.cfl = 5;
        p.domain = closed_domain(Vec3f(-1, 0, 0), Vec3f(1, 1, 1));
        p.sources = {ball_source(Vec3f(-0.5f, 0.5f, 0.5f), 0.25f)};
        p.sources[0].velocity = Vec3f(20, 0, 0); // 27 cells per frame
        ColliderParams wall;
        wall.min = Vec3f(0.21f, -1, -1), wall.max = Vec3f(0.21f + p.voxel, 2, 2);
        p.colliders = {wall};
        const auto liquid = started_liquid(p);
        for (int frame = 0; frame < 24; ++frame) liquid->advance();
        EXPECT_EQ(std::ranges::count_if(liquid->particles().P, [](const Vec3f& x) { return x.x() > 0.211f; }), 0);
    }
}

// A board one cell thick is driven through a tank at five cells per substep, and back again.
TEST(DirectedLiquid, NothingPassesAFastBoard)
{
    for (const bool slanted : {false, true}) {
        LiquidParams p;
        p.voxel = 1.0f / 24, p.cfl = 5;
        p.domain = closed_domain(Vec3f(-2, 0, 0), Vec3f(2, 1, 0.5f));
        p.sources = {pool_source(0.4f)};
        ColliderParams board;
        board.min = Vec3f(-0.5f * p.voxel, -2, -2), board.max = Vec3f(0.5f * p.voxel, 3, 3);
        // 1.2 m in three frames: 9.6 m/s, five cells per substep.
        board.translate = {{0, -0.6f, 0, 0}, {3, 0.6f, 0, 0}, {6, -0.6f, 0, 0}, {9, 0.9f, 0, 0}};
        if (slanted) board.rotate = {{0, 0, 0, 1, 0}, {9, 0, 0, 1, 20}};
        p.colliders = {board};
        Shape shape(board, "");
        const auto liquid = started_liquid(p);
        const auto side = [&](const Vec3f& x, float frame) { // of the board's middle
            return shape.carried(x, frame, 0).x() > -0.6f;
        };
        std::map<int32_t, bool> at_first;
        for (size_t i = 0; i < liquid->particles().size(); ++i)
            at_first[liquid->particles().id[i]] = side(liquid->particles().P[i], 0);
        int passed = 0, substeps = 0;
        for (int frame = 1; frame <= 10; ++frame) {
            substeps += liquid->advance().substeps;
            for (size_t i = 0; i < liquid->particles().size(); ++i)
                passed +=
                    side(liquid->particles().P[i], static_cast<float>(frame)) != at_first.at(liquid->particles().id[i]);
        }
        std::printf("%d passed in %d substeps\n", passed, substeps);
        EXPECT_EQ(passed, 0) << (slanted ? "slanted" : "upright");
        EXPECT_LT(substeps, 150); // the board moves several cells in each
    }
}

// --------------------------------------------------------------------------------------------------- mesh sequences

Mesh ball_mesh(const Vec3f& center, const Vec3f& radii)
{
    // The sides of a cube, n x n squares each, projected onto a sphere.
    constexpr int n = 24;
    Mesh mesh;
    std::map<std::array<int, 3>, int> number;
    const auto vertex = [&](const Vec3i& at) {
        const auto [found, is_new] = number.try_emplace({at.x(), at.y(), at.z()}, static_cast<int>(number.size()));
        if (is_new) {
            const Vec3f x = (2.0f / n) * at.cast<float>() - Vec3f::Ones();
            mesh.positions.push_back(center + radii.cwiseProduct(x.normalized()));
        }
        return found->second;
    };
    for (int axis = 0; axis < 3; ++axis)
        for (int upper = 0; upper < 2; ++upper)
            for (int i = 0; i < n; ++i)
                for (int j = 0; j < n; ++j) {
                    Vec3i a, u = Vec3i::Unit((axis + 1) % 3), v = Vec3i::Unit((axis + 2) % 3);
                    a[axis] = upper * n, a[(axis + 1) % 3] = i, a[(axis + 2) % 3] = j;
                    if (!upper) std::swap(u, v);
                    const int p = vertex(a), q = vertex(a + u), r = vertex(a + u + v), s = vertex(a + v);
                    mesh.triangles.emplace_back(p, q, r), mesh.triangles.emplace_back(p, r, s);
                }
    return mesh;
}

TEST(MeshSequences, InterpolateVerticesBetweenFrames)
{
    const TempFolder folder;
    const std::string pattern = folder / "ball.####.ply";
    // Grows by 0.1 and moves by (0.3, 0, 0) per frame.
    for (int frame = 1; frame <= 3; ++frame) {
        const auto f = static_cast<float>(frame);
        write_mesh(frame_path(pattern, frame), ball_mesh(Vec3f(0.3f * f, 0, 0), Vec3f::Constant(1 + 0.1f * f)));
    }
    ShapeParams params;
    params.shape = ShapeParams::Kind::mesh, params.file = pattern;
    Shape shape(params, "scene");
    EXPECT_TRUE(shape.moves());
    for (const float frame : {1.0f, 1.5f, 2.25f}) {
        shape.prepare(frame);
        const Vec3f center(0.3f * frame, 0, 0);
        const float radius = 1 + 0.1f * frame;
        for (const Vec3f& direction : {Vec3f(1, 0, 0), Vec3f(0, 1, 0), Vec3f(-0.6f, 0, 0.8f)}) {
            EXPECT_NEAR(shape.distance(center + 2 * direction, frame), 2 - radius, 5e-3f);
            const Vec3f exact = 24 * (Vec3f(0.3f, 0, 0) + 0.1f * direction);
            EXPECT_LT((shape.velocity(center + (radius + 0.1f) * direction, frame, 24) - exact).norm(), 0.1f);
        }
    }
    // It is constant before the first and after the last frame.
    for (const float frame : {-4.0f, 9.0f}) {
        shape.prepare(frame);
        EXPECT_EQ(shape.velocity(Vec3f(2, 0, 0), frame, 24), Vec3f::Zero());
    }
    EXPECT_EQ(mesh_files(pattern).size(), 3u);
}

TEST(MeshSequences, MayChangeTopology)
{
    const TempFolder folder;
    const std::string pattern = folder / "shape.%04d.obj";
    write_mesh(frame_path(pattern, 0), ball_mesh(Vec3f::Zero(), Vec3f::Constant(1)));
    ShapeParams box;
    box.min = Vec3f::Constant(-2), box.max = Vec3f::Constant(2);
    write_mesh(frame_path(pattern, 1), Shape(box, "").mesh(0));
    ShapeParams params;
    params.shape = ShapeParams::Kind::mesh, params.file = pattern;
    Shape shape(params, "scene");
    shape.prepare(0.5f);
    EXPECT_NEAR(shape.distance(Vec3f(3, 0, 0), 0.5f), 1.5f, 5e-3f); // halfway between the two
    EXPECT_LT((shape.velocity(Vec3f(1.6f, 0, 0), 0.5f, 24) - Vec3f(24, 0, 0)).norm(), 0.5f);
}

TEST(MeshSequences, ErrorsAreReportedBeforeTheRun)
{
    const TempFolder folder;
    ShapeParams params;
    params.shape = ShapeParams::Kind::mesh, params.file = folder / "ball.$F4.ply";
    const auto message = [&] {
        try {
            Shape(params, "scene.toml:3:8");
        } catch (const Error& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    EXPECT_NE(message().find("scene.toml:3:8: there is no file"), std::string::npos) << message();
    write_mesh(frame_path(params.file, 1), ball_mesh(Vec3f::Zero(), Vec3f::Constant(1)));
    write_mesh(frame_path(params.file, 3), ball_mesh(Vec3f::Zero(), Vec3f::Constant(1)));
    EXPECT_NE(message().find("0002.ply is missing"), std::string::npos) << message();
    Mesh open = ball_mesh(Vec3f::Zero(), Vec3f::Constant(1));
    open.triangles.pop_back();
    write_mesh(frame_path(params.file, 2), open);
    EXPECT_NE(message().find("0002.ply is not closed"), std::string::npos) << message();
}

TEST(MeshSequences, PushLiquidBitIdenticallyForAnyNumberOfThreads)
{
    const TempFolder folder;
    const std::string pattern = folder / "ball.####.ply";
    for (int frame = 0; frame <= 4; ++frame)
        write_mesh(frame_path(pattern, frame),
                   ball_mesh(Vec3f(0.5f, 0.35f, 0.5f), Vec3f::Constant(0.1f + 0.03f * static_cast<float>(frame))));
    LiquidParams p;
    p.voxel = 1.0f / 24, p.domain = closed_domain(Vec3f(0, 0, 0), Vec3f(1, 1, 1)), p.sources = {pool_source(0.4f)};
    ColliderParams ball;
    ball.shape = ShapeParams::Kind::mesh, ball.file = pattern;
    p.colliders = {ball};
    const Particles one = same_for_any_threads(p, 4);
    for (const Vec3f& x : one.P) ASSERT_GT((x - Vec3f(0.5f, 0.35f, 0.5f)).norm(), 0.218f);
}

} // namespace
} // namespace spindrift
