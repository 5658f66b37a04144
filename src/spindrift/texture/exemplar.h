// Example textures: pictures from which texture synthesis learns. A few are made by code, so that scenes need no files.
#pragma once

#include "spindrift/base/math.h"

#include <string>
#include <vector>

namespace spindrift {

// A picture with any number of channels: three for colours, more for whatever belongs to them.
struct Exemplar {
    int width = 0, height = 0, channels = 3;
    int moment = 0;            // the frame of a video that it is
    std::vector<float> values; // row by row from the top, the channels of a pixel together; colours in linear light

    Exemplar() = default;
    Exemplar(int w, int h, int c = 3)
        : width(w), height(h), channels(c), values(static_cast<size_t>(w) * h * static_cast<size_t>(c), 0)
    {
    }
    const float* at(int x, int y) const { return &values[(static_cast<size_t>(y) * width + x) * channels]; }
    float* at(int x, int y) { return &values[(static_cast<size_t>(y) * width + x) * channels]; }
    Vec3f color(int x, int y) const { return Eigen::Map<const Vec3f>(at(x, y)); }
};

struct ExemplarParams {
    enum class Kind { checker, stripes, spots, crust, foam };
    Kind kind = Kind::spots;
    int size = 128;     // pixels
    float feature = 12; // size of a check, a stripe, a spot, a plate of crust or a bubble [pixels]
    Vec3f color = Vec3f::Ones(), second_color = Vec3f::Zero();
    int seed = 1;
};
// The left edge continues the right one, and the top the bottom.
Exemplar make_exemplar(const ExemplarParams& params);

} // namespace spindrift
