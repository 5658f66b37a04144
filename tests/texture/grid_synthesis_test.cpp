// Videos synthesized on a plane.
#include "spindrift/texture/grid_synthesis.h"

#include "base/determinism.h"
#include "spindrift/base/error.h"
#include "spindrift/texture/made_videos.h"
#include "spindrift/video/video_patches.h"

#include <gtest/gtest.h>

namespace spindrift {

namespace {

Video ripples(int frames, int size = 64)
{
    MadeVideoParams params;
    params.width = params.height = size, params.frames = frames, params.drift = {0, 0}, params.feature = 10;
    return make_video(params);
}

GridSynthesisParams small_squares() { return {.sizes = {17, 9}, .first_iterations = 4}; }

constexpr int kSquare = 7; // [pixels]

// Squared difference of two squares; stops when it is more than `enough`.
double difference(const Raster& a, int x, int y, const Raster& b, int u, int v, double enough)
{
    double sum = 0;
    for (int j = 0; j < kSquare && sum < enough; ++j)
        for (int i = 0; i < kSquare; ++i) {
            const auto d = static_cast<double>(a.at(x + i, y + j)[1] - b.at(u + i, v + j)[1]);
            sum += d * d;
        }
    return sum;
}

double least_difference(const Raster& frame, int x, int y, const std::vector<Raster>& example)
{
    double least = std::numeric_limits<double>::infinity();
    for (const Raster& e : example)
        for (int v = 0; v + kSquare <= e.height; ++v)
            for (int u = 0; u + kSquare <= e.width; ++u)
                least = std::min(least, difference(frame, x, y, e, u, v, least));
    return least;
}

// Mean over squares of the frame of the squared difference to the most similar square of the example's frames.
double unlike(const Raster& frame, const std::vector<Raster>& example)
{
    double sum = 0, count = 0;
    for (int y = 4; y + kSquare < frame.height; y += 9)
        for (int x = 4; x + kSquare < frame.width; x += 9, ++count) sum += least_difference(frame, x, y, example);
    return sum / (count * kSquare * kSquare);
}

// Root mean square of the change of the second channel.
double change(const Raster& a, const Raster& b)
{
    double sum = 0;
    for (size_t i = 0; i < a.pixels(); ++i) {
        const auto d = static_cast<double>(a.values[i * a.channels + 1] - b.values[i * b.channels + 1]);
        sum += d * d;
    }
    return std::sqrt(sum / static_cast<double>(a.pixels()));
}

double correlation(const std::vector<float>& a, const std::vector<float>& b)
{
    double sa = 0, sb = 0, aa = 0, bb = 0, ab = 0;
    for (size_t i = 0; i < a.size(); ++i) {
        const auto x = static_cast<double>(a[i]), y = static_cast<double>(b[i]);
        sa += x, sb += y, aa += x * x, bb += y * y, ab += x * y;
    }
    const auto n = static_cast<double>(a.size());
    return (ab - sa * sb / n) / std::sqrt((aa - sa * sa / n) * (bb - sb * sb / n));
}

} // namespace

TEST(GridSynthesis, MakesFramesLikeThoseOfTheExample)
{
    const Video video = ripples(8);
    GridSynthesis synthesis(video_patches(video, {.history = 1, .still = true}), {.channels = 3, .history = 1},
                            small_squares());
    Raster made;
    for (int f = 0; f < 5; ++f) made = synthesis.next(80, 56, {}, nullptr);
    const double own = unlike(made, video.frames);
    // Another frame of the same ripples, later than the example, and one whose squares do not fit together.
    const double later = unlike(ripples(30).frames.back(), video.frames);
    Raster blurred = made;
    blurred.values.assign(made.values.size(), 0);
    for (int c = 0; c < 3; ++c) {
        std::vector<float> one(made.pixels());
        for (size_t i = 0; i < one.size(); ++i) one[i] = made.values[3 * i + c];
        const std::vector<float> smooth = smoothed(one, made.width, made.height, 2);
        for (size_t i = 0; i < one.size(); ++i) blurred.values[3 * i + c] = smooth[i];
    }
    fmt::print("unlike: {:.5f}, later frames {:.5f}, blurred {:.5f}; energy {:.5f}\n", own, later,
               unlike(blurred, video.frames), synthesis.energy());
    EXPECT_LT(own, later);
    EXPECT_GT(change(made, blurred), 0.02);
}

// Contrast, and the mean change from frame to frame, are those of the example.
TEST(GridSynthesis, EvolvesLikeTheExample)
{
    const Video video = ripples(24);
    double example = 0;
    for (size_t f = 1; f < video.frames.size(); ++f)
        example += change(video.frames[f], video.frames[f - 1]) / static_cast<double>(video.frames.size() - 1);
    const auto contrast = [&](const Raster& frame) {
        Raster mean(frame.width, frame.height, 3);
        double sum = 0;
        for (size_t i = 0; i < frame.pixels(); ++i) sum += static_cast<double>(frame.values[3 * i + 1]);
        std::fill(mean.values.begin(), mean.values.end(),
                  static_cast<float>(sum / static_cast<double>(frame.pixels())));
        return change(frame, mean);
    };
    {
        constexpr int history = 1;
        GridSynthesis synthesis(video_patches(video, {.history = history, .still = true}),
                                {.channels = 3, .history = history}, {});
        constexpr int kFrames = 8;
        double sum = 0;
        Raster made, before;
        for (int f = 0; f < kFrames; ++f) {
            before = std::exchange(made, synthesis.next(64, 64, {}, nullptr));
            if (f >= 2) sum += change(made, before) / (kFrames - 2);
        }
        fmt::print("history {}: change {:.4f} of {:.4f}, contrast {:.4f} of {:.4f}, energy {:.4f}\n", history, sum,
                   example, contrast(made), contrast(video.frames.back()), synthesis.energy());
        EXPECT_NEAR(sum / example, 1, 0.3);
        EXPECT_NEAR(contrast(made) / contrast(video.frames.back()), 1, 0.2);
    }
}

TEST(GridSynthesis, IsCarriedByTheFlow)
{
    // A still example: each frame is the one before, moved.
    Video video = ripples(1);
    video.frames.push_back(video.frames.front());
    GridSynthesis synthesis(video_patches(video, {.history = 1, .still = true}), {.channels = 3, .history = 1},
                            small_squares());
    OpticalFlow back(72, 56);
    for (Vec2f& v : back.vectors) v = {-3, 2};
    const Raster first = synthesis.next(72, 56, {}, nullptr), second = synthesis.next(72, 56, {}, &back);
    double moved = 0, stayed = 0;
    for (int y = 8; y < 46; ++y)
        for (int x = 8; x < 64; ++x) {
            moved += std::abs(static_cast<double>(second.at(x, y)[1] - first.at(x - 3, y + 2)[1]));
            stayed += std::abs(static_cast<double>(second.at(x, y)[1] - first.at(x, y)[1]));
        }
    EXPECT_LT(moved, 0.2 * stayed);
}

// Without a history nothing tells how a video goes on: frames begin anew, or, if there is a flow, with the one before.
TEST(GridSynthesis, FramesWithoutAHistoryDifferAndFollowTheFlow)
{
    GridSynthesis synthesis(video_patches(ripples(1), {.history = 0, .still = true}), {.channels = 3}, small_squares());
    const Raster first = synthesis.next(72, 56, {}, nullptr), second = synthesis.next(72, 56, {}, nullptr);
    const double different = change(first, second);
    EXPECT_GT(different, 0.05);
    OpticalFlow back(72, 56);
    for (Vec2f& v : back.vectors) v = {-3, 2};
    const Raster third = synthesis.next(72, 56, {}, &back);
    double moved = 0, stayed = 0;
    for (int y = 8; y < 46; ++y)
        for (int x = 8; x < 64; ++x) {
            moved += std::abs(static_cast<double>(third.at(x, y)[1] - second.at(x - 3, y + 2)[1]));
            stayed += std::abs(static_cast<double>(third.at(x, y)[1] - second.at(x, y)[1]));
        }
    EXPECT_LT(moved, 0.4 * stayed);
}

TEST(GridSynthesis, FollowsTheGuide)
{
    Video video = ripples(6);
    for (Raster& frame : video.frames) frame.guide = smoothed(brightness(frame), frame.width, frame.height, 3);
    const auto [low, high] = std::minmax_element(video.frames[0].guide.begin(), video.frames[0].guide.end());
    // Dark and bright in turns along x.
    std::vector<float> wanted;
    for (int y = 0; y < 64; ++y)
        for (int x = 0; x < 80; ++x)
            wanted.push_back(0.5f * (*low + *high) + 0.4f * (*high - *low) * std::sin(0.16f * static_cast<float>(x)));
    const auto follows = [&](float weight) {
        GridSynthesisParams params = small_squares();
        params.guide_weight = weight;
        GridSynthesis synthesis(video_patches(video, {.history = 1, .still = true}),
                                {.channels = 3, .history = 1, .guided = true}, params);
        Raster made;
        for (int f = 0; f < 2; ++f) made = synthesis.next(80, 64, wanted, nullptr);
        return correlation(smoothed(brightness(made), 80, 64, 3), wanted);
    };
    EXPECT_GT(follows(1), 0.8);
    EXPECT_LT(follows(0), 0.4);
}

TEST(GridSynthesis, HasManyChannelsComparedByAFew)
{
    BoilingParams params;
    params.frames = 10;
    const Video video = make_boiling(params);
    GridSynthesis synthesis(video_patches(video, {.history = 1, .still = true}),
                            {.channels = 20, .history = 1, .guided = true}, small_squares());
    EXPECT_LE(synthesis.compared_channels(), 10);
    const int width = 96, height = 48;
    std::vector<float> hot;
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x) hot.push_back(x < width / 2 ? 0.95f : 0.05f);
    Raster made = synthesis.next(width, height, hot, nullptr);
    double left = 0, right = 0;
    for (int f = 0; f < 6; ++f) {
        const Raster next = synthesis.next(width, height, hot, nullptr);
        for (int y = 0; y < height; ++y)
            for (int x = 0; x < width; ++x)
                for (int c = 0; c < 20; ++c)
                    (x < width / 2 ? left : right) +=
                        std::abs(static_cast<double>(next.at(x, y)[c] - made.at(x, y)[c]));
        made = next;
    }
    fmt::print("{} channels compared; change hot {:.0f}, cold {:.0f}\n", synthesis.compared_channels(), left, right);
    EXPECT_GT(left, 4 * right); // it boils where it is hot
}

