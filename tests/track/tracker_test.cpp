#include "spindrift/track/tracker.h"

#include "base/determinism.h"
#include "mesh/manifold.h"
#include "mesh/test_meshes.h"
#include "track/flows.h"

#include <gtest/gtest.h>

using namespace spindrift;

namespace {

constexpr double kBall = 4 * kPi / 3;

// Mean and largest distance of the vertices from a ball.
std::pair<double, double> distance_from_ball(const Mesh& mesh, const Vec3f& center, float radius)
{
    double mean = 0, most = 0;
    for (const Vec3f& x : mesh.positions) {
        const double d = std::abs(static_cast<double>((x - center).norm() - radius));
        mean += d / static_cast<double>(mesh.positions.size()), most = std::max(most, d);
    }
    return {mean, most};
}

} // namespace

TEST(Tracker, DeformedBallComesBackWithItsVolume)
{
    const Vec3f center = Vec3f::Constant(0.35f);
    double errors[2] = {};
    for (const int cells : {64, 128}) {
        const float voxel = 1.0f / static_cast<float>(cells);
        SurfaceTracker tracker({.voxel = voxel});
        tracker.start({ball_source(center, 0.15f)});
        int open = 0;
        deform(tracker, voxel, 8, [&](int) { open += !is_manifold(tracker.mesh()); });
        EXPECT_EQ(open, 0);
        const double exact = kBall * std::pow(0.15, 3);
        errors[cells == 128] = std::abs(volume_of(tracker.mesh()) / exact - 1);
        EXPECT_LT(errors[cells == 128], cells == 64 ? 0.05 : 0.01);
        const auto [mean, most] = distance_from_ball(tracker.mesh(), center, 0.15f);
        EXPECT_LT(mean, 0.25 * static_cast<double>(voxel));
        EXPECT_LT(most, static_cast<double>(voxel));
    }
    EXPECT_LT(errors[1], 0.5 * errors[0]);
}

// [Zalesak 1979]. In one part, paths would leave the circle: -1.35%, and half a voxel in the mean.
TEST(Tracker, SlottedSphereTurnsInLongSteps)
{
    const float voxel = 1.0f / 128;
    const SurfaceTracker::Source ball = ball_source({0.5f, 0.75f, 0.5f}, 0.15f);
    const auto slotted = [&](const Vec3f& x) {
        return std::max(ball.distance(x), -std::max(std::abs(x.x() - 0.5f) - 0.025f, x.y() - 0.85f));
    };
    SurfaceTracker tracker({.voxel = voxel});
    tracker.start({SurfaceTracker::Source{slotted, ball.bounds, {}}});
    const Mesh before = tracker.mesh();
    const SteadyFlow flow([](const Vec3f& x) { return Vec3f(0.5f - x.y(), x.x() - 0.5f, 0); }, 0.5f);
    constexpr int kSteps = 41; // of eight voxels
    for (int i = 0; i < kSteps; ++i) tracker.step(flow, static_cast<float>(2 * kPi / kSteps));
    EXPECT_TRUE(is_manifold(tracker.mesh()));
    EXPECT_NEAR(volume_of(tracker.mesh()) / volume_of(before), 1, 0.01);
    const MeshDistance surface(before);
    double mean = 0;
    for (const Vec3f& x : tracker.mesh().positions) mean += static_cast<double>(std::abs(surface.distance(x)));
    EXPECT_LT(mean / static_cast<double>(tracker.mesh().positions.size()), 0.1 * static_cast<double>(voxel));
}

namespace {

// A ball whose colours are its points' places, moved rigidly ten times: the mean error of the colours.
double color_error(float voxel, bool reference)
{
    const Vec3f middle = Vec3f::Constant(0.5f);
    SurfaceTracker tracker({.voxel = voxel, .cells_per_part = kInfinity, .reference = reference});
    Mesh ball = sphere_mesh(middle, 0.3f, 6);
    ball.attributes["color"] = ball.positions;
    tracker.start(ball);
    const RigidFlow flow(Eigen::AngleAxisf(0.3f, Vec3f(1, 2, 3).normalized()), middle, {0.05f, 0, 0.02f});
    Eigen::Isometry3f moved = Eigen::Isometry3f::Identity();
    const Eigen::Isometry3f once =
        Eigen::Translation3f(flow.center + flow.shift) * flow.rotation * Eigen::Translation3f(-flow.center);
    for (int i = 0; i < 10; ++i) tracker.step(flow, 1), moved = once * moved;
    const auto& colors = std::get<std::vector<Vec3f>>(tracker.mesh().attributes.at("color"));
    double sum = 0;
    for (size_t i = 0; i < colors.size(); ++i)
        sum += static_cast<double>((colors[i] - moved.inverse() * tracker.mesh().positions[i]).norm());
    return sum / static_cast<double>(colors.size());
}

} // namespace

