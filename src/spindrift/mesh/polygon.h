// Polygons of floor plans [m]. Outer rings are counter-clockwise and holes clockwise; the first point is not repeated
// at the end.
#pragma once

#include "spindrift/base/math.h"

#include <vector>

namespace spindrift {

using Vec2d = Eigen::Vector2d;
using Ring = std::vector<Vec2d>;

struct Polygon {
    Ring outer;
    std::vector<Ring> holes;
};

} // namespace spindrift
