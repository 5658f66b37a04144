// What a crowd asks of the obstacles around it, beyond the area that they leave free.
#pragma once

#include "spindrift/base/math.h"

#include <span>

namespace spindrift {

class CrowdWalls {
  public:
    virtual ~CrowdWalls() = default;
    // For agents who stand free at `from`, the place near `to` that a disc of the radius can reach from there without
    // passing a wall. Called by several threads at a time, and only for agents within a cell or two of an obstacle.
    virtual void keep_out(std::span<const Vec2f> from, std::span<Vec2f> to, std::span<const float> radius) const = 0;
};

} // namespace spindrift
