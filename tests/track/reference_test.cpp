// What a tracked surface remembers: reference coordinates, attributes of the mesh that it starts from, velocities.
#include "mesh/test_meshes.h"
#include "spindrift/mesh/parts.h"
#include "track/flows.h"

#include <gtest/gtest.h>

namespace spindrift {

namespace {

const Vec3f kRed(1, 0, 0), kGreen(0, 1, 0), kBlue(0, 0, 1);

SteadyFlow uniform_flow(const Vec3f& velocity)
{
    return {[velocity](const Vec3f&) { return velocity; }, velocity.norm()};
}

const std::vector<Vec3f>& vectors(const SurfaceTracker& tracker, const char* name)
{
    return std::get<std::vector<Vec3f>>(tracker.mesh().attributes.at(name));
}

} // namespace

TEST(TrackedReference, SourcesReferToWhereTheyCameInIfThereWasNoSurface)
{
    const Vec3f center(2, 2, 2);
    for (const float smoothing : {0.0f, 0.5f}) { // a smoother surface is mixed in only where there is one
        SurfaceTracker tracker({.voxel = 0.02f, .smoothing = smoothing, .reference = true});
        tracker.start(std::vector<SurfaceTracker::Source>());
        const SteadyFlow flow = uniform_flow({1, 0, 0});
        for (int i = 0; i < 8; ++i) tracker.step(flow, 0.05f, {ball_source(center, 0.15f)});
        EXPECT_NEAR(bounds_of(tracker.mesh()).max.x(), 2 + 0.15f + 7 * 0.05f, 0.02f);
        const std::vector<Vec3f>& reference = vectors(tracker, kReference);
        ASSERT_GT(reference.size(), 500u);
        for (const Vec3f& x : reference) EXPECT_LT((x - center).norm(), 0.17f) << x.transpose();
    }
}

// A red and a blue ball merge, while a green source pours on the blue one, which it touches from the start.
TEST(TrackedReference, LiesOnTheStartWhoseColoursComeBackExactly)
{
    SurfaceTracker tracker({.voxel = 0.02f, .reference = true});
    tracker.start({ball_source({0.3f, 0.5f, 0.5f}, 0.12f, {{"color", kRed}}),
                   ball_source({0.7f, 0.5f, 0.5f}, 0.12f, {{"color", kBlue}})});
    const Mesh start = tracker.mesh();
    const MeshDistance surface(start);
    const SteadyFlow together(
        [](const Vec3f& x) {
            const float along = std::tanh((x.x() - 0.5f) / 0.1f), narrowing = 5 * (1 - along * along);
            return Vec3f(-0.4f * Vec3f(along, narrowing * (0.5f - x.y()), narrowing * (0.5f - x.z())));
        },
        1.2f);
    SurfaceTracker::Source green = ball_source({0.7f, 0.65f, 0.5f}, 0.05f, {{"color", kGreen}});
    green.id = 4;
    for (int i = 0; i < 14; ++i) tracker.step(together, 0.05f, {green});
    EXPECT_EQ(std::ranges::max(MeshParts(tracker.mesh()).numbers()), 0) << "all have merged";
    const std::vector<Vec3f>&reference = vectors(tracker, kReference), &color = vectors(tracker, "color");
    const auto& piece = std::get<std::vector<int32_t>>(tracker.mesh().attributes.at(kReferencePiece));
    int count[3] = {};
    for (size_t i = 0; i < reference.size(); ++i) {
        const bool added = piece[i] == from_source(4), red = piece[i] == 0;
        EXPECT_TRUE(added || red || piece[i] == 1) << piece[i];
        const Vec3f& expected = added ? kGreen : reference[i].x() < 0.5f ? kRed : kBlue;
        EXPECT_LT((color[i] - expected).norm(), 1e-6f) << color[i].transpose();
        if (added)
            EXPECT_LT((reference[i] - Vec3f(0.7f, 0.65f, 0.5f)).norm(), 0.07f);
        else
            EXPECT_LT(std::abs(surface.distance(reference[i])), 1e-6f);
        ++count[added ? 2 : red ? 0 : 1];
    }
    for (const int of : count) EXPECT_GT(of, 100);
}

TEST(TrackedReference, BallThatFlowsInAgainAfterAllIsGoneRefersToItself)
{
    SurfaceTracker tracker({.voxel = 0.04f, .smoothing = 0.5f, .reference = true});
    tracker.start({ball_source({0.5f, 0.5f, 0.5f}, 0.2f, {{"color", kRed}})});
    const SteadyFlow still = uniform_flow(Vec3f::Zero());
    tracker.step(still, 0.1f, {}, {ball_source({0.5f, 0.5f, 0.5f}, 0.5f)});
    ASSERT_TRUE(tracker.mesh().triangles.empty());
    tracker.step(still, 0.1f, {ball_source({3, 0, 0}, 0.2f, {{"color", kBlue}})});
    EXPECT_NEAR(volume_of(tracker.mesh()), 4 * kPi / 3 * 0.008, 0.1 * 0.0335);
    for (const Vec3f& x : vectors(tracker, kReference)) EXPECT_NEAR((x - Vec3f(3, 0, 0)).norm(), 0.2f, 0.02f);
    for (const Vec3f& color : vectors(tracker, "color")) EXPECT_EQ(color, kBlue);
}

// Two balls of one source list: each vertex takes what the mesh of its own source has there.
TEST(TrackedStart, SourcesThatAreMeshesBringTheirAttributes)
{
    const auto source = [](const Vec3f& center, bool with_uv) {
        auto mesh = std::make_shared<Mesh>(sphere_mesh(center, 0.2f, 5));
        if (with_uv) mesh->attributes["uv"] = mesh->positions;
        mesh->attributes["weight"] = std::vector<float>(mesh->positions.size(), center.x());
        SurfaceTracker::Source made = ball_source(center, 0.2f);
        made.mesh = mesh;
        return made;
    };
    SurfaceTracker tracker({.voxel = 0.02f});
    tracker.start({source({1, 0, 0}, true), source({2, 0, 0}, false)});
    const std::vector<Vec3f>& uv = vectors(tracker, "uv");
    const auto& weight = std::get<std::vector<float>>(tracker.mesh().attributes.at("weight"));
    for (size_t i = 0; i < uv.size(); ++i) {
        const Vec3f& x = tracker.mesh().positions[i];
        EXPECT_NEAR(weight[i], x.x() < 1.5f ? 1.0f : 2.0f, 1e-5f);
        EXPECT_LT((uv[i] - (x.x() < 1.5f ? x : Vec3f(Vec3f::Zero()))).norm(), 2e-3f);
    }
}

// In a frame of three steps the flow speeds up: what is written is the motion, not the speed at the end.
TEST(TrackedVelocities, AreTheMotionOverTheFrameAndThatOfTheFlowWhereLiquidIsNew)
{
    SurfaceTracker tracker({.voxel = 0.02f});
    tracker.start({ball_source({0, 0, 0}, 0.2f)});
    EXPECT_NEAR(tracker.velocities(uniform_flow({7, 0, 0}), 10).front().x(), 7, 1e-5f);
    tracker.begin_frame();
    const SurfaceTracker::Source source = ball_source({0, 1, 0}, 0.1f);
    for (const float speed : {1.0f, 2.0f, 3.0f}) tracker.step(uniform_flow({speed, 0, 0}), 1.0f / 30, {source});
    const std::vector<Vec3f> velocities = tracker.velocities(uniform_flow({3, 0, 0}), 10);
    int moved = 0;
    for (size_t i = 0; i < velocities.size(); ++i) {
        if (tracker.mesh().positions[i].y() > 0.5f) continue;
        EXPECT_LT((velocities[i] - Vec3f(2, 0, 0)).norm(), 0.02f);
        ++moved;
    }
    EXPECT_GT(moved, 500);
    for (size_t i = 0; i < velocities.size(); ++i) { // where the source still is
        const Vec3f& x = tracker.mesh().positions[i];
        EXPECT_TRUE(x.y() < 0.5f || x.x() > 0 || velocities[i].x() == 3);
    }
}

// A ball that moves by half a voxel in each step meets the same places of a fixed grid again and again.
TEST(Tracker, JitterKeepsTheGridsPatternFromAddingUp)
{
    const float voxel = 0.04f;
    const auto unevenness = [&](bool jitter) { // standard deviation of the radius [voxels]
        SurfaceTracker tracker({.voxel = voxel, .jitter = jitter});
        Vec3f center = Vec3f::Zero();
        tracker.start({ball_source(center, 0.3f)});
        const Vec3f step(0, -0.5f * voxel, 0);
        for (int i = 0; i < 60; ++i) tracker.step(uniform_flow(step), 1), center += step;
        double sum = 0, squares = 0;
        const auto count = static_cast<double>(tracker.mesh().positions.size());
        for (const Vec3f& x : tracker.mesh().positions) {
            const auto r = static_cast<double>((x - center).norm() / voxel);
            sum += r / count, squares += r * r / count;
        }
        return std::sqrt(std::max(0.0, squares - sum * sum));
    };
    const double with = unevenness(true), without = unevenness(false);
    RecordProperty("with", std::to_string(with)), RecordProperty("without", std::to_string(without));
    EXPECT_LT(with, 0.5 * without) << with << ' ' << without;
}

} // namespace spindrift
