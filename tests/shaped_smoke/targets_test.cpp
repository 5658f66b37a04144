#include "spindrift/shaped_smoke/targets.h"

#include "io/temp_folder.h"
#include "shaped_smoke/smokes.h"
#include "spindrift/mesh/distance.h"
#include "spindrift/shaped_smoke/shape_points.h"

#include <gtest/gtest.h>

namespace spindrift {

namespace {

Shape shape_with(const ShapeParams& params)
{
    Shape shape = shape_of(params, "target");
    shape.prepare(1);
    return shape;
}

std::vector<std::string> places_of(const std::vector<TargetParams>& params)
{
    std::vector<std::string> places;
    for (size_t i = 0; i < params.size(); ++i) places.push_back(fmt::format("target[{}]", i));
    return places;
}

Targets targets_of(const std::vector<TargetParams>& params)
{
    return Targets(params, shapes_of(params, "target"), places_of(params), 1);
}

std::string message_of(const std::vector<TargetParams>& params)
{
    return error_of(ExitCode::bad_input, [&] { targets_of(params); });
}

std::vector<std::string> warnings_of(const Targets& targets, float voxel, int controls = 10000000)
{
    ShapedSmokeParams smoke;
    smoke.voxel = voxel, smoke.controls = controls;
    return targets.warnings(smoke);
}

TEST(ShapePoints, AreInsideAndExactlyAsManyAsAskedFor)
{
    const Shape ball = shape_with(target_ball(Vec3f(1, 2, 3), 0.4f));
    const ShapePoints points(ball, 1, "target");
    EXPECT_NEAR(points.volume() / (4 * kPi / 3 * 0.064), 1, 0.02);
    for (const size_t count : {1u, 7u, 1000u, 25000u}) {
        const std::vector<Vec3f> all = points.take(count, 3);
        ASSERT_EQ(all.size(), count);
        for (const Vec3f& x : all) ASSERT_LT(ball.distance(x, 1), 0);
    }
}

TEST(ShapePoints, ThinPartsGetTheirShare)
{
    // A rod of 1/100 of the volume of the box that it is attached to, thinner than the spacing of the points.
    const TempFolder folder;
    const Mesh mesh =
        joined(box_mesh(Vec3f(0, 0, 0), Vec3f(1, 1, 1)), box_mesh(Vec3f(1, 0.49f, 0.49f), Vec3f(26, 0.51f, 0.51f)));
    write_mesh(folder / "rod.obj", mesh);
    const Shape shape = shape_with(target_mesh(folder / "rod.obj"));
    const size_t count = 3000;
    const std::vector<Vec3f> all = ShapePoints(shape, 1, "target").take(count, 1);
    double in_rod = 0;
    std::array<int, 5> along{};
    for (const Vec3f& x : all)
        if (x.x() > 1) ++in_rod, ++along[static_cast<size_t>((x.x() - 1) / 5)];
    EXPECT_NEAR(in_rod, 0.01 / 1.01 * static_cast<double>(count), 3);
    for (const int in_part : along) EXPECT_GT(in_part, 1);
}

TEST(ShapePoints, AreMoreEvenThanRandomOnes)
{
    const Shape ball = shape_with(target_ball(Vec3f::Zero(), 1));
    const std::vector<Vec3f> all = ShapePoints(ball, 1, "target").take(8000, 1);
    // Variance of the count in cubes well inside; that of random points equals the mean.
    double sum = 0, squares = 0, cubes = 0;
    const float edge = 0.25f;
    for (int x = -2; x < 2; ++x)
        for (int y = -2; y < 2; ++y)
            for (int z = -2; z < 2; ++z) {
                const Vec3f low = edge * Vec3i(x, y, z).cast<float>();
                const Box3f cube{low, low + Vec3f::Constant(edge)};
                const auto in_cube = static_cast<double>(
                    std::count_if(all.begin(), all.end(), [&](const Vec3f& p) { return cube.contains(p); }));
                sum += in_cube, squares += in_cube * in_cube, ++cubes;
            }
    const double mean = sum / cubes, variance = squares / cubes - mean * mean;
    EXPECT_LT(variance, 0.6 * mean);
}

TEST(Embedding, PointsReturnToTheirPlacesAtRest)
{
    const TempFolder folder;
    const Mesh mesh = creature_mesh(0.2f);
    write_mesh(folder / "creature.obj", mesh);
    const Shape shape = shape_with(target_mesh(folder / "creature.obj"));
    const std::vector<Vec3f> points = ShapePoints(shape, 1, "target").take(2000, 1);
    const Embedding embedding(mesh, points);
    std::vector<Vec3f> placed(points.size());
    embedding.place(mesh, placed);
    for (size_t i = 0; i < points.size(); ++i) EXPECT_LT((placed[i] - points[i]).norm(), 2e-3f);
}

TEST(Embedding, PointsStayInsideAsTheMeshWalks)
{
    const TempFolder folder;
    const Mesh rest = creature_mesh(0);
    write_mesh(folder / "creature.obj", rest);
    const Shape shape = shape_with(target_mesh(folder / "creature.obj"));
    const std::vector<Vec3f> points = ShapePoints(shape, 1, "target").take(4000, 1);
    const Embedding embedding(rest, points);
    std::vector<Vec3f> placed(points.size());
    double most_outside = 0;
    for (const float time : {0.15f, 0.3f, 0.6f, 0.85f}) {
        const Mesh bent = creature_mesh(time);
        const MeshDistance distance(bent);
        embedding.place(bent, placed);
        size_t outside = 0;
        float farthest = 0;
        for (const Vec3f& x : placed) {
            const float d = distance.distance(x);
            outside += d > 0, farthest = std::max(farthest, d);
        }
        const double share = static_cast<double>(outside) / static_cast<double>(points.size());
        most_outside = std::max(most_outside, share);
        EXPECT_LT(share, 0.01) << time;
        EXPECT_LT(farthest, 0.02f) << time;
    }
    RecordProperty("outside", fmt::format("{:.4f}", most_outside));
}

TEST(Targets, GroupsFollowEachOtherAndLetGo)
{
    std::vector<TargetParams> params = {target_ball(Vec3f::Zero(), 1), target_ball(Vec3f::Zero(), 1),
                                        target_ball(Vec3f(3, 0, 0), 1)};
    params[0].let_go = 20;
    params[1].frame = params[2].frame = 40, params[1].share = 1, params[2].share = 3;
    Targets targets = targets_of(params);
    EXPECT_EQ(targets.active(1), 0);
    EXPECT_EQ(targets.active(19.5f), 0);
    EXPECT_EQ(targets.active(20), -1);
    EXPECT_EQ(targets.active(40), 1);
    EXPECT_EQ(targets.active(1000), 1);
    targets.begin(1), targets.add(1001, 5);
    std::vector<Vec3f> places;
    targets.place(40, places);
    ASSERT_EQ(places.size(), 1001u);
    const auto right = std::count_if(places.begin(), places.end(), [](const Vec3f& x) { return x.x() > 1.5f; });
    EXPECT_NEAR(static_cast<double>(right), 0.75 * 1001, 1);
}

// In a shot that begins at frame 50.
TEST(Targets, OfThosePastOnlyTheLastCounts)
{
    std::vector<TargetParams> params(4, target_ball(Vec3f::Zero(), 1));
    for (size_t i = 0; i < params.size(); ++i) params[i].frame = std::array{1, 80, 20, 10}[i];
    const Targets targets(params, shapes_of(params, "target"), places_of(params), 50);
    EXPECT_EQ(targets.group_count(), 2);
    EXPECT_EQ(targets.active(50), 0);
    EXPECT_EQ(targets.active(80), 1);
    const std::vector<std::string> warnings = warnings_of(targets, 0.05f);
    ASSERT_EQ(warnings.size(), 2u);
    EXPECT_TRUE(warnings[0].starts_with("target[0]: the smoke never takes this shape"));
    EXPECT_TRUE(warnings[1].starts_with("target[3]: the smoke never takes this shape"));
    params[2].frame = 10; // two at one frame, as before
    const std::string message =
        error_of(ExitCode::bad_input, [&] { Targets(params, shapes_of(params, "target"), places_of(params), 50); });
    EXPECT_TRUE(contains(message, "share")) << message;
    params[2].frame = TargetParams().frame; // the first frame of the shot
    EXPECT_EQ(warnings_of(Targets(params, shapes_of(params, "target"), places_of(params), 50), 0.05f).size(), 2u);
}

TEST(Targets, MoveWithKeyframes)
{
    std::vector<TargetParams> params = {target_ball(Vec3f::Zero(), 1)};
    params[0].translate = {{1, 0, 0, 0}, {11, 5, 0, 0}};
    Targets targets = targets_of(params);
    targets.begin(0), targets.add(100, 5);
    std::vector<Vec3f> before, after;
    targets.place(1, before), targets.place(11, after);
    for (size_t i = 0; i < before.size(); ++i) EXPECT_LT((after[i] - before[i] - Vec3f(5, 0, 0)).norm(), 1e-5f);
}

TEST(Targets, BadOnesAreNamed)
{
    const TempFolder folder;
    const auto mesh_target = [&](const Mesh& mesh, const char* name) {
        write_mesh(folder / name, mesh);
        return target_mesh(folder / name);
    };
    Mesh open = sphere_mesh(Vec3f::Zero(), 1, 2);
    open.triangles.pop_back();
    EXPECT_TRUE(contains(message_of({mesh_target(open, "open.obj")}), "not closed"));
    Mesh flat = box_mesh(Vec3f(0, 0, 0), Vec3f(1, 1, 1));
    for (Vec3f& x : flat.positions) x.z() *= 1e-7f;
    EXPECT_TRUE(contains(message_of({mesh_target(flat, "flat.obj")}), "no volume"));
    EXPECT_TRUE(contains(message_of({target_ball(Vec3f::Zero(), 1), target_ball(Vec3f::Zero(), 1)}), "share"));
    EXPECT_TRUE(contains(message_of({target_mesh(folder / "none.obj")}), "none.obj"));
    const std::string of_empty = message_of({mesh_target(Mesh(), "empty.obj")});
    EXPECT_TRUE(contains(of_empty, "empty.obj")) << of_empty;

    write_mesh(folder / "changes.0001.obj", sphere_mesh(Vec3f::Zero(), 1, 1));
    write_mesh(folder / "changes.0002.obj", sphere_mesh(Vec3f::Zero(), 1, 2));
    EXPECT_TRUE(contains(message_of({target_mesh(folder / "changes.####.obj")}), "other triangles"));
}

TEST(Targets, PartsThatTouchAreFilled)
{
    const TempFolder folder;
    write_mesh(folder / "two.obj",
               joined(box_mesh(Vec3f(0, 0, 0), Vec3f(1, 1, 1)), box_mesh(Vec3f(1, 0, 0), Vec3f(2, 1, 1))));
    Targets targets = targets_of({target_mesh(folder / "two.obj")});
    targets.begin(0), targets.add(1000, 1);
    std::vector<Vec3f> places;
    targets.place(1, places);
    const auto right = std::count_if(places.begin(), places.end(), [](const Vec3f& x) { return x.x() > 1; });
    EXPECT_NEAR(static_cast<double>(right), 500, 5);
}

// A warning names a number of control particles, and a voxel, with which there is none.
TEST(Targets, TooFewControlParticlesForAShapeAreAWarning)
{
    const Targets ball = targets_of({target_ball(Vec3f(0, 0.5f, 0), 0.5f)});
    EXPECT_TRUE(warnings_of(ball, 0.03f, 10000).empty());
    const std::vector<std::string> few = warnings_of(ball, 0.02f, 10000);
    ASSERT_EQ(few.size(), 1u);
    EXPECT_TRUE(contains(few[0], "target[0]: about 10000 control particles are too few")) << few[0];
    EXPECT_TRUE(contains(few[0], "raise controls to 16")) << few[0];
    EXPECT_TRUE(warnings_of(ball, 0.02f, 16900).empty());
    EXPECT_TRUE(contains(few[0], "voxel to 0.024")) << few[0];
    EXPECT_TRUE(warnings_of(ball, 0.024f, 10000).empty());
    // Of two shapes, the one with the smaller share for its volume.
    std::vector<TargetParams> two = {target_ball(Vec3f(-1, 0, 0), 0.5f), target_ball(Vec3f(1, 0, 0), 0.1f)};
    two[0].share = 1, two[1].share = 1;
    const std::vector<std::string> of_two = warnings_of(targets_of(two), 0.03f, 8000);
    ASSERT_EQ(of_two.size(), 1u);
    EXPECT_TRUE(of_two[0].starts_with("target[0]: about 4000")) << of_two[0];
}

TEST(Targets, RepairsAndDoubtsAreWarnings)
{
    const TempFolder folder;
    write_mesh(folder / "inverted.obj", inside_out(sphere_mesh(Vec3f::Zero(), 1, 2)));
    write_mesh(folder / "thin.obj", box_mesh(Vec3f(0, 0, 0), Vec3f(1, 1, 0.01f)));
    Targets inverted = targets_of({target_mesh(folder / "inverted.obj")});
    ASSERT_EQ(warnings_of(inverted, 0.05f).size(), 1u);
    EXPECT_TRUE(contains(warnings_of(inverted, 0.05f)[0], "inside out"));
    inverted.begin(0), inverted.add(500, 1);
    std::vector<Vec3f> places;
    inverted.place(1, places);
    for (const Vec3f& x : places) EXPECT_LT(x.norm(), 1.0f);
    const Targets thin = targets_of({target_mesh(folder / "thin.obj")});
    ASSERT_EQ(warnings_of(thin, 0.05f).size(), 1u);
    EXPECT_TRUE(contains(warnings_of(thin, 0.05f)[0], "thinner than a cell"));
    EXPECT_TRUE(warnings_of(thin, 0.009f).empty());
    // However it is turned.
    TargetParams turned = target_mesh(folder / "thin.obj");
    turned.rotate = {{1, 1, 2, 3, 40}};
    EXPECT_EQ(warnings_of(targets_of({turned}), 0.05f).size(), 1u);
    // Parts that overlap, and triangles without area.
    Mesh odd = joined(sphere_mesh(Vec3f::Zero(), 1, 2), sphere_mesh(Vec3f::UnitX(), 1, 2));
    odd.triangles.emplace_back(3, 3, 4);
    write_mesh(folder / "odd.obj", odd);
    const std::vector<std::string> of_odd = warnings_of(targets_of({target_mesh(folder / "odd.obj")}), 0.05f);
    ASSERT_EQ(of_odd.size(), 2u);
    EXPECT_TRUE(contains(of_odd[0], "1 triangle without area") && contains(of_odd[1], "passes through itself"));
    EXPECT_TRUE(warnings_of(targets_of({target_ball(Vec3f::Zero(), 1)}), 0.05f).empty());
}

} // namespace

} // namespace spindrift
