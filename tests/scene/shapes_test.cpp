#include "spindrift/scene/shapes.h"

#include "mesh/test_meshes.h"
#include "spindrift/base/error.h"
#include "spindrift/base/random.h"
#include "spindrift/io/mesh_file.h"
#include "spindrift/scene/scene_file.h"

#include <Eigen/Geometry>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

namespace spindrift {
namespace {

using Kind = ShapeParams::Kind;

// A folder for meshes and scenes, deleted at the end of the test.
class ShapeTest : public testing::Test {
  protected:
    void SetUp() override
    {
        folder = std::filesystem::temp_directory_path() / fmt::format("spindrift_shapes_test_{}", getpid());
        std::filesystem::create_directories(folder);
    }
    void TearDown() override { std::filesystem::remove_all(folder); }

    std::string written(const std::string& name, const std::string& text) const
    {
        const std::string path = (folder / name).string();
        std::ofstream(path, std::ios::binary) << text;
        return path;
    }
    // The error message of a [shape] table, starting with its line.
    std::string error(const std::string& lines) const
    {
        const std::string path = written("scene.toml", "[shape]\n" + lines);
        ShapeParams params;
        try {
            SceneFile(path).read("shape", [&](ParamVisitor& v) { params.visit(v); });
        } catch (const Error& e) {
            return std::string(e.what()).substr(path.size());
        }
        return "no error";
    }
    static std::string error_of(const ShapeParams& params)
    {
        try {
            Shape shape(params, "scene.toml:3:8");
        } catch (const Error& e) {
            EXPECT_EQ(e.code, ExitCode::bad_input);
            return e.what();
        }
        return "no error";
    }

