#include "spindrift/render/marker_picture.h"
#include "spindrift/render/marker_shadows.h"

#include "base/determinism.h"
#include "spindrift/base/random.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace spindrift {

namespace {

struct MarkerCloud {
    std::vector<Vec3f> P;
    std::vector<int32_t> id;
};

// A ball of markers around the origin.
MarkerCloud ball_of_markers(size_t count)
{
    MarkerCloud cloud;
    Random random(5);
    while (cloud.P.size() < count) {
        const float x = random.uniform(-1, 1), y = random.uniform(-1, 1), z = random.uniform(-1, 1);
        if (x * x + y * y + z * z > 1) continue;
        cloud.id.push_back(static_cast<int32_t>(cloud.P.size())), cloud.P.emplace_back(x, y, z);
    }
    return cloud;
}

// The shadow without a map: the share of the columns of a marker's kernel in which any marker is nearer to the light.
double counted_shadow(const MarkerCloud& cloud, size_t i, const LightPlane& plane, int kernel)
{
    const auto column = [](const Vec3f& at) { return std::pair(floor_int(at.x()), floor_int(at.y())); };
    const Vec3f mine = plane.place(cloud.P[i]);
    const auto [mx, my] = column(mine);
    std::vector<uint8_t> occluded(static_cast<size_t>(kernel * kernel));
    for (const Vec3f& other : cloud.P) {
        const Vec3f at = plane.place(other);
        const auto [x, y] = column(at);
        const int dx = x - mx + kernel / 2, dy = y - my + kernel / 2;
        if (dx < 0 || dy < 0 || dx >= kernel || dy >= kernel || at.z() <= mine.z()) continue;
        occluded[static_cast<size_t>(dy * kernel + dx)] = 1;
    }
    return static_cast<double>(std::count(occluded.begin(), occluded.end(), 1)) / (kernel * kernel);
}

const Vec3f kToward(0.3f, 1, 0.2f);

TEST(MarkerShadows, AgreeWithTheNumberOfMarkersTowardsTheLight)
{
    const MarkerCloud cloud = ball_of_markers(40000);
    const MarkerShadowParams params;
    const LightPlane plane(kToward, cloud.P, params);
    std::vector<float> shadow = marker_shadows(cloud.P, cloud.id, kToward, params, 0);
    for (uint64_t pass = 1; pass < 8; ++pass) { // eight frames of a still cloud
        const std::vector<float> before = shadow;
        shadow = marker_shadows(cloud.P, cloud.id, kToward, params, pass);
        blend_shadows(shadow, cloud.id, before, cloud.id, params.blend);
    }
    double error = 0, mean = 0;
    size_t tested = 0;
    for (size_t i = 0; i < cloud.P.size(); i += 41, ++tested) {
        const double counted = counted_shadow(cloud, i, plane, params.kernel);
        error += std::abs(static_cast<double>(shadow[i]) - counted), mean += counted;
    }
    RecordProperty("error", fmt::format("{:.4f}", error / static_cast<double>(tested)));
    EXPECT_GT(mean / static_cast<double>(tested), 0.3); // there are shadows
    EXPECT_LT(mean / static_cast<double>(tested), 0.9); // and light
    EXPECT_LE(error / static_cast<double>(tested), 0.05);
}

TEST(MarkerShadows, BlendingReducesFlicker)
{
    const MarkerCloud cloud = ball_of_markers(20000);
    const MarkerShadowParams params;
    double flicker[2] = {0, 0};
    std::vector<float> plain, blended;
    for (uint64_t frame = 0; frame < 12; ++frame) {
        const std::vector<float> now = marker_shadows(cloud.P, cloud.id, kToward, params, frame);
        std::vector<float> mixed = now;
        if (frame > 0) blend_shadows(mixed, cloud.id, blended, cloud.id, params.blend);
        for (size_t i = 0; i < now.size() && frame >= 6; ++i) {
            flicker[0] += static_cast<double>(std::abs(now[i] - plain[i])) / static_cast<double>(6 * now.size());
            flicker[1] += static_cast<double>(std::abs(mixed[i] - blended[i])) / static_cast<double>(6 * now.size());
        }
        plain = now, blended = mixed;
    }
    RecordProperty("flicker", fmt::format("{:.4f} and {:.4f}", flicker[0], flicker[1]));
    EXPECT_GT(flicker[0], 0.02);
    EXPECT_LT(flicker[1], 0.35 * flicker[0]);
}

TEST(MarkerShadows, NewMarkersAreNotBlended)
{
    std::vector<float> shadow = {1, 1, 1};
    const std::vector<int32_t> id = {5, 7, 9}, id_before = {7, 2};
    const std::vector<float> before = {0, 0.5f};
    blend_shadows(shadow, id, before, id_before, 0.25f);
    EXPECT_EQ(shadow, (std::vector<float>{1, 0.25f, 1}));
}

TEST(MarkerPicture, NearMarkersHideFarOnesAndSolidsHideBoth)
{
    CameraParams params;
    params.position = Vec3f(0, 0, 5), params.target = Vec3f(0, 0, 0);
    const Camera camera(params, {Vec3f(-1, -1, -1), Vec3f(1, 1, 1)}, 9, 9);
    // Two clusters on the view axis; the far one is in shadow, and drawn last in the list.
    MarkerCloud cloud;
    std::vector<float> shadow;
    for (int i = 0; i < 2000; ++i)
        cloud.P.emplace_back(0, 0, i < 1000 ? 1.0f : -1.0f), cloud.id.push_back(i), shadow.push_back(i < 1000 ? 0 : 1);
    const RenderMarkers markers{cloud.P, cloud.id, shadow, 0.1f, Vec3f::Ones()};
    const MarkerLight light{0.5f, Vec3f::Ones(), Vec3f::Zero()};
    Image picture(9, 9), behind(9, 9);
    std::vector<float> alpha(81), alpha_behind(81);
    draw_markers(markers, light, camera, {}, picture, alpha);
    EXPECT_NEAR(picture.at(4, 4).x(), 1, 1e-3f); // the near, lit ones
    EXPECT_NEAR(alpha[40], 1, 1e-3f);
    EXPECT_EQ(picture.at(0, 0).x(), 0);
    draw_markers(markers, light, camera, std::vector<float>(81, 2.0f), behind, alpha_behind);
    EXPECT_EQ(behind.at(4, 4).x(), 0);
    EXPECT_EQ(alpha_behind[40], 0);
}

TEST(MarkerPicture, SameBitsForAnyNumberOfThreads)
{
    const MarkerCloud cloud = ball_of_markers(30000);
    const Camera camera(CameraParams{}, {Vec3f(-1, -1, -1), Vec3f(1, 1, 1)}, 32, 24);
    const auto draw = [&](int threads) {
        return with_threads(threads, [&] {
            const std::vector<float> shadow = marker_shadows(cloud.P, cloud.id, kToward, {}, 1);
            Image picture(32, 24);
            std::vector<float> alpha(32 * 24);
            draw_markers({cloud.P, cloud.id, shadow, 0.01f, Vec3f::Ones()}, {}, camera, {}, picture, alpha);
            return picture.pixels;
        });
    };
    const auto one = draw(1);
    EXPECT_TRUE(same_bits(one, draw(2)));
    EXPECT_TRUE(same_bits(one, draw(3)));
}

} // namespace

} // namespace spindrift
