// Collision of agents with obstacles, beyond the free area that the continuum uses.
#pragma once

#include "spindrift/base/math.h"

#include <span>

namespace spindrift {

class CrowdWalls {
  public:
    virtual ~CrowdWalls() = default;
    // Moves `to` to the nearest place that a disc of this radius can reach from the free place `from` without crossing
    // a wall. Called from several threads at a time, and only within a cell or two of an obstacle.
    virtual void keep_out(std::span<const Vec2f> from, std::span<Vec2f> to, std::span<const float> radius) const = 0;
};

} // namespace spindrift
