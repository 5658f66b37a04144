// Polygons of a floor plan, in metres. Outer rings run counter-clockwise and holes clockwise; the last point is not the
// first one again.
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
