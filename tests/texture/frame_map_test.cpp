#include "spindrift/texture/frame_map.h"

#include "spindrift/base/error.h"
#include "texture/sequences.h"

#include <gtest/gtest.h>

namespace spindrift {

namespace {

// The largest distance between where the map says that vertices were, and where they were.
float largest_error(const TurningBall& ball, bool motion, bool told_motion)
{
    const Mesh before = ball.frame(3, motion), now = ball.frame(4, motion);
    const auto from = frame_map(before, now, ball.seconds, {MapSource::best, told_motion, {}});
    float largest = 0;
    for (size_t i = 0; i < from.size(); ++i) {
        EXPECT_GE(from[i].triangle, 0);
        if (from[i].triangle < 0) continue;
        const Vec3f place = blended(before.positions, before, from[i]);
        largest = std::max(largest, (place - ball.back(now.positions[i], 1)).norm());
    }
    return largest;
}

std::string message_of(const std::function<void()>& call)
{
    try {
        call();
    } catch (const Error& e) {
        return e.what();
    }
    return {};
}

} // namespace

TEST(FrameMap, FollowsMotionExactly)
{
    // What is left is the height of triangles over the sphere.
    const float edge = static_cast<float>(mean_edge(sphere_mesh({0, 0, 0}, 1, 4)));
    EXPECT_LT(largest_error({}, true, true), 0.3f * edge * edge);
}

TEST(FrameMap, FollowsVelocitiesOfTheMomentAlongCurves)
{
    TurningBall ball;
    ball.angle = 0.3f, ball.levels = 6;
    const float curved = largest_error(ball, false, false), straight = largest_error(ball, false, true);
    EXPECT_LT(curved, 0.3f * straight);
    EXPECT_LT(curved, 0.01f); // of a way of 0.3
}

TEST(FrameMap, UsesTheMapOfATrackedSurface)
{
    const Mesh before = sphere_mesh({0, 0, 0}, 1, 2);
    Mesh now = sphere_mesh({5, 0, 0}, 1, 1);
    const size_t count = now.positions.size();
    now.velocities.assign(count, Vec3f(1, 2, 3)); // which it must not use
    now.attributes["origin_triangle"] = std::vector<int32_t>(count, 7);
    now.attributes["origin_weights"] = std::vector<Vec3f>(count, {0.2f, 0.3f, 0.5f});
    std::get<std::vector<int32_t>>(now.attributes["origin_triangle"])[3] = -2;
    const auto from = frame_map(before, now, 1, {});
    for (size_t i = 0; i < count; ++i) {
        EXPECT_EQ(from[i].triangle, i == 3 ? -1 : 7);
        const Vec3f expected = i == 3 ? Vec3f(0, 0, 0) : Vec3f(0.2f, 0.3f, 0.5f);
        EXPECT_LT((from[i].weights - expected).norm(), 1e-6f);
    }
    std::get<std::vector<int32_t>>(now.attributes["origin_triangle"])[3] = 1 << 20;
    EXPECT_NE(message_of([&] { frame_map(before, now, 1, {}); }).find("vertex 3 is 1048576"), std::string::npos);
}

TEST(FrameMap, WhatAppearsFarAwayIsNew)
{
    TurningBall ball;
    const Mesh before = ball.frame(1, true);
    Mesh drop = sphere_mesh({4, 0, 0}, 0.1f, 1);
    drop.velocities.assign(drop.positions.size(), Vec3f::Zero());
    Mesh now = ball.frame(2, true);
    const size_t count = now.positions.size();
    now.velocities.insert(now.velocities.end(), drop.velocities.begin(), drop.velocities.end());
    now = joined(std::move(now), drop);
    const auto from = frame_map(before, now, ball.seconds, {});
    for (size_t i = 0; i < from.size(); ++i) EXPECT_EQ(from[i].triangle < 0, i >= count);
}

// A sheet moves along its normal by five times its thickness, and velocities are wrong by three quarters of it. The
// same sheet inside out has the same sides.
TEST(FrameMap, SidesOfAThinSheetAreNotMixedUp)
{
    constexpr float kThickness = 0.02f;
    const auto sheet = [](float height, uint64_t seed) {
        Mesh top = plane_mesh(1, 20, seed), bottom = inside_out(plane_mesh(1, 20, seed + 1));
        for (Vec3f& x : top.positions) x.y() = height + kThickness;
        for (Vec3f& x : bottom.positions) x.y() = height;
        return joined(top, bottom);
    };
    for (const float error : {-0.75f, 0.0f, 0.75f})
        for (const bool turned : {false, true}) {
            Mesh before = sheet(0, 1), now = sheet(5 * kThickness, 7);
            if (turned) before = inside_out(before), now = inside_out(now);
            now.velocities.assign(now.positions.size(), Vec3f(0, (5 + error) * kThickness, 0));
            const auto from = frame_map(before, now, 1, {});
            for (size_t i = 0; i < from.size(); ++i) {
                ASSERT_GE(from[i].triangle, 0);
                const Vec3f was = blended(before.positions, before, from[i]);
                EXPECT_NEAR(was.y(), now.positions[i].y() - 5 * kThickness, 1e-6f);
                EXPECT_LT(std::hypot(was.x() - now.positions[i].x(), was.z() - now.positions[i].z()), 1e-5f);
            }
        }
}

TEST(FrameMap, VerticesThatStayTheSameNeedNoVelocities)
{
    const Mesh before = sphere_mesh({0, 0, 0}, 1, 2), now = sphere_mesh({9, 0, 0}, 3, 2);
    const auto from = frame_map(before, now, 1, {});
    for (size_t i = 0; i < from.size(); ++i)
        EXPECT_LT((blended(before.positions, before, from[i]) - before.positions[i]).norm(), 1e-6f);
    const Mesh other = sphere_mesh({0, 0, 0}, 1, 3);
    EXPECT_NE(message_of([&] { frame_map(before, other, 1, {}); }).find("velocities (vx, vy, vz)"), std::string::npos);
    EXPECT_NE(message_of([&] {
                  frame_map(before, now, 1, {MapSource::origins, true, {}});
              }).find("origin_triangle"),
              std::string::npos);
    EXPECT_TRUE(frame_map(before, Mesh(), 1, {}).empty()); // all liquid is gone
    for (const SurfacePoint& at : frame_map(Mesh(), TurningBall().frame(1, true), 1, {})) EXPECT_EQ(at.triangle, -1);
}

} // namespace spindrift
