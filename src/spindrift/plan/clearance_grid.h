// A lower bound of the distance to the nearest wall on a fine grid. Most steps of agents are shorter than it and need
// no further test.
#pragma once

#include "spindrift/plan/edge_grid.h"
#include "spindrift/plan/triangle_grid.h"

namespace spindrift {

class ClearanceGrid {
  public:
    ClearanceGrid(const EdgeGrid& edges, const TriangleGrid& triangles);
    // True if an agent can move by `distance` [m] in any direction. Conservative: may be false near walls, and is false
    // outside the free space.
    bool is_free_around(const Vec2f& x, float distance) const
    {
        const Vec2f at = (x - low_) * inverse_cell_;
        if (!(at.x() >= 0 && at.y() >= 0 && at.x() < static_cast<float>(columns_) &&
              at.y() < static_cast<float>(rows_)))
            return false;
        return distance <
               clearance_[static_cast<size_t>(at.y()) * static_cast<size_t>(columns_) + static_cast<size_t>(at.x())];
    }

  private:
    Vec2f low_ = Vec2f::Zero();
    float inverse_cell_ = 1;
    int columns_ = 0, rows_ = 0;
    std::vector<float> clearance_; // [m], lower bound over a cell
};

} // namespace spindrift
