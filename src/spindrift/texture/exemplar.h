// Example textures: pictures from which texture synthesis learns. A few are made by code, so that scenes need no files.
#pragma once

#include "spindrift/base/math.h"

#include <string>
#include <vector>

namespace spindrift {

struct Exemplar {
    int width = 0, height = 0;
    std::vector<Vec3f> pixels; // row by row from the top, linear light

    const Vec3f& at(int x, int y) const { return pixels[static_cast<size_t>(y) * width + x]; }
    Vec3f& at(int x, int y) { return pixels[static_cast<size_t>(y) * width + x]; }
    // Bilinear; clamped to the picture.
    Vec3f sample(float x, float y) const;
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