TEST(Tracker, RigidMotionCarriesColours)
{
    EXPECT_LT(color_error(0.01f, true), 1e-4);
    // Blended in each step, they blur: by the square of the voxel.
    const double coarse = color_error(0.02f, false), fine = color_error(0.01f, false);
    EXPECT_LT(fine, 0.3 * coarse);
    EXPECT_LT(fine, 1e-3);
}

// Two halves of a ball, by number: blended, their border blurs; as labels or integers, nothing lies between them.
TEST(Tracker, LabelsAndIntegersAreCopiedFromTheNearestVertex)
{
    const float voxel = 0.02f;
    const Vec3f middle = Vec3f::Constant(0.5f);
    SurfaceTracker tracker({.voxel = voxel, .cells_per_part = kInfinity, .labels = {"label"}});
    Mesh ball = sphere_mesh(middle, 0.3f, 6);
    std::vector<float> half;
    for (const Vec3f& x : ball.positions) half.push_back(x.x() < middle.x() ? 3 : 5);
    ball.attributes["blend"] = half, ball.attributes["label"] = half;
    ball.attributes["piece"] = std::vector<int32_t>(half.begin(), half.end());
    tracker.start(ball);
    const RigidFlow flow(Eigen::AngleAxisf(static_cast<float>(kPi / 20), Vec3f::UnitZ()), middle, Vec3f::Zero());
    for (int i = 0; i < 10; ++i) tracker.step(flow, 1); // a quarter turn: the halves are now below and above
    const Mesh& mesh = tracker.mesh();
    const auto& blend = std::get<std::vector<float>>(mesh.attributes.at("blend"));
    const auto& label = std::get<std::vector<float>>(mesh.attributes.at("label"));
    const auto& piece = std::get<std::vector<int32_t>>(mesh.attributes.at("piece"));
    int between = 0;
    for (size_t i = 0; i < mesh.positions.size(); ++i) {
        const float y = mesh.positions[i].y() - middle.y();
        between += blend[i] > 3.01f && blend[i] < 4.99f;
        EXPECT_TRUE(label[i] == 3 || label[i] == 5) << label[i];
        EXPECT_TRUE(piece[i] == 3 || piece[i] == 5) << piece[i];
        if (std::abs(y) < 4 * voxel) continue;
        EXPECT_EQ(label[i], y < 0 ? 3 : 5);
        EXPECT_EQ(piece[i], y < 0 ? 3 : 5);
    }
    EXPECT_GT(between, 100);
}

TEST(Tracker, ReferenceCoordinatesReturnWithTheDeformedBall)
{
    const float voxel = 1.0f / 64;
    SurfaceTracker tracker({.voxel = voxel, .reference = true});
    tracker.start({ball_source(Vec3f::Constant(0.35f), 0.15f)});
    deform(tracker, voxel, 8, [](int) {});
    const auto& reference = std::get<std::vector<Vec3f>>(tracker.mesh().attributes.at(kReference));
    double mean = 0;
    for (size_t i = 0; i < reference.size(); ++i)
        mean += static_cast<double>((reference[i] - tracker.mesh().positions[i]).norm());
    EXPECT_LT(mean / static_cast<double>(reference.size()), static_cast<double>(voxel));
}

