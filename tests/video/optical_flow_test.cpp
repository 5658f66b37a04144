// Motion of videos made by code, whose motion is known.
#include "spindrift/video/video_patches.h"

#include "base/determinism.h"
#include "spindrift/base/error.h"
#include "spindrift/texture/made_videos.h"

#include <gtest/gtest.h>

namespace spindrift {

namespace {

constexpr float kDegree = 0.0174533f;

// Ripples that evolve for three of their mean periods, while the whole drifts and turns.
MadeVideoParams drifting_ripples()
{
    MadeVideoParams params;
    params.width = 144, params.height = 112, params.frames = 48;
    params.drift = {2.3f, -0.9f}, params.turn = 0.4f * kDegree;
    return params;
}

// Where the pixel of frame f was in the frame before: a rotation about the middle, which drifts.
Eigen::Vector2d known_motion_back(const MadeVideoParams& params, int frame, int x, int y)
{
    const Eigen::Vector2d middle(0.5 * (params.width - 1), 0.5 * (params.height - 1)),
        drift = params.drift.cast<double>();
    const Eigen::Vector2d from_middle = Eigen::Vector2d(x, y) - middle - frame * drift;
    const Eigen::Vector2d turned = Eigen::Rotation2Dd(-static_cast<double>(params.turn)) * from_middle;
    return turned - from_middle - drift;
}

// How far a square of the newest frame has moved in the i-th before it, in all patches together: the whole number of
// pixels at which the squared difference is least, and the minimum of a parabola about it along each axis.
Eigen::Vector2d mean_shift(const std::vector<Raster>& patches, int i, int left, int top, int size, int reach)
{
    const auto difference = [&](int dx, int dy) {
        double sum = 0;
        for (const Raster& p : patches)
            for (int y = top; y < top + size; ++y)
                for (int x = left; x < left + size; ++x) {
                    const auto d = static_cast<double>(p.at(x, y)[1] - p.at(x + dx, y + dy)[3 * i + 1]);
                    sum += d * d;
                }
        return sum;
    };
    int best_x = 0, best_y = 0;
    double least = std::numeric_limits<double>::infinity();
    for (int dy = -reach; dy <= reach; ++dy)
        for (int dx = -reach; dx <= reach; ++dx)
            if (const double d = difference(dx, dy); d < least) least = d, best_x = dx, best_y = dy;
    const auto vertex = [&](int ax, int ay) {
        const double before = difference(best_x - ax, best_y - ay), after = difference(best_x + ax, best_y + ay);
        return 0.5 * (before - after) / (before - 2 * least + after);
    };
    return {best_x + vertex(1, 0), best_y + vertex(0, 1)};
}

// The mean length of these over squares that cover the picture [pixels/frame].
double mean_motion(const std::vector<Raster>& patches, int i, int reach)
{
    constexpr int kSize = 24;
    int width = 1 << 20, height = 1 << 20;
    for (const Raster& p : patches) width = std::min(width, p.width), height = std::min(height, p.height);
    double sum = 0;
    int squares = 0;
    const int margin = reach + 1;
    for (int top = margin; top + kSize + margin <= height; top += kSize)
        for (int left = margin; left + kSize + margin <= width; left += kSize, ++squares)
            sum += mean_shift(patches, i, left, top, kSize, reach).norm() / i;
    return sum / squares;
}

} // namespace

TEST(MotionRemoval, LeavesLessThanATenthOfAPixel)
{
    const MadeVideoParams params = drifting_ripples();
    const Video video = make_video(params);
    // The measure sees the motion that was there.
    const double before = mean_motion(video_patches(video, {.history = 1, .still = true}), 1, 4),
                 known = static_cast<double>(params.drift.norm());
    EXPECT_NEAR(before, known, 0.1 * known);
    const double left = mean_motion(video_patches(video, {.history = 1}), 1, 2);
    EXPECT_LT(left, 0.1);
    fmt::print("{:.3f} pixels a frame left of {:.3f}\n", left, before);
}

// The error of the flow, from which the motion follows that is left at each place in the mean of all frames; smoothing
// makes it smaller.
TEST(MotionRemoval, FindsTheKnownMotion)
{
    const MadeVideoParams params = drifting_ripples();
    const Video video = make_video(params);
    const auto mean_error = [&](float smoothing) {
        const std::vector<OpticalFlow> flows = flows_back(video, smoothing);
        double sum = 0;
        for (int y = 0; y < params.height; ++y)
            for (int x = 0; x < params.width; ++x) {
                Eigen::Vector2d mean = Eigen::Vector2d::Zero();
                for (size_t f = 0; f < flows.size(); ++f)
                    mean += flows[f].at(x, y).cast<double>() - known_motion_back(params, static_cast<int>(f) + 1, x, y);
                sum += mean.norm() / static_cast<double>(flows.size());
            }
        return sum / (params.width * params.height);
    };
    const double raw = mean_error(0), smooth = mean_error(24);
    fmt::print("error of the mean flow: {:.3f} pixels, smoothed {:.3f}\n", raw, smooth);
    EXPECT_LT(smooth, 0.1);
    EXPECT_LT(smooth, 0.6 * raw);
}

// Smoothing keeps the large motion and removes the small one: waves of a short length are damped as a Gaussian says.
TEST(OpticalFlow, SmoothingDampsShortWaves)
{
    OpticalFlow flow(120, 40);
    constexpr float kSigma = 4, kWave = 20;
    const float k = static_cast<float>(2 * kPi) / kWave;
    for (int y = 0; y < flow.height; ++y)
        for (int x = 0; x < flow.width; ++x) flow.at(x, y) = {1 + std::sin(k * static_cast<float>(x)), 3};
    const OpticalFlow smooth = smoothed(flow, kSigma);
    const float left = std::exp(-0.5f * k * k * kSigma * kSigma);
    for (int x = 20; x < 100; ++x) {
        EXPECT_NEAR(smooth.at(x, 20).x(), 1 + left * std::sin(k * static_cast<float>(x)), 0.01f);
        EXPECT_NEAR(smooth.at(x, 20).y(), 3, 1e-5f);
    }
}

TEST(OpticalFlow, WarpingFollowsAPolynomialExactlyAndKnowsTheEdge)
{
    Raster frame(20, 16, 2);
    frame.guide.resize(frame.pixels());
    const auto value = [](float x, float y) { return 1 + 0.5f * x - 0.25f * y + 0.02f * x * y + 0.01f * x * x; };
    for (int y = 0; y < frame.height; ++y)
        for (int x = 0; x < frame.width; ++x) {
            frame.at(x, y)[0] = value(static_cast<float>(x), static_cast<float>(y)), frame.at(x, y)[1] = 7;
            frame.guide[frame.pixel(x, y)] = static_cast<float>(y);
        }
    OpticalFlow flow(20, 16), again(20, 16);
    for (Vec2f& v : flow.vectors) v = {0.8f, -1.3f};
    for (Vec2f& v : again.vectors) v = {0.5f, 0.6f};
    std::vector<uint8_t> known;
    const Raster moved = warped(frame, composed(flow, again), known);
    for (int y = 3; y < 13; ++y)
        for (int x = 3; x < 15; ++x) {
            EXPECT_NEAR(moved.at(x, y)[0], value(static_cast<float>(x) + 1.3f, static_cast<float>(y) - 0.7f), 1e-4f);
            EXPECT_NEAR(moved.at(x, y)[1], 7, 1e-5f);
            EXPECT_NEAR(moved.guide[moved.pixel(x, y)], static_cast<float>(y) - 0.7f, 1e-4f);
        }
    EXPECT_EQ(known[moved.pixel(17, 1)], 1);
    EXPECT_EQ(known[moved.pixel(18, 1)], 0); // 19.3
    EXPECT_EQ(known[moved.pixel(5, 0)], 0);
}

TEST(OpticalFlow, IsTheSameForAnyNumberOfThreads)
{
    MadeVideoParams params = drifting_ripples();
    params.frames = 5;
    const Video video = make_video(params);
    const auto patches = [&] {
        std::vector<float> values;
        for (const Raster& patch : video_patches(video, {.history = 2}))
            values.insert(values.end(), patch.values.begin(), patch.values.end());
        return values;
    };
    EXPECT_TRUE(same_bits(with_threads(1, patches), with_threads(3, patches)));
}

TEST(OpticalFlow, RefusesTinyFramesAndFindsNothingInConstantOnes)
{
    const Raster tiny(16, 40, 3), grey(40, 40, 3);
    EXPECT_THROW(optical_flow(tiny, tiny), Error);
    for (const Vec2f& v : optical_flow(grey, grey).vectors) EXPECT_LT(v.norm(), 1e-3f);
}

TEST(VideoPatches, AreCroppedToWhatIsKnown)
{
    MadeVideoParams params;
    params.width = params.height = 96, params.frames = 6, params.drift = {4, 0};
    const std::vector<Raster> patches = video_patches(make_video(params), {.history = 3});
    ASSERT_EQ(patches.size(), 3u);
    for (const Raster& patch : patches) {
        EXPECT_EQ(patch.channels, 12);
        EXPECT_NEAR(patch.width, 96 - 3 * 4, 3);
        EXPECT_GE(patch.height, 92);
    }
    params.frames = 3;
    EXPECT_THROW(video_patches(make_video(params), {.history = 3}), Error);
}

} // namespace spindrift
