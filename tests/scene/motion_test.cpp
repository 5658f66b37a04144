// Keyframes and shapes moved by them: distances, velocities and bounds of a shape must be consistent.
#include "io/temp_folder.h"
#include "mesh/test_meshes.h"
#include "spindrift/base/error.h"
#include "spindrift/base/random.h"
#include "spindrift/io/mesh_file.h"
#include "spindrift/mesh/distance.h"
#include "spindrift/scene/shapes.h"

#include <gtest/gtest.h>

namespace spindrift {
namespace {

using Kind = ShapeParams::Kind;

Vec3f random_point(Random& random, float reach)
{
    return {random.uniform(-reach, reach), random.uniform(-reach, reach), random.uniform(-reach, reach)};
}

Vec3d difference(const std::function<Vec3d(float)>& value, float frame, float step = 1.0f / 512)
{
    return (value(frame + step) - value(frame - step)) / (2.0 * step);
}

// Rotation vector between two orientations, for small angles.
Vec3d way(const Eigen::Quaterniond& from, const Eigen::Quaterniond& to)
{
    const Eigen::AngleAxisd turn(to * from.conjugate());
    const double angle = turn.angle() > kPi ? turn.angle() - 2 * kPi : turn.angle();
    return angle * turn.axis();
}

// ----------------------------------------------------------------------------------------------------------- keyframes

TEST(Keyframes, SmoothInterpolationIsContinuouslyDifferentiable)
{
    const Keys keys = {{1, 0, 0, 0}, {5, 1, 2, 0}, {6, 3, 1, -1}, {12, 0, 0, 5}, {13, 1, 1, 1}};
    for (const std::vector<float>& key : keys) {
        const KeyedValue at = value_at(keys, key[0], Interpolation::smooth);
        EXPECT_LT((at.value - Vec3d(key[1], key[2], key[3])).norm(), 1e-12);
        // The rate is the same from both sides; at the ends it is zero, as before and after them.
        const KeyedValue before = value_at(keys, key[0] - 1e-4f, Interpolation::smooth);
        const KeyedValue after = value_at(keys, key[0] + 1e-4f, Interpolation::smooth);
        EXPECT_LT((before.rate - after.rate).norm(), 5e-3) << key[0];
        EXPECT_LT((before.rate - at.rate).norm(), 5e-3) << key[0];
    }
    EXPECT_EQ(value_at(keys, 1, Interpolation::smooth).rate.norm(), 0);
    EXPECT_EQ(value_at(keys, 0, Interpolation::smooth).rate.norm(), 0);
    EXPECT_EQ(value_at(keys, 13, Interpolation::smooth).rate.norm(), 0);
    for (float frame = 1.25f; frame < 13; frame += 0.365f) {
        const Vec3d rate = value_at(keys, frame, Interpolation::smooth).rate;
        const Vec3d expected =
            difference([&](float f) -> Vec3d { return value_at(keys, f, Interpolation::smooth).value; }, frame);
        EXPECT_LT((rate - expected).norm(), 2e-3 * (1 + expected.norm())) << frame;
    }
}

TEST(Keyframes, SmoothIsConstantBetweenEqualKeysAndStepJumps)
{
    const Keys keys = {{1, 0}, {5, 2}, {9, 2}, {14, 0}};
    for (float frame = 5; frame <= 9; frame += 0.5f)
        EXPECT_EQ(value_at(keys, frame, Interpolation::smooth).value.x(), 2);
    EXPECT_EQ(value_at(keys, 4.99f, Interpolation::step).value.x(), 0);
    EXPECT_EQ(value_at(keys, 5, Interpolation::step).value.x(), 2);
    EXPECT_EQ(value_at(keys, 4.99f, Interpolation::step).rate.x(), 0);
    EXPECT_EQ(value_at(keys, 20, Interpolation::step).value.x(), 0);
}

TEST(Keyframes, SmoothRotationsPassThroughTheirKeysWithMatchingAngularVelocity)
{
    const Keys keys = {{0, 0, 0, 1, 0}, {4, 0, 0, 1, 300}, {9, 1, 0, 0, 80}, {11, 1, 1, 0, 60}, {15, 0, 1, 0, 170}};
    for (const std::vector<float>& key : keys) {
        const Eigen::Quaterniond expected(
            Eigen::AngleAxisd(key[4] * kPi / 180, Vec3d(key[1], key[2], key[3]).normalized()));
        const KeyedTurn at = turn_at(keys, key[0], Interpolation::smooth);
        EXPECT_LT(way(expected, at.turn).norm(), 1e-6) << key[0];
        const Vec3d before = turn_at(keys, key[0] - 1e-4f, Interpolation::smooth).spin;
        const Vec3d after = turn_at(keys, key[0] + 1e-4f, Interpolation::smooth).spin;
        EXPECT_LT((before - after).norm(), 2e-3) << key[0];
    }
    for (float frame = 0.2f; frame < 15; frame += 0.31f) {
        const float step = 1.0f / 256;
        const Vec3d turned = way(turn_at(keys, frame - step, Interpolation::smooth).turn,
                                 turn_at(keys, frame + step, Interpolation::smooth).turn) /
                             (2 * step);
        const Vec3d spin = turn_at(keys, frame, Interpolation::smooth).spin;
        EXPECT_LT((spin - turned).norm(), 3e-3 * (1 + turned.norm())) << frame;
    }
}

TEST(Keyframes, SmoothRotationsAboutOneAxisKeepWholeTurns)
{
    const Keys keys = {{0, 0, 1, 0, 0}, {10, 0, 1, 0, 720}, {20, 0, 1, 0, 1440}};
    double turned = 0;
    const int steps = 2000;
    for (int i = 0; i < steps; ++i)
        turned +=
            turn_at(keys, 20.0f * (static_cast<float>(i) + 0.5f) / steps, Interpolation::smooth).spin.y() * 20 / steps;
    EXPECT_NEAR(turned, 8 * kPi, 1e-3);
    EXPECT_NEAR(turn_at(keys, 10, Interpolation::smooth).spin.y(), 1440 * kPi / 180 / 20, 1e-9);
}

// -------------------------------------------------------------------------------------------------------------- shapes

Keys random_keys(Random& random, int numbers, const std::function<float()>& value)
{
    Keys keys;
    float frame = random.uniform(0, 3);
    for (int i = 0; i < 4; ++i, frame += random.uniform(1, 5)) {
        keys.push_back({frame});
        for (int k = 0; k < numbers; ++k) keys.back().push_back(value());
    }
    return keys;
}

MotionParams random_motion(Random& random, bool even)
{
    MotionParams motion;
    const auto bit = [&] { return random.uniform() < 0.6f; };
    motion.interpolation = random.uniform() < 0.4f ? Interpolation::linear : Interpolation::smooth;
    if (bit()) motion.translate = random_keys(random, 3, [&] { return random.uniform(-2, 2); });
    if (bit()) {
        motion.rotate = random_keys(random, 3, [&] { return random.uniform(-1, 1); });
        for (std::vector<float>& key : motion.rotate) key.push_back(random.uniform(-300, 300));
    }
    if (bit()) {
        motion.scale = random_keys(random, 3, [&] { return random.uniform(0.4f, 2.5f); });
        if (even || bit())
            for (std::vector<float>& key : motion.scale) key[2] = key[3] = key[1];
    }
    if (bit()) motion.pivot = random_point(random, 1);
    return motion;
}

class MovedShapes : public testing::Test {
  protected:
    TempFolder folder;