TEST(GridSynthesis, IsTheSameForAnyNumberOfThreads)
{
    const Video video = ripples(4, 48);
    const auto last = [&] {
        GridSynthesis synthesis(video_patches(video, {.history = 1}), {.channels = 3, .history = 1}, small_squares());
        synthesis.next(50, 40, {}, nullptr);
        return synthesis.next(50, 40, {}, nullptr).values;
    };
    EXPECT_TRUE(same_bits(with_threads(1, last), with_threads(3, last)));
}

TEST(GridSynthesis, RefusesExamplesThatAreTooSmallOrConstant)
{
    const auto words = [](std::vector<Raster> patches) -> std::string {
        try {
            GridSynthesis synthesis(std::move(patches), {.channels = 3}, small_squares());
        } catch (const Error& error) {
            EXPECT_EQ(error.code, ExitCode::bad_input);
            return error.what();
        }
        return "";
    };
    EXPECT_NE(words({Raster(12, 40, 3)}).find("smaller than a square of 17"), std::string::npos);
    Raster grey(40, 40, 3);
    std::fill(grey.values.begin(), grey.values.end(), 0.3f);
    EXPECT_NE(words({grey}).find("nothing to learn"), std::string::npos);
}

// |grad phi| = 1, and more bubbles, and larger ones, where it is hot.
TEST(Boiling, IsASequenceOfDistancesToASurfaceThatBoilsWhereItIsHot)
{
    BoilingParams params;
    params.frames = 12;
    const Video video = make_boiling(params);
    ASSERT_EQ(video.frames.size(), 12u);
    ASSERT_EQ(video.channels.size(), 20u);
    double sum = 0, count = 0;
    std::array<double, 4> change = {}; // in quarters, from cold to hot
    for (size_t f = 1; f < video.frames.size(); ++f) {
        const Raster& frame = video.frames[f];
        for (int y = 1; y < 63; ++y)
            for (int x = 1; x < 63; ++x) {
                EXPECT_GT(frame.at(x, y)[19], 0); // air above
                for (int z = 1; z < 19; ++z) {
                    const float d = frame.at(x, y)[z];
                    change[x / 16] += static_cast<double>(std::abs(d - video.frames[f - 1].at(x, y)[z]));
                    if (std::abs(d) > 3 || std::abs(d) < 0.8f) continue;
                    // Upwind: towards the surface, as distances have kinks elsewhere.
                    double square = 0;
                    const auto slope = [&](float a, float b) {
                        return std::max({0.0f, std::abs(d) - std::abs(a), std::abs(d) - std::abs(b)});
                    };
                    for (const float s : {slope(frame.at(x - 1, y)[z], frame.at(x + 1, y)[z]),
                                          slope(frame.at(x, y - 1)[z], frame.at(x, y + 1)[z]),
                                          slope(frame.at(x, y)[z - 1], frame.at(x, y)[z + 1])})
                        square += static_cast<double>(s * s);
                    sum += std::abs(std::sqrt(square) - 1), ++count;
                }
            }
    }
    EXPECT_LT(sum / count, 0.1);
    for (int quarter = 1; quarter < 4; ++quarter) EXPECT_GT(change[quarter], change[quarter - 1]);
    EXPECT_GT(change[3], 3 * change[0]); // waves leave the hot part
}

} // namespace spindrift
