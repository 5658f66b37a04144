// Example textures: pictures from which texture synthesis learns. A few are made by code, so that scenes need no files.
#pragma once

#include "spindrift/video/raster.h"

#include <string>
#include <vector>

namespace spindrift {

struct ExemplarParams {
    enum class Kind { checker, stripes, spots, crust, foam, ripples };
    Kind kind = Kind::spots;
    int size = 128;      // pixels
    float feature = 12;  // size of a check, a stripe, a spot, a plate of crust or a bubble [pixels]
    float amount = 0.6f; // of foam, 0 to 1
    Vec3f color = Vec3f::Ones(), second_color = Vec3f::Zero();
    int seed = 1;
};
// The left edge continues the right one, and the top the bottom. Ripples are a video: see make_video().
Raster make_exemplar(const ExemplarParams& params);

} // namespace spindrift