TEST(Tracker, OriginsLieOnTheSurfaceOfTheFrameBeforeAndFlowToTheirVertices)
{
    const float voxel = 1.0f / 64;
    SurfaceTracker tracker({.voxel = voxel});
    tracker.start({ball_source(Vec3f::Constant(0.35f), 0.15f)});
    Deformation flow;
    flow.seconds = 0.02;
    for (int frame = 0; frame < 4; ++frame) {
        tracker.begin_frame();
        const Mesh before = tracker.mesh();
        const MeshDistance surface(before);
        const double begin = flow.begin;
        for (int step = 0; step < 3; ++step, flow.begin += flow.seconds)
            tracker.step(flow, static_cast<float>(flow.seconds));
        const std::vector<SurfacePoint> origins = tracker.origins();
        ASSERT_EQ(origins.size(), tracker.mesh().positions.size());
        for (size_t i = 0; i < origins.size(); ++i) {
            ASSERT_GE(origins[i].triangle, 0);
            const Vec3f on = blended(before.positions, before, origins[i]);
            EXPECT_LT(std::abs(surface.distance(on)), 1e-6f);
            EXPECT_LT((deformed(on, begin, flow.begin) - tracker.mesh().positions[i]).norm(), 0.1f * voxel);
        }
    }
}

TEST(Tracker, DirectionsTurnWithTheSurface)
{
    SurfaceTracker tracker({.voxel = 0.04f, .cells_per_part = kInfinity, .directions = {"along"}});
    const Vec3f middle = Vec3f::Constant(0.5f);
    Mesh ball = sphere_mesh(middle, 0.3f, 5);
    std::vector<Vec3f> along;
    for (const Vec3f& x : ball.positions) // neither tangent nor of unit length
        along.push_back(2 * Vec3f::UnitY().cross(x - middle).normalized() + 0.5f * (x - middle));
    ball.attributes["along"] = along;
    const auto expect_tangent = [&] {
        const auto& now = std::get<std::vector<Vec3f>>(tracker.mesh().attributes.at("along"));
        for (size_t i = 0; i < now.size(); ++i) {
            EXPECT_NEAR(now[i].norm(), 1, 1e-5f);
            EXPECT_NEAR(now[i].dot(tracker.mesh().normals[i]), 0, 1e-5f);
        }
    };
    tracker.start(ball);
    expect_tangent();
    // A quarter turn about x in ten steps: circles around y become circles around z.
    const RigidFlow flow(Eigen::AngleAxisf(static_cast<float>(kPi / 20), Vec3f::UnitX()), middle, Vec3f::Zero());
    for (int i = 0; i < 10; ++i) tracker.step(flow, 1);
    expect_tangent();
    const Mesh& mesh = tracker.mesh();
    const auto& now = std::get<std::vector<Vec3f>>(mesh.attributes.at("along"));
    for (size_t i = 0; i < now.size(); ++i) {
        const Vec3f out = (mesh.positions[i] - middle).normalized();
        const bool near_pole = std::abs(out.z()) > 0.8f;
        EXPECT_TRUE(near_pole || now[i].dot(Vec3f(Vec3f::UnitZ().cross(out).normalized())) > 0.98f) << out.transpose();
    }
    // Without the attribute nothing is made.
    tracker.set_attributes({});
    tracker.step(flow, 1);
    EXPECT_FALSE(tracker.mesh().attributes.contains("along"));
}

// Bumps of three voxels on a ball at rest, without the jitter, which wears them down too.
TEST(Tracker, SmoothingWearsDownBumps)
{
    const auto rough = [](const Vec3f& x) {
        return x.norm() - 0.3f - 0.01f * std::sin(100 * x.x()) * std::sin(100 * x.y()) * std::sin(100 * x.z());
    };
    const auto roughness_of = [](const Mesh& mesh) { // standard deviation of the radius
        double sum = 0;
        for (const Vec3f& x : mesh.positions) sum += std::pow(static_cast<double>(x.norm()) - 0.3, 2);
        return std::sqrt(sum / static_cast<double>(mesh.positions.size()));
    };
    const SteadyFlow still([](const Vec3f&) { return Vec3f(Vec3f::Zero()); }, 0);
    const auto left_with = [&](float smoothing) { // share of the roughness after ten steps
        SurfaceTracker tracker({.voxel = 0.02f, .jitter = false, .smoothing = smoothing});
        tracker.start({SurfaceTracker::Source{rough, {Vec3f::Constant(-0.35f), Vec3f::Constant(0.35f)}, {}}});
        const double before = roughness_of(tracker.mesh());
        for (int i = 0; i < 10; ++i) {
            tracker.step(still, 1);
            EXPECT_TRUE(is_manifold(tracker.mesh()));
        }
        EXPECT_NEAR(volume_of(tracker.mesh()), kBall * 0.027, 0.02 * kBall * 0.027);
        return roughness_of(tracker.mesh()) / before;
    };
    const double none = left_with(0), half = left_with(0.5f), all = left_with(1);
    EXPECT_GT(none, 0.95);
    EXPECT_LT(half, 0.9);
    EXPECT_LT(all, half);
}

