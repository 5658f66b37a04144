#include "spindrift/video/optical_flow.h"

#include "spindrift/base/companion.h"
#include "spindrift/base/error.h"
#include "spindrift/base/parallel.h"
#include "spindrift/video/flow_codec.h"

#include <Eigen/Cholesky>

namespace spindrift {

namespace {

// Both frames in 8 bits, with the same scale: the square root spreads the dark tones, as displays do.
std::vector<uint8_t> bytes_of(const std::vector<float>& values, float low, float high)
{
    std::vector<uint8_t> bytes(values.size());
    const float scale = high > low ? 1 / (high - low) : 0;
    for (size_t i = 0; i < values.size(); ++i)
        bytes[i] = static_cast<uint8_t>(std::lround(255 * std::sqrt(clamp01((values[i] - low) * scale))));
    return bytes;
}

// Convolves rows of `channels` interleaved values with a Gaussian, and returns them transposed.
std::vector<float> smooth_and_transpose(const std::vector<float>& values, int width, int height, int channels,
                                        const std::vector<float>& half_kernel, bool normalized)
{
    std::vector<float> out(values.size());
    const int reach = static_cast<int>(half_kernel.size()) - 1;
    parallel_for(static_cast<size_t>(height), [&](size_t row) {
        for (int x = 0; x < width; ++x)
            for (int c = 0; c < channels; ++c) {
                float sum = 0, total = 0;
                for (int i = std::max(0, x - reach); i <= std::min(width - 1, x + reach); ++i) {
                    const float w = half_kernel[std::abs(i - x)];
                    sum += w * values[(row * width + i) * channels + c], total += w;
                }
                out[(static_cast<size_t>(x) * height + row) * channels + c] = normalized ? sum / total : sum;
            }
    });
    return out;
}

std::vector<float> smooth(const std::vector<float>& values, int width, int height, int channels, float sigma,
                          bool normalized = true)
{
    if (sigma <= 0) return values;
    std::vector<float> half_kernel;
    for (int i = 0; i <= static_cast<int>(std::ceil(3 * sigma)); ++i)
        half_kernel.push_back(std::exp(-0.5f * static_cast<float>(i * i) / (sigma * sigma)));
    const std::vector<float> turned = smooth_and_transpose(values, width, height, channels, half_kernel, normalized);
    return smooth_and_transpose(turned, height, width, channels, half_kernel, normalized);
}

// Four neighbours of a place on an axis, clamped to it, and their weights: Catmull and Rom's cubic.
struct CubicSpan {
    std::array<int, 4> at;
    std::array<float, 4> weight;
    CubicSpan(float x, int count)
    {
        const int i = std::clamp(static_cast<int>(std::floor(x)), 0, std::max(0, count - 2));
        const float t = std::clamp(x - static_cast<float>(i), 0.0f, 1.0f), s = 1 - t;
        for (int k = 0; k < 4; ++k) at[k] = std::clamp(i + k - 1, 0, count - 1);
        weight = {-0.5f * t * s * s, 1 - 0.5f * t * t * (5 - 3 * t), 1 - 0.5f * s * s * (5 - 3 * s), -0.5f * s * t * t};
    }
};

Vec2f sample(const OpticalFlow& flow, float x, float y)
{
    x = std::clamp(x, 0.0f, static_cast<float>(flow.width - 1)),
    y = std::clamp(y, 0.0f, static_cast<float>(flow.height - 1));
    const int i = std::min(static_cast<int>(x), std::max(0, flow.width - 2)),
              j = std::min(static_cast<int>(y), std::max(0, flow.height - 2));
    const int right = std::min(i + 1, flow.width - 1), below = std::min(j + 1, flow.height - 1);
    const float u = x - static_cast<float>(i), v = y - static_cast<float>(j);
    return (1 - v) * ((1 - u) * flow.at(i, j) + u * flow.at(right, j)) +
           v * ((1 - u) * flow.at(i, below) + u * flow.at(right, below));
}

} // namespace

OpticalFlow optical_flow(const Raster& from, const Raster& to)
{
    static const auto function =
        load_companion<OpticalFlowFunction>("libspindrift_flow.so", kOpticalFlowFunction, "motion estimation needs");
    if (from.width != to.width || from.height != to.height)
        fail("motion between frames of {} x {} and {} x {} pixels", from.width, from.height, to.width, to.height);
    if (std::min(from.width, from.height) < kSmallestFlowEdge)
        bad_input("frames of {} x {} pixels are too small to follow their motion; they need {} each way", from.width,
                  from.height, kSmallestFlowEdge);
    const std::vector<float> a = brightness(from), b = brightness(to);
    const auto [low_a, high_a] = std::minmax_element(a.begin(), a.end());
    const auto [low_b, high_b] = std::minmax_element(b.begin(), b.end());
    const float low = std::min(*low_a, *low_b), high = std::max(*high_a, *high_b);
    OpticalFlow flow(from.width, from.height);
    std::string error;
    function(bytes_of(a, low, high).data(), bytes_of(b, low, high).data(), from.width, from.height,
             flow.vectors.front().data(), error);
    if (!error.empty()) fail("cannot estimate motion: {}", error);
    return flow;
}

OpticalFlow smoothed(const OpticalFlow& flow, float sigma)
{
    if (sigma <= 0) return flow;
    // Weighted sums of 1, x, y, xx, xy, yy, and of the components of the flow times 1, x, y. Places are relative to the
    // middle, in units of sigma, so that the equations are well scaled.
    constexpr int kSums = 12;
    const auto place = [&](int x, int y) {
        return Eigen::Vector3d(1, (x - 0.5 * (flow.width - 1)) / static_cast<double>(sigma),
                               (y - 0.5 * (flow.height - 1)) / static_cast<double>(sigma));
    };
    std::vector<float> sums;
    sums.reserve(flow.vectors.size() * kSums);
    for (int y = 0; y < flow.height; ++y)
        for (int x = 0; x < flow.width; ++x) {
            const Vec2f p = place(x, y).tail<2>().cast<float>();
            const Vec2f& v = flow.at(x, y);
            sums.insert(sums.end(), {1, p.x(), p.y(), p.x() * p.x(), p.x() * p.y(), p.y() * p.y()});
            sums.insert(sums.end(), {v.x(), v.y(), p.x() * v.x(), p.x() * v.y(), p.y() * v.x(), p.y() * v.y()});
        }
    sums = smooth(sums, flow.width, flow.height, kSums, sigma, false);
    OpticalFlow out(flow.width, flow.height);
    parallel_for(static_cast<size_t>(flow.height), [&](size_t row) {
        for (int x = 0; x < flow.width; ++x) {
            const int y = static_cast<int>(row);
            const float* s = &sums[(row * flow.width + x) * kSums];
            Eigen::Matrix3d matrix;
            matrix << s[0], s[1], s[2], s[1], s[3], s[4], s[2], s[4], s[5];
            Eigen::Matrix<double, 3, 2> right;
            right << s[6], s[7], s[8], s[9], s[10], s[11];
            out.at(x, y) = (place(x, y).transpose() * matrix.ldlt().solve(right)).transpose().cast<float>();
        }
    });
    return out;
}

std::vector<float> smoothed(const std::vector<float>& values, int width, int height, float sigma)
{
    return smooth(values, width, height, 1, sigma);
}

OpticalFlow composed(const OpticalFlow& first, const OpticalFlow& then)
{
    OpticalFlow out(first.width, first.height);
    parallel_for(static_cast<size_t>(out.height), [&](size_t row) {
        const int y = static_cast<int>(row);
        for (int x = 0; x < out.width; ++x) {
            const Vec2f& d = first.at(x, y);
            out.at(x, y) = d + sample(then, static_cast<float>(x) + d.x(), static_cast<float>(y) + d.y());
        }
    });
    return out;
}

Raster warped(const Raster& frame, const OpticalFlow& flow, std::vector<uint8_t>& known)
{
    Raster out(frame.width, frame.height, frame.channels);
    out.guide.resize(frame.guide.size());
    known.assign(frame.pixels(), 0);
    parallel_for(static_cast<size_t>(out.height), [&](size_t row) {
        for (int x = 0; x < out.width; ++x) {
            const int y = static_cast<int>(row);
            const Vec2f at = Vec2f(static_cast<float>(x), static_cast<float>(y)) + flow.at(x, y);
            const CubicSpan across(at.x(), out.width), down(at.y(), out.height);
            float* values = out.at(x, y);
            const size_t pixel = out.pixel(x, y);
            known[pixel] = at.x() >= 0 && at.y() >= 0 && at.x() <= static_cast<float>(out.width - 1) &&
                           at.y() <= static_cast<float>(out.height - 1);
            for (int j = 0; j < 4; ++j)
                for (int i = 0; i < 4; ++i) {
                    const float w = across.weight[i] * down.weight[j];
                    const float* source = frame.at(across.at[i], down.at[j]);
                    for (int c = 0; c < frame.channels; ++c) values[c] += w * source[c];
                    if (!frame.guide.empty())
                        out.guide[pixel] += w * frame.guide[frame.pixel(across.at[i], down.at[j])];
                }
        }
    });
    return out;
}

} // namespace spindrift