    ShapeParams form(Kind kind)
    {
        ShapeParams params;
        params.shape = kind;
        params.min = {-0.5f, 0.2f, -0.3f}, params.max = {0.7f, 0.8f, 0.4f};
        params.center = {0.3f, -0.2f, 0.1f}, params.radius = 0.4f;
        params.start = {-0.4f, 0.1f, 0}, params.end = {0.5f, 0.4f, 0.3f};
        params.point = {0.1f, 0.2f, 0.3f}, params.normal = {1, 2, -1};
        if (kind == Kind::mesh) {
            params.file = folder / "ball.obj";
            write_mesh(params.file, sphere_mesh({0.2f, 0.1f, -0.3f}, 0.5f, 3));
        }
        return params;
    }
    // A shape with random keyframes, and half of the time with one or two parents.
    Shape random_shape(Kind kind, Random& random)
    {
        ShapeParams params = form(kind);
        static_cast<MotionParams&>(params) = random_motion(random, false);
        std::shared_ptr<const Motion> parent;
        for (int depth = static_cast<int>(random.uniform(0, 3)); depth > 0; --depth)
            parent = std::make_shared<Motion>(random_motion(random, true), random_point(random, 1), parent);
        return Shape(params, "a test", parent);
    }
};

constexpr Kind kKinds[] = {Kind::box, Kind::sphere, Kind::capsule, Kind::half_space, Kind::mesh};

bool at_a_key(const Shape& shape, float frame)
{
    // Linear motions, also of parents, have a corner at their keys, where finite differences are wrong.
    const float step = 1.0f / 128;
    const Vec3f a = shape.velocity(shape.placed(Vec3f(0.3f, 0.2f, 0.1f), frame - step), frame - step, 1);
    const Vec3f b = shape.velocity(shape.placed(Vec3f(0.3f, 0.2f, 0.1f), frame + step), frame + step, 1);
    return (a - b).norm() > 0.1f * (a.norm() + b.norm()) + 0.02f;
}

TEST_F(MovedShapes, VelocityIsThatOfMaterialPoints)
{
    Random random(11);
    int checked = 0;
    for (int round = 0; round < 150; ++round) {
        const Shape shape = random_shape(kKinds[round % 5], random);
        for (int i = 0; i < 8; ++i) {
            const Vec3f rest = random_point(random, 1);
            const float frame = random.uniform(-1, 22);
            const Vec3f now = shape.placed(rest, frame);
            const float later = random.uniform(-1, 22);
            ASSERT_LT((shape.carried(now, frame, later) - shape.placed(rest, later)).norm(), 1e-4f);
            if (at_a_key(shape, frame)) continue;
            const Vec3d expected =
                difference([&](float f) -> Vec3d { return shape.placed(rest, f).cast<double>(); }, frame, 1.0f / 256);
            const Vec3d given = shape.velocity(now, frame, 1).cast<double>();
            ASSERT_LT((given - expected).norm(), 0.01 * expected.norm() + 2e-3) << round << ", frame " << frame;
            ++checked;
        }
    }
    EXPECT_GT(checked, 900);
}

TEST_F(MovedShapes, DistanceIsAtMostThatToTheirMesh)
{
    Random random(12);
    for (int round = 0; round < 60; ++round) {
        const Kind kind = kKinds[round % 5];
        if (kind == Kind::half_space) continue;
        const Shape shape = random_shape(kind, random);
        const float frame = random.uniform(-1, 22);
        const Mesh mesh = shape.mesh(frame);
        const Vec3d scale = shape.motion().at(frame).scale;
        const bool even = scale.maxCoeff() - scale.minCoeff() < 1e-6 * scale.maxCoeff();
        const MeshDistance exact(mesh);
        const Box3f bounds = shape.bounds(frame);
        const float size = bounds.size().norm();
        Box3f met;
        for (const Vec3f& x : mesh.positions) {
            ASSERT_NEAR(shape.distance(x, frame), 0, 1e-4f * size);
            met.add(x);
        }
        ASSERT_TRUE(bounds.grown(1e-4f * size).contains(met.min) && bounds.grown(1e-4f * size).contains(met.max));
        if (kind != Kind::mesh) { // the bounding box of a rotated mesh is larger
            ASSERT_LT((bounds.size() - met.size()).maxCoeff(), 0.01f * size) << round;
        }
        for (int i = 0; i < 200; ++i) {
            const Vec3f x = bounds.center() + random_point(random, 0.8f * size);
            const float d = shape.distance(x, frame), expected = exact.distance(x);
            const float coarse = 2e-3f * size; // of the mesh's triangles
            if (std::abs(expected) > coarse) {
                ASSERT_EQ(d < 0, expected < 0) << round;
            }
            ASSERT_LE(std::abs(d), std::abs(expected) + coarse) << round;
            if (even || kind == Kind::box) {
                ASSERT_NEAR(d, expected, coarse) << round;
            }
        }
    }
}

TEST_F(MovedShapes, DistanceToAStretchedHalfSpaceIsExact)
{
    Random random(13);
    for (int round = 0; round < 30; ++round) {
        const Shape shape = random_shape(Kind::half_space, random);
        const float frame = random.uniform(-1, 22);
        const Vec3f n = shape.params().normal;
        Vec3f u = n.unitOrthogonal(), w = n.cross(u);
        // The plane is that of three of its points.
        const Vec3f a = shape.placed(shape.middle(), frame), b = shape.placed(shape.middle() + u, frame),
                    c = shape.placed(shape.middle() + w, frame);
        const Vec3f normal = (b - a).cross(c - a).normalized();
        for (int i = 0; i < 20; ++i) {
            const Vec3f x = random_point(random, 3);
            ASSERT_NEAR(shape.distance(x, frame), (x - a).dot(normal), 1e-4f);
        }
    }
}

TEST_F(MovedShapes, SpeedBoundsTheVelocityOfEveryPoint)
{
    Random random(14);
    for (int round = 0; round < 60; ++round) {
        const Shape shape = random_shape(kKinds[round % 3], random);
        const float frame = random.uniform(0, 20), speed = shape.speed(frame, 24);
        for (const Vec3f& x : shape.mesh(frame).positions)
            ASSERT_LE(shape.velocity(x, frame, 24).cwiseAbs().maxCoeff(), 1.001f * speed + 1e-4f);
    }
}

TEST_F(MovedShapes, PreparedFramesGiveTheSameBits)
{
    Random random(15);
    for (int round = 0; round < 20; ++round) {
        Shape prepared = random_shape(kKinds[round % 5], random);
        const Shape plain = prepared;
        prepared.prepare(3.25f), prepared.prepare(7.5f);
        for (const float frame : {3.25f, 7.5f, 9.0f}) {
            const Vec3f x = random_point(random, 2);
            ASSERT_EQ(prepared.distance(x, frame), plain.distance(x, frame));
            ASSERT_EQ(prepared.velocity(x, frame, 24), plain.velocity(x, frame, 24));
        }
        ASSERT_EQ(prepared.carried({1, 1, 1}, 3.25f, 7.5f), plain.carried({1, 1, 1}, 3.25f, 7.5f));
    }
}

TEST_F(MovedShapes, ChildrenFollowTheirParent)
{
    // A parent that turns about the origin by 90 degrees, doubles, and shifts by 10 along x.
    MotionParams turning;
    turning.rotate = {{1, 0, 0, 1, 0}, {11, 0, 0, 1, 90}};
    turning.scale = {{1, 1, 1, 1}, {11, 2, 2, 2}};
    turning.translate = {{1, 0, 0, 0}, {11, 10, 0, 0}};
    const auto parent = std::make_shared<Motion>(turning, Vec3f::Zero());
    ShapeParams ball;
    ball.shape = Kind::sphere, ball.center = {1, 0, 0}, ball.radius = 0.5f;
    const Shape shape(ball, "a test", parent);
    EXPECT_TRUE(shape.moves());
    EXPECT_NEAR(shape.distance({1, 0, 0}, 0), -0.5f, 1e-6f);
    EXPECT_NEAR(shape.distance({10, 2, 0}, 11), -1, 1e-5f); // twice as large, at the end of a lever twice as long
    EXPECT_LT((shape.bounds(11).min - Vec3f(9, 1, -1)).norm(), 1e-5f);
}

TEST_F(MovedShapes, AnInvertedShapeHasWallsThatFaceInwards)
{
    ShapeParams params = form(Kind::sphere);
    params.invert = true;
    const Mesh walls = Shape(params, "a test").mesh(1);
    ASSERT_FALSE(walls.triangles.empty());
    EXPECT_NEAR(volume_of(walls), -4 * kPi / 3 * 0.064, 0.002);
    for (size_t i = 0; i < walls.positions.size(); ++i)
        ASSERT_LT(walls.normals[i].dot(walls.positions[i] - params.center), 0);
}

} // namespace
} // namespace spindrift
