#include "spindrift/video/video_patches.h"

#include "spindrift/base/error.h"
#include "spindrift/base/parallel.h"

namespace spindrift {

namespace {

struct Rectangle {
    int left = 0, top = 0, right = 0, bottom = 0; // the last two are not in it
};

// Takes away the edge with the largest share of unknown pixels until none is left.
Rectangle known_rectangle(const std::vector<uint8_t>& known, int width, int height)
{
    Rectangle r{0, 0, width, height};
    const auto unknown = [&](int x0, int y0, int x1, int y1) {
        int count = 0;
        for (int y = y0; y < y1; ++y)
            for (int x = x0; x < x1; ++x) count += known[static_cast<size_t>(y) * width + x] == 0;
        return static_cast<double>(count) / std::max(1, (x1 - x0) * (y1 - y0));
    };
    while (r.left < r.right && r.top < r.bottom) {
        const std::array<double, 4> shares = {
            unknown(r.left, r.top, r.left + 1, r.bottom), unknown(r.right - 1, r.top, r.right, r.bottom),
            unknown(r.left, r.top, r.right, r.top + 1), unknown(r.left, r.bottom - 1, r.right, r.bottom)};
        const auto worst = std::max_element(shares.begin(), shares.end());
        if (*worst == 0) {
            if (unknown(r.left, r.top, r.right, r.bottom) == 0) return r;
            ++r.left, ++r.top, --r.right, --r.bottom; // a hole inside
            continue;
        }
        switch (worst - shares.begin()) {
        case 0:
            ++r.left;
            break;
        case 1:
            --r.right;
            break;
        case 2:
            ++r.top;
            break;
        default:
            --r.bottom;
        }
    }
    return {};
}

// Copies the channels of `frame` to those of the patch from `first` on.
void add_channels(const Raster& frame, const Rectangle& part, int first, Raster& patch)
{
    for (int y = 0; y < patch.height; ++y)
        for (int x = 0; x < patch.width; ++x)
            std::copy_n(frame.at(part.left + x, part.top + y), frame.channels, patch.at(x, y) + first);
}

Raster video_patch(const Video& video, const std::vector<OpticalFlow>& flows, size_t newest, int history)
{
    const Raster& current = video.frames[newest];
    const int width = current.width, height = current.height;
    std::vector<Raster> earlier;
    std::vector<uint8_t> all_known(current.pixels(), 1), known;
    OpticalFlow back(width, height);
    for (int i = 1; i <= history; ++i) {
        if (flows.empty()) {
            earlier.push_back(video.frames[newest - i]);
            continue;
        }
        back = i == 1 ? flows[newest - 1] : composed(back, flows[newest - i]);
        earlier.push_back(warped(video.frames[newest - i], back, known));
        for (size_t p = 0; p < known.size(); ++p) all_known[p] &= known[p];
    }
    const Rectangle part = known_rectangle(all_known, width, height);
    const bool guided = !current.guide.empty();
    Raster patch(part.right - part.left, part.bottom - part.top, current.channels * (history + 1) + (guided ? 1 : 0));
    add_channels(current, part, 0, patch);
    for (int i = 1; i <= history; ++i) add_channels(earlier[i - 1], part, i * current.channels, patch);
    if (guided)
        for (int y = 0; y < patch.height; ++y)
            for (int x = 0; x < patch.width; ++x)
                patch.at(x, y)[patch.channels - 1] = current.guide[current.pixel(part.left + x, part.top + y)];
    return patch;
}

} // namespace

std::vector<OpticalFlow> flows_back(const Video& video, float smoothing)
{
    if (video.frames.size() < 2) return {};
    std::vector<OpticalFlow> flows(video.frames.size() - 1);
    parallel_for(flows.size(),
                 [&](size_t i) { flows[i] = smoothed(optical_flow(video.frames[i + 1], video.frames[i]), smoothing); });
    return flows;
}

std::vector<Raster> video_patches(const Video& video, const MotionRemoval& params)
{
    const auto history = static_cast<size_t>(params.history);
    if (video.frames.size() <= history)
        bad_input("the video has {} frames; a texture with {} earlier frames needs at least {}", video.frames.size(),
                  history, history + 1);
    const std::vector<OpticalFlow> flows =
        params.still || history == 0 ? std::vector<OpticalFlow>() : flows_back(video, params.smoothing);
    std::vector<Raster> patches(video.frames.size() - history);
    parallel_for(patches.size(),
                 [&](size_t i) { patches[i] = video_patch(video, flows, i + history, params.history); });
    std::erase_if(patches, [](const Raster& p) { return p.width == 0 || p.height == 0; });
    if (patches.empty())
        bad_input("everything in the video leaves the picture within {} frames; use a video with less motion", history);
    return patches;
}

} // namespace spindrift
