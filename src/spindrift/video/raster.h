// A picture with any number of channels: three for colours, more for whatever belongs to them.
#pragma once

#include "spindrift/base/math.h"

#include <vector>

namespace spindrift {

struct Raster {
    int width = 0, height = 0, channels = 0;
    std::vector<float> values; // row by row from the top, the channels of a pixel together; colours are linear light
    std::vector<float> guide;  // optional: one value a pixel, the parameter r of [Narain 2011, (2.8)]

    Raster() = default;
    Raster(int w, int h, int c) : width(w), height(h), channels(c), values(static_cast<size_t>(w) * h * c, 0.0f) {}
    size_t pixel(int x, int y) const { return static_cast<size_t>(y) * width + x; }
    size_t pixels() const { return static_cast<size_t>(width) * height; }
    const float* at(int x, int y) const { return values.data() + pixel(x, y) * channels; }
    float* at(int x, int y) { return values.data() + pixel(x, y) * channels; }
    Vec3f color(int x, int y) const { return Eigen::Map<const Vec3f>(at(x, y)); }
};

} // namespace spindrift
