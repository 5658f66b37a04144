// Motion in videos: dense inverse search [Kroeger 2016] by OpenCV, smoothed so that only the motion of the whole
// remains and not the evolution of what is seen [Narain 2011, 2.4.1].
//
// Limits: motion must be small against the size of what moves; a picture without detail has no flow. Results do not
// depend on the number of threads, but may on the processor.
#pragma once

#include "spindrift/base/math.h"
#include "spindrift/video/video.h"

namespace spindrift {

// For each pixel of one frame, where it is in another, relative to its place.
struct OpticalFlow {
    int width = 0, height = 0;
    std::vector<Vec2f> vectors; // row by row from the top [pixels]; x to the right, y down

    OpticalFlow() = default;
    OpticalFlow(int w, int h) : width(w), height(h), vectors(static_cast<size_t>(w) * h, Vec2f::Zero()) {}
    const Vec2f& at(int x, int y) const { return vectors[static_cast<size_t>(y) * width + x]; }
    Vec2f& at(int x, int y) { return vectors[static_cast<size_t>(y) * width + x]; }
};

constexpr int kSmallestFlowEdge = 32; // of a frame [pixels]

// From the brightness of the frames. Throws Error(bad_input) for frames smaller than kSmallestFlowEdge.
OpticalFlow optical_flow(const Raster& from, const Raster& to);
// With a Gaussian of this standard deviation [pixels]: about each pixel the linear function is fitted that is nearest
// to the flow around it, which is the Gaussian mean in the middle and has no bias at the edges, where one side is
// missing. `confidence`: weight of each pixel; empty: 1.
OpticalFlow smoothed(const OpticalFlow& flow, float sigma);
// Gaussian mean of one value a pixel; pixels beyond the edge do not count.
std::vector<float> smoothed(const std::vector<float>& values, int width, int height, float sigma);
// The flow along `first`, continued along `then` from where `first` ends.
OpticalFlow composed(const OpticalFlow& first, const OpticalFlow& then);

// The values and the guide where the flow leads, cubic in between. `known` becomes 0 where that is outside the frame.
Raster warped(const Raster& frame, const OpticalFlow& flow, std::vector<uint8_t>& known);

} // namespace spindrift