    std::filesystem::path folder;
};

ShapeParams box(const Vec3f& min, const Vec3f& max)
{
    ShapeParams params;
    params.min = min, params.max = max;
    return params;
}

Vec3f random_point(Random& random, float reach)
{
    return {random.uniform(-reach, reach), random.uniform(-reach, reach), random.uniform(-reach, reach)};
}

// A point of the shape, moved explicitly by its keyframes: rotated about the pivot, then translated.
Vec3f moved(const Vec3f& x, const Vec3f& pivot, const Vec3f& axis, double degrees, const Vec3f& shift)
{
    const Eigen::AngleAxisd turn(degrees * kPi / 180, axis.cast<double>().normalized());
    return (turn * (x - pivot).cast<double>()).cast<float>() + pivot + shift;
}

TEST_F(ShapeTest, DistanceToABoxIsExactInsideAndOutside)
{
    const Shape shape(box({-1, 0, 2}, {1, 4, 3}), "");
    EXPECT_FLOAT_EQ(shape.distance({0, 1, 2.25f}, 0), -0.25f); // nearest to a face, from inside
    EXPECT_FLOAT_EQ(shape.distance({0, 2, 5}, 0), 2);          // over a face
    EXPECT_FLOAT_EQ(shape.distance({4, 8, 2.5f}, 0), 5);       // beside an edge: 3, 4, 5
    EXPECT_FLOAT_EQ(shape.distance({2, -2, 5}, 0), 3);         // off a corner: 1, 2, 2
    EXPECT_FLOAT_EQ(shape.distance({1, 1, 2.5f}, 0), 0);
}

TEST_F(ShapeTest, DistanceToSphereAndHalfSpaceIsExact)
{
    ShapeParams sphere;
    sphere.shape = Kind::sphere, sphere.center = {1, 2, 3}, sphere.radius = 2;
    EXPECT_FLOAT_EQ(Shape(sphere, "").distance({1, 2, 8}, 0), 3);
    EXPECT_FLOAT_EQ(Shape(sphere, "").distance({1, 2.5f, 3}, 0), -1.5f);

    ShapeParams ground;
    ground.shape = Kind::half_space, ground.point = {0, 1, 0}, ground.normal = {0, 8, 6}; // not of unit length
    EXPECT_FLOAT_EQ(Shape(ground, "").distance({5, 1, 1}, 0), 0.6f);
    EXPECT_FLOAT_EQ(Shape(ground, "").distance({5, 0, 0}, 0), -0.8f);
    ground.normal = {0, 1e-30f, 0};
    EXPECT_FLOAT_EQ(Shape(ground, "").distance({5, 3, 1}, 0), 2);
}

TEST_F(ShapeTest, ACapsuleIsACylinderWithRoundEnds)
{
    ShapeParams params;
    params.shape = Kind::capsule, params.start = {1, 0, 0}, params.end = {5, 3, 0}, params.radius = 0.5f;
    const Shape shape(params, "");
    EXPECT_FLOAT_EQ(shape.distance({3, 1.5f, 0}, 0), -0.5f);
    EXPECT_FLOAT_EQ(shape.distance({3, 1.5f, 2}, 0), 1.5f);               // beside the middle
    EXPECT_FLOAT_EQ(shape.distance({3 - 0.6f, 1.5f + 0.8f, 0}, 0), 0.5f); // across
    EXPECT_FLOAT_EQ(shape.distance({5 + 0.8f, 3 + 0.6f, 0}, 0), 0.5f);    // beyond an end
    const Mesh mesh = shape.mesh(0);
    EXPECT_TRUE(is_closed(mesh));
    double volume = 0;
    for (const Vec3i& t : mesh.triangles) {
        const auto at = [&](int k) -> Vec3d { return mesh.positions[t[k]].cast<double>(); };
        volume += at(0).dot(at(1).cross(at(2))) / 6;
    }
    EXPECT_NEAR(volume, kPi * 0.25 * 5 + 4 * kPi / 3 * 0.125, 0.01);
    for (const Vec3f& x : mesh.positions) EXPECT_NEAR(shape.distance(x, 0), 0, 1e-5);

    params.end = params.start; // of no length: a ball
    EXPECT_FLOAT_EQ(Shape(params, "").distance({1, 2, 0}, 0), 1.5f);
    EXPECT_TRUE(is_closed(Shape(params, "").mesh(0)));
}

TEST_F(ShapeTest, InvertTurnsAShapeIntoAContainer)
{
    ShapeParams params = box({0, 0, 0}, {2, 2, 2});
    params.invert = true;
    const Shape shape(params, "");
    EXPECT_FLOAT_EQ(shape.distance({1, 0.25f, 1}, 0), 0.25f);
    EXPECT_FLOAT_EQ(shape.distance({1, -3, 1}, 0), -3);
    EXPECT_EQ(shape.bounds(0).min, Vec3f::Constant(-kInfinity));
    EXPECT_EQ(shape.bounds(0).max, Vec3f::Constant(kInfinity));
}

TEST_F(ShapeTest, KeyframesAreLinearBetweenAndHeldOutside)
{
    ShapeParams params;
    params.shape = Kind::sphere, params.radius = 1;
    params.translate = {{10, 0, 0, 0}, {20, 10, 0, 0}, {30, 10, 5, 0}};
    const Shape shape(params, "");
    const auto center_is = [&](float frame, const Vec3f& center) {
        EXPECT_NEAR(shape.distance(center, frame), -1, 1e-6f) << frame;
    };
    center_is(-5, {0, 0, 0});
    center_is(10, {0, 0, 0});
    center_is(12.5f, {2.5f, 0, 0});
    center_is(20, {10, 0, 0});
    center_is(28, {10, 4, 0});
    center_is(30, {10, 5, 0});
    center_is(1000, {10, 5, 0});
    EXPECT_TRUE(shape.bounds(12.5f).min.isApprox(Vec3f(1.5f, -1, -1)));
    EXPECT_TRUE(shape.bounds(12.5f).max.isApprox(Vec3f(3.5f, 1, 1)));
}

TEST_F(ShapeTest, RotationTurnsAboutTheCentreByDegrees)
{
    ShapeParams params = box({1, 1, 1}, {5, 2, 3});
    params.rotate = {{0, 0, 0, 2, 0}, {10, 0, 0, 2, 720}};
    params.translate = {{0, 0, 0, 7}};
    const Shape shape(params, ""), still(box({1, 1, 1}, {5, 2, 3}), "");
    Random random(1);
    for (const float frame : {0.0f, 1.0f, 2.3f, 5.0f, 7.9f, 10.0f, 11.0f}) {
        const double degrees = 72.0 * std::min(frame, 10.0f);
        for (int i = 0; i < 50; ++i) {
            const Vec3f rest = random_point(random, 6);
            const Vec3f now = moved(rest, {3, 1.5f, 2}, {0, 0, 1}, degrees, {0, 0, 7});
            ASSERT_NEAR(shape.distance(now, frame), still.distance(rest, 0), 1e-5) << frame;
        }
    }
}

TEST_F(ShapeTest, OppositeAxisWithOppositeAngleIsTheSameRotation)
{
    ShapeParams params = box({-2, -1, -1}, {2, 1, 1});
    params.rotate = {{0, 0, 0, 1, 90}, {10, 0, 0, -1, 270}}; // from 90 to -270: one whole turn back
    ShapeParams plain = params;
    plain.rotate = {{0, 0, 0, 1, 90}, {10, 0, 0, 1, -270}};
    const Shape shape(params, ""), same(plain, "");
    Random random(2);
    for (int i = 0; i < 100; ++i) {
        const Vec3f x = random_point(random, 3);
        const float frame = random.uniform(0, 10);
        ASSERT_NEAR(shape.distance(x, frame), same.distance(x, frame), 1e-5);
    }
    EXPECT_NEAR(shape.velocity({1, 0, 0}, 5, 1).y(), -2 * kPi / 10, 1e-5);
}

TEST_F(ShapeTest, RotationFromOrToZeroDegreesUsesTheAxisOfTheOtherKey)
{
    ShapeParams params = box({-2, -1, -1}, {2, 1, 1});
    for (const std::vector<std::vector<float>>& keys :
         {std::vector<std::vector<float>>{{0, 0, 0, 0, 0}, {10, 0, 0, 1, 720}},
          {{0, 1, 0, 0, 0}, {10, 0, 0, 1, 720}},
          {{0, 0, 0, 1, -720}, {10, 0, 1, 0, 0}}}) {
        params.rotate = keys;
        EXPECT_TRUE(Shape(params, "").velocity({1, 0, 0}, 5, 1).isApprox(Vec3f(0, static_cast<float>(0.4 * kPi), 0)));
    }
}

TEST_F(ShapeTest, RotationBetweenAxesTakesTheShortestPathAtConstantSpeed)
{
    ShapeParams params = box({-2, -1, -1}, {2, 1, 1});
    params.rotate = {{0, 1, 0, 0, 90}, {10, 0, 1, 0, 90}};
    const Shape shape(params, "");
    const Eigen::Quaterniond from(Eigen::AngleAxisd(kPi / 2, Vec3d::UnitX())),
        to(Eigen::AngleAxisd(kPi / 2, Vec3d::UnitY()));
    const Shape still(box({-2, -1, -1}, {2, 1, 1}), "");
    Random random(3);
    for (int i = 0; i < 200; ++i) {
        const Vec3f rest = random_point(random, 3);
        const float frame = random.uniform(0, 10);
        const Vec3f now = (from.slerp(frame / 10, to) * rest.cast<double>()).cast<float>();
        ASSERT_NEAR(shape.distance(now, frame), still.distance(rest, 0), 1e-5);
    }
    // The whole way is 120 degrees.
    EXPECT_NEAR(shape.velocity({1, 0, 0}, 2, 1).squaredNorm() + shape.velocity({0, 1, 0}, 2, 1).squaredNorm() +
                    shape.velocity({0, 0, 1}, 2, 1).squaredNorm(),
                2 * std::pow(2 * kPi / 3 / 10, 2), 1e-5);
}

TEST_F(ShapeTest, VelocityIsThatOfAMaterialPoint)
{
    ShapeParams params = box({-1, 0, 0}, {1, 4, 1});
    params.translate = {{0, 0, 0, 0}, {8, 1, 2, 3}, {20, 0, 5, 0}};
    params.rotate = {{2, 0, 1, 1, 30}, {12, 0, 1, 1, 400}, {16, 1, 0, 0, 50}};
    const Shape shape(params, "");
    const Vec3f pivot(0, 2, 0.5f), axis(0, 1, 1);
    // The position of a point, computed explicitly, for the first rotation.
    const auto at = [&](const Vec3f& rest, double frame) -> Vec3d {
        const double shift = frame / 8;
        const Eigen::AngleAxisd turn((30 + 37 * (frame - 2)) * kPi / 180, axis.cast<double>().normalized());
        return turn * (rest - pivot).cast<double>() + pivot.cast<double>() + shift * Vec3d(1, 2, 3);
    };
    Random random(4);
    for (int i = 0; i < 100; ++i) {
        const Vec3f rest = random_point(random, 4);
        const float frame = random.uniform(2.5f, 7.5f);
        const Vec3d expected = (at(rest, frame + 1e-4) - at(rest, frame - 1e-4)) / 2e-4 * 24;
        const Vec3f velocity = shape.velocity(at(rest, frame).cast<float>(), frame, 24);
        ASSERT_NEAR((velocity.cast<double>() - expected).norm(), 0, 1e-4 * expected.norm()) << frame;
    }
}

TEST_F(ShapeTest, SurfaceMovesWithItsVelocity)
{
    // A point that moves with the velocity keeps its distance, for any motion.
    ShapeParams params = box({-1, 0, 0}, {1, 4, 1});
    params.translate = {{0, 0, 0, 0}, {8, 1, 2, 3}};
    params.rotate = {{0, 0, 1, 1, 30}, {8, 1, 0, 0, 150}};
    const Shape shape(params, "");
    Random random(5);
    for (int i = 0; i < 20; ++i) {
        Vec3f x = random_point(random, 3);
        const float before = shape.distance(x, 0);
        const int steps = 1000;
        for (int step = 0; step < steps; ++step) {
            const float frame = 8.0f * static_cast<float>(step) / steps, dt = 8.0f / steps;
            const Vec3f middle = x + 0.5f * dt * shape.velocity(x, frame, 1);
            x += dt * shape.velocity(middle, frame + 0.5f * dt, 1);
        }
        ASSERT_NEAR(shape.distance(x, 8), before, 1e-3);
    }
}

TEST_F(ShapeTest, VelocityIsZeroWhereThePoseIsHeld)
{
    ShapeParams params = box({-1, 0, 0}, {1, 4, 1});
    params.translate = {{10, 0, 0, 0}, {20, 1, 0, 0}};
    params.rotate = {{10, 0, 1, 0, 0}, {20, 0, 1, 0, 90}};
    const Shape shape(params, "");
    const Vec3f pivot(0, 2, 0.5f);
    EXPECT_EQ(shape.velocity({3, 0, 0}, 9.99f, 24), Vec3f(0, 0, 0));
    EXPECT_EQ(shape.velocity({3, 0, 0}, 20, 24), Vec3f(0, 0, 0));
    EXPECT_EQ(shape.velocity({3, 0, 0}, 21, 24), Vec3f(0, 0, 0));
    EXPECT_TRUE(shape.velocity(pivot, 10, 24).isApprox(Vec3f(2.4f, 0, 0))); // at a key, the motion that follows
    EXPECT_TRUE(shape.velocity(pivot + Vec3f(0.5f, 0, 0), 15, 24).isApprox(Vec3f(2.4f, 0, 0)));
}

TEST_F(ShapeTest, MovesOnlyIfKeyframesDiffer)
{
    ShapeParams params;
    EXPECT_FALSE(Shape(params, "").moves());
    params.translate = {{0, 1, 2, 3}};
    params.rotate = {{0, 0, 1, 0, 30}, {10, 0, 1, 0, 30}};
    EXPECT_FALSE(Shape(params, "").moves());
    params.rotate[1][4] = 31;
    EXPECT_TRUE(Shape(params, "").moves());
    params.rotate.clear();
    params.translate.push_back({5, 1, 2, 3.5f});
    EXPECT_TRUE(Shape(params, "").moves());
}

TEST_F(ShapeTest, BoundsContainAMovingShape)
{
    ShapeParams params = box({-1, 0, 0}, {1, 4, 1});
    params.translate = {{0, 0, 0, 0}, {8, 1, 2, 3}};
    params.rotate = {{0, 0, 1, 1, 30}, {8, 1, 0, 0, 150}};
    params.start = {-1, 0, 0}, params.end = {1, 4, 1};
    Random random(6);
    for (const Kind kind : {Kind::box, Kind::capsule})
        for (const float frame : {0.0f, 3.0f, 8.0f}) {
            params.shape = kind;
            const Shape shape(params, "");
            const Box3f bounds = shape.bounds(frame);
            Box3f met;
            for (int i = 0; i < 100000; ++i) {
                const Vec3f x = random_point(random, 7);
                if (shape.distance(x, frame) < 0) met.add(x);
            }
            EXPECT_TRUE(bounds.grown(1e-5f).contains(met.min) && bounds.grown(1e-5f).contains(met.max)) << frame;
            EXPECT_LT((bounds.size() - met.size()).maxCoeff(), 1.5f) << frame; // and not much larger than necessary
        }
}

TEST_F(ShapeTest, MeshesBehaveLikeOtherShapes)
{
    const std::string file = (folder / "box.obj").string();
    write_mesh(file, box_mesh({1, 1, 1}, {5, 2, 3}));
    ShapeParams params = box({1, 1, 1}, {5, 2, 3});
    params.translate = {{0, 0, 0, 0}, {10, 1, 2, 3}};
    params.rotate = {{0, 1, 1, 0, 0}, {10, 1, 1, 0, 100}};
    const Shape exact(params, "");
    params.shape = Kind::mesh, params.file = file;
    const Shape mesh(params, "");
    Random random(7);
    for (int i = 0; i < 500; ++i) {
        const Vec3f x = random_point(random, 6);
        const float frame = random.uniform(0, 10);
        ASSERT_NEAR(mesh.distance(x, frame), exact.distance(x, frame), 1e-5) << x.transpose();
        ASSERT_EQ(mesh.velocity(x, frame, 24), exact.velocity(x, frame, 24));
        ASSERT_TRUE(mesh.bounds(frame).min.isApprox(exact.bounds(frame).min));
    }
}

TEST_F(ShapeTest, AMeshMayRepeatItsVertices)
{
    // Three vertices of its own for each triangle, as files with normals or texture coordinates have.
    const Mesh shared = box_mesh({0, 0, 0}, {2, 2, 2});
    Mesh split;
    for (const Vec3i& t : shared.triangles) {
        const int first = static_cast<int>(split.positions.size());
        for (int k = 0; k < 3; ++k) split.positions.push_back(shared.positions[t[k]]);
        split.triangles.emplace_back(first, first + 1, first + 2);
    }
    ShapeParams params;
    params.shape = Kind::mesh, params.file = (folder / "split.ply").string();
    write_mesh(params.file, split);
    EXPECT_NEAR(Shape(params, "").distance({1, 1, 0.5f}, 0), -0.5, 1e-6);
}

TEST_F(ShapeTest, ABadMeshIsRejectedWithThePlaceInTheScene)
{
    ShapeParams params;
    params.shape = Kind::mesh;
    params.file = (folder / "none.obj").string();
    EXPECT_TRUE(error_of(params).starts_with("scene.toml:3:8: ")) << error_of(params);
    EXPECT_NE(error_of(params).find("none.obj"), std::string::npos);

    params.file = written("open.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\n");
    EXPECT_EQ(error_of(params).find("scene.toml:3:8: " + params.file + " is not closed"), 0u) << error_of(params);
    params.file = written("closed.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n");
    EXPECT_EQ(error_of(params), "no error");
    params.file = written("empty.obj", "# nothing\n");
    EXPECT_TRUE(error_of(params).starts_with("scene.toml:3:8: ")) << error_of(params);
    params.file = written("nan.obj", "v nan 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n");
    EXPECT_TRUE(error_of(params).starts_with("scene.toml:3:8: ")) << error_of(params);
}

TEST_F(ShapeTest, InvalidParametersAreRejectedWithTheirPosition)
{
    EXPECT_EQ(error("min = [0, 0, 0]\nmax = [1, 0, 1]\n"), ":3:1: shape.max must be above min in x, y and z");
    EXPECT_EQ(error("min = [2, 0, 0]\n"), ":1:1: shape.max must be above min in x, y and z");
    EXPECT_EQ(error("shape = \"half_space\"\nnormal = [0, 0, 0]\n"), ":3:1: shape.normal must not be zero");
    EXPECT_EQ(error("shape = \"mesh\"\n"), ":1:1: shape.file must name a mesh for shape = \"mesh\"");
    EXPECT_EQ(error("shape = \"sphere\"\nradius = 0\n"), ":3:10: shape.radius is 0 m; it must be 1e-07 to 1000000 m");
    const std::string order = " must have keyframes in ascending order of frames";
    EXPECT_EQ(error("translate = [[0, 0, 0, 0], [5, 1, 1, 1], [5, 2, 2, 2]]\n"), ":2:1: shape.translate" + order);
    EXPECT_EQ(error("rotate = [[1, 0, 1, 0, 0], [0, 0, 1, 0, 90]]\n"), ":2:1: shape.rotate" + order);
    EXPECT_EQ(error("rotate = [[1, 0, 0, 0, 90]]\n"),
              ":2:1: shape.rotate must have an axis other than [0, 0, 0] for each turn");
    // Parameters of other kinds of shapes are ignored.
    EXPECT_EQ(error("shape = \"sphere\"\nmin = [2, 0, 0]\nnormal = [0, 0, 0]\n"), "no error");
    EXPECT_EQ(error("rotate = [[0, 0, 0, 0, 0], [5, 0, 1, 0, 90]]\n"), "no error");
}

} // namespace
} // namespace spindrift