// Two balls approach and merge; then the flow stretches the pair until it breaks.
TEST(Tracker, MergingAndPinchingStayClosed)
{
    SurfaceTracker tracker({.voxel = 0.02f});
    tracker.start({ball_source({0.3f, 0.5f, 0.5f}, 0.12f, {{"color", Vec3f(1, 0, 0)}}),
                   ball_source({0.7f, 0.5f, 0.5f}, 0.12f, {{"color", Vec3f(0, 0, 1)}})});
    const auto parts = [&] { // Euler characteristic: two a ball
        const Mesh& m = tracker.mesh();
        return (static_cast<long>(m.positions.size()) - static_cast<long>(m.triangles.size()) / 2) / 2;
    };
    EXPECT_EQ(parts(), 2);
    // Both halves move at one speed except near the middle, without divergence.
    const auto stretching = [](float speed) {
        return SteadyFlow(
            [speed](const Vec3f& x) {
                const float along = std::tanh((x.x() - 0.5f) / 0.1f), narrowing = 5 * (1 - along * along);
                return Vec3f(speed * Vec3f(along, narrowing * (0.5f - x.y()), narrowing * (0.5f - x.z())));
            },
            3 * std::abs(speed));
    };
    const SteadyFlow together = stretching(-0.4f), apart = stretching(0.4f);
    for (int i = 0; i < 12; ++i) {
        tracker.step(together, 0.05f);
        EXPECT_TRUE(is_manifold(tracker.mesh())) << i;
    }
    EXPECT_EQ(parts(), 1);
    const auto& colors = std::get<std::vector<Vec3f>>(tracker.mesh().attributes.at("color"));
    for (size_t i = 0; i < colors.size(); ++i) {
        const float x = tracker.mesh().positions[i].x();
        EXPECT_TRUE(std::abs(x - 0.5f) < 0.05f || colors[i][x < 0.5f ? 0 : 2] > 0.95f);
    }
    for (int i = 0; i < 36 && !tracker.mesh().triangles.empty(); ++i) {
        tracker.step(apart, 0.05f);
        EXPECT_TRUE(is_manifold(tracker.mesh())) << i;
    }
    EXPECT_GT(parts(), 1);
}

TEST(Tracker, KeepsItsVolumeIfAsked)
{
    const float voxel = 1.0f / 48;
    double volumes[2];
    for (const bool keep : {false, true}) {
        SurfaceTracker tracker({.voxel = voxel, .curved = false, .keep_volume = keep});
        tracker.start({ball_source(Vec3f::Constant(0.35f), 0.15f)});
        const double before = volume_of(tracker.mesh());
        deform(tracker, voxel, 4, [](int) {});
        volumes[keep] = volume_of(tracker.mesh()) / before - 1;
    }
    EXPECT_LT(volumes[0], -0.3);
    EXPECT_NEAR(volumes[1], 0, 0.01);
}

TEST(Tracker, LiquidStaysInItsTank)
{
    const Box3f tank{Vec3f::Zero(), Vec3f::Ones()};
    SurfaceTracker tracker({.voxel = 0.04f, .walls = tank});
    tracker.start({box_source({Vec3f(-0.2f, -0.2f, -0.2f), Vec3f(1.2f, 0.4f, 1.2f)})});
    // Sloshing: tangential at all walls.
    const SteadyFlow flow(
        [](const Vec3f& x) {
            const auto pi = static_cast<float>(kPi);
            return Vec3f(-std::sin(pi * x.x()) * std::cos(pi * x.y()), std::cos(pi * x.x()) * std::sin(pi * x.y()), 0);
        },
        1);
    for (int i = 0; i < 10; ++i) {
        tracker.step(flow, 0.04f);
        Mesh mesh = tracker.mesh();
        clip_at_walls(mesh, tank);
        EXPECT_TRUE(is_closed(mesh));
        EXPECT_NEAR(volume_of(mesh), 0.4, 0.008) << i;
        const Box3f box = bounds_of(mesh);
        EXPECT_EQ(box.min, Vec3f(0, 0, 0)) << "it touches walls and floor";
        EXPECT_EQ(box.max.z(), 1);
    }
}

