#include "spindrift/render/marker_picture.h"
#include "spindrift/render/marker_shadows.h"

#include "base/determinism.h"
#include "spindrift/base/random.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <numeric>

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

Picture empty_picture(int width, int height)
{
    Picture picture;
    picture.color = Image(width, height), picture.alpha.resize(picture.color.pixels.size());
    return picture;
}

// A still cloud in the frames that a picture blends.
std::vector<float> shadows_of(const MarkerCloud& cloud, int frame)
{
    return blended_shadows(std::vector<MarkerFrame>(kBlendedFrames, {cloud.P, cloud.id}), kToward, {}, frame);
}

double mean_difference(const std::vector<float>& a, const std::vector<float>& b)
{
    double sum = 0;
    for (size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(std::abs(a[i] - b[i]));
    return sum / static_cast<double>(a.size());
}

TEST(MarkerShadows, AgreeWithTheNumberOfMarkersTowardsTheLight)
{
    const MarkerCloud cloud = ball_of_markers(40000);
    const MarkerShadowParams params;
    const LightPlane plane(kToward, cloud.P, params);
    std::vector<float> drawn, counted;
    const std::vector<float> shadow = shadows_of(cloud, 1);
    double mean = 0;
    for (size_t i = 0; i < cloud.P.size(); i += 41) {
        drawn.push_back(shadow[i]);
        counted.push_back(static_cast<float>(counted_shadow(cloud, i, plane, params.kernel)));
        mean += static_cast<double>(counted.back());
    }
    mean /= static_cast<double>(counted.size());
    const double error = mean_difference(drawn, counted);
    RecordProperty("error", fmt::format("{:.4f}", error));
    EXPECT_GT(mean, 0.3); // there are shadows
    EXPECT_LT(mean, 0.9); // and light
    EXPECT_LE(error, 0.05);
}

TEST(MarkerShadows, BlendingReducesFlicker)
{
    const MarkerCloud cloud = ball_of_markers(20000);
    MarkerShadowParams one_pass;
    one_pass.passes = 1;
    const auto plain = [&](uint64_t frame) { return marker_shadows(cloud.P, cloud.id, kToward, one_pass, frame); };
    double flicker = 0, plain_flicker = 0;
    for (const int frame : {10, 11, 12, 13}) {
        flicker += mean_difference(shadows_of(cloud, frame), shadows_of(cloud, frame + 1)) / 4;
        plain_flicker += mean_difference(plain(frame), plain(frame + 1)) / 4;
    }
    RecordProperty("flicker", fmt::format("{:.4f} and {:.4f}", plain_flicker, flicker));
    EXPECT_GT(plain_flicker, 0.02);
    EXPECT_LT(flicker, 0.35 * plain_flicker);
}

// All frames count as much, and a marker that appears has the shadow of its own frame.
TEST(MarkerShadows, TheMeanIsOverTheFramesThatHaveAMarker)
{
    const MarkerCloud cloud = ball_of_markers(20000);
    MarkerCloud fewer = cloud;
    fewer.P.resize(10000), fewer.id.resize(10000);
    const auto alone = [&](const MarkerCloud& c, uint64_t frame) {
        return marker_shadows(c.P, c.id, kToward, {}, hash64(frame));
    };
    const std::vector<MarkerFrame> frames = {{cloud.P, cloud.id}, {fewer.P, fewer.id}, {cloud.P, cloud.id}};
    const std::vector<float> shadow = blended_shadows(frames, kToward, {}, 5);
    const std::vector<float> first = alone(cloud, 3), second = alone(fewer, 4), third = alone(cloud, 5);
    for (size_t i = 0; i < cloud.P.size(); ++i) {
        const float mean = i < second.size() ? (first[i] + second[i] + third[i]) / 3 : (first[i] + third[i]) / 2;
        ASSERT_NEAR(shadow[i], mean, 1e-6f) << i;
    }
}

// The texels are as large as those of the cloud without it.
TEST(MarkerShadows, AMarkerFarAwayChangesNothing)
{
    MarkerCloud cloud = ball_of_markers(20000);
    const auto mean_shadow = [&] {
        const std::vector<float> shadow = shadows_of(cloud, 1);
        return std::accumulate(shadow.begin(), shadow.end(), 0.0) / static_cast<double>(shadow.size());
    };
    const double before = mean_shadow();
    cloud.P.emplace_back(1000, 0, 0), cloud.id.push_back(20000);
    EXPECT_GT(before, 0.3);
    EXPECT_NEAR(mean_shadow() / before, 1, 0.01);
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
    const RenderMarkers markers{0, cloud.P, {}, cloud.id, shadow, 0.1f, Vec3f::Ones()};
    const RenderMarkers* clouds[] = {&markers};
    const MarkerLight light{0.5f, Vec3f::Ones(), Vec3f::Zero()};
    Picture picture = empty_picture(9, 9), behind = empty_picture(9, 9);
    draw_markers(clouds, {}, light, camera, {}, picture);
    EXPECT_NEAR(picture.color.at(4, 4).x(), 1, 1e-3f); // the near, lit ones
    EXPECT_NEAR(picture.alpha[40], 1, 1e-3f);
    EXPECT_EQ(picture.color.at(0, 0).x(), 0);
    draw_markers(clouds, {}, light, camera, std::vector<float>(81, 2.0f), behind);
    EXPECT_EQ(behind.color.at(4, 4).x(), 0);
    EXPECT_EQ(behind.alpha[40], 0);
}

// A red cloud in front of a green one that comes first in the scene, each opaque.
TEST(MarkerPicture, CloudsOfSeveralLayersAreOneDepthSort)
{
    using Mode = RenderLayer::Mode;
    CameraParams params;
    params.position = Vec3f(0, 0, 5), params.target = Vec3f(0, 0, 0);
    const Camera camera(params, {Vec3f(-1, -1, -1), Vec3f(1, 1, 1)}, 9, 9);
    const auto cloud_at = [](float z, const Vec3f& color, int layer) {
        RenderMarkers markers;
        markers.layer = layer, markers.radius = 0.1f, markers.color = color;
        markers.P.assign(1000, Vec3f(0, 0, z)), markers.v.assign(1000, Vec3f(z, 0, 0));
        for (int i = 0; i < 1000; ++i) markers.id.push_back(i);
        markers.shadow.assign(1000, 0);
        return markers;
    };
    const RenderMarkers near = cloud_at(1, Vec3f(1, 0, 0), 1), far = cloud_at(-1, Vec3f(0, 1, 0), 0);
    const RenderMarkers* clouds[] = {&near, &far};
    const RenderMarkers* reversed[] = {&far, &near};
    const MarkerLight light{0.5f, Vec3f::Ones(), Vec3f::Zero()};
    const auto draw = [&](std::span<const RenderMarkers* const> of, Mode mode_of_near) {
        Picture picture = empty_picture(9, 9);
        picture.depth.assign(81, kNoDepth);
        picture.normal.assign(81, Vec3f::UnitX()), picture.velocity.assign(81, Vec3f::Zero());
        picture.masks.assign(2, std::vector<float>(81));
        draw_markers(of, std::vector<Mode>{Mode::shown, mode_of_near}, light, camera, {}, picture);
        return picture;
    };
    const Picture shown = draw(clouds, Mode::shown), swapped = draw(reversed, Mode::shown);
    EXPECT_NEAR(shown.color.at(4, 4).x(), 1, 1e-3f);
    EXPECT_NEAR(shown.color.at(4, 4).y(), 0, 1e-3f);
    EXPECT_NEAR(swapped.color.at(4, 4).x(), 1, 1e-3f);
    EXPECT_NEAR(shown.masks[1][40], 1, 1e-3f);
    EXPECT_NEAR(shown.masks[0][40], 0, 1e-3f);
    EXPECT_NEAR(shown.depth[40], 4, 1e-3f);
    EXPECT_EQ(shown.normal[40], Vec3f(0, 0, 0));
    EXPECT_EQ(shown.velocity[40], Vec3f(1, 0, 0));
    EXPECT_EQ(shown.depth[0], kNoDepth);
    const Picture matte = draw(clouds, Mode::matte);
    EXPECT_NEAR(matte.color.at(4, 4).y(), 1, 1e-3f);
    const Picture holdout = draw(clouds, Mode::holdout);
    EXPECT_NEAR(holdout.color.at(4, 4).norm(), 0, 1e-3f); // hides the far cloud too
    EXPECT_NEAR(holdout.alpha[40], 0, 1e-3f);
    EXPECT_NEAR(holdout.masks[1][40], 1, 1e-3f);
}

TEST(MarkerPicture, SameBitsForAnyNumberOfThreads)
{
    const MarkerCloud cloud = ball_of_markers(30000);
    const Camera camera(CameraParams{}, {Vec3f(-1, -1, -1), Vec3f(1, 1, 1)}, 32, 24);
    const auto draw = [&](int threads) {
        return with_threads(threads, [&] {
            const RenderMarkers markers{0, cloud.P, {}, cloud.id, shadows_of(cloud, 1), 0.01f, Vec3f::Ones()};
            const RenderMarkers* clouds[] = {&markers};
            Picture picture = empty_picture(32, 24);
            draw_markers(clouds, {}, {}, camera, {}, picture);
            return picture.color.pixels;
        });
    };
    const auto one = draw(1);
    EXPECT_TRUE(same_bits(one, draw(2)));
    EXPECT_TRUE(same_bits(one, draw(3)));
}

} // namespace

} // namespace spindrift