// A red ball flies into a corner of its tank: where it touches the walls, it is red too.
TEST(Tracker, WallsThatTheLiquidReachesTakeItsColour)
{
    const Box3f tank{Vec3f::Zero(), Vec3f::Ones()};
    SurfaceTracker tracker({.voxel = 0.04f, .walls = tank});
    tracker.start({ball_source({0.5f, 0.5f, 0.5f}, 0.25f, {{"color", Vec3f(1, 0, 0)}})});
    const SteadyFlow flow([](const Vec3f&) { return Vec3f(1, -1, 0); }, 1.5f);
    for (int i = 0; i < 10; ++i) tracker.step(flow, 0.05f);
    EXPECT_GT(bounds_of(tracker.mesh()).max.x(), 1);
    for (const Vec3f& color : std::get<std::vector<Vec3f>>(tracker.mesh().attributes.at("color")))
        EXPECT_NEAR(color.x(), 1, 1e-4f);
}

TEST(Tracker, ResultsDoNotDependOnThreadsOrOnAnInterruption)
{
    const float voxel = 1.0f / 48;
    const auto run = [&](bool interrupted) {
        const TrackSettings settings{.voxel = voxel, .keep_volume = true, .reference = true};
        auto tracker = std::make_unique<SurfaceTracker>(settings);
        tracker->start({ball_source(Vec3f::Constant(0.35f), 0.15f, {{"color", Vec3f(1, 2, 3)}})});
        Deformation flow;
        flow.seconds = 0.03;
        for (int i = 0; i < 6; ++i, flow.begin += flow.seconds) {
            tracker->begin_frame();
            tracker->step(flow, static_cast<float>(flow.seconds));
            if (!interrupted) continue;
            auto state = tracker->state();
            tracker = std::make_unique<SurfaceTracker>(settings);
            tracker->restore(std::move(state));
        }
        return tracker->mesh();
    };
    const Mesh one = with_threads(1, [&] { return run(false); });
    const Mesh four = with_threads(4, [&] { return run(false); });
    const Mesh resumed = with_threads(2, [&] { return run(true); });
    for (const Mesh* other : {&four, &resumed}) {
        EXPECT_TRUE(same_bits(one.positions, other->positions));
        EXPECT_TRUE(same_bits(one.triangles, other->triangles));
        EXPECT_TRUE(same_bits(one.normals, other->normals));
        EXPECT_TRUE(same_bits(std::get<std::vector<Vec3f>>(one.attributes.at(kReference)),
                              std::get<std::vector<Vec3f>>(other->attributes.at(kReference))));
    }
}

TEST(Tracker, ASurfaceThatVanishesIsEmptyAndCanReturn)
{
    SurfaceTracker tracker({.voxel = 0.1f});
    tracker.start({ball_source({0.5f, 0.5f, 0.5f}, 0.12f)});
    const SteadyFlow inwards([](const Vec3f& x) -> Vec3f { return 3 * (Vec3f::Constant(0.5f) - x); }, 3);
    for (int i = 0; i < 20; ++i) tracker.step(inwards, 0.1f);
    EXPECT_TRUE(tracker.mesh().triangles.empty());
    tracker.step(inwards, 0.1f, {ball_source({0.5f, 0.5f, 0.5f}, 0.3f)});
    EXPECT_TRUE(is_manifold(tracker.mesh()));
    EXPECT_NEAR(volume_of(tracker.mesh()), kBall * 0.027, 0.1 * kBall * 0.027);
}

TEST(Tracker, OverlappingAndInvertedMeshesAreUnited)
{
    SurfaceTracker tracker({.voxel = 0.02f});
    const Mesh a = box_mesh({0, 0, 0}, {0.4f, 0.2f, 0.2f}), b = box_mesh({0.2f, 0, 0}, {0.6f, 0.2f, 0.2f});
    for (const Mesh& mesh : {joined(a, b), inside_out(joined(a, b))}) {
        tracker.start(mesh);
        EXPECT_TRUE(is_manifold(tracker.mesh()));
        EXPECT_NEAR(volume_of(tracker.mesh()), 0.6 * 0.04, 0.02 * 0.024);
    }
}
