// Finds the triangle of the free space that contains a point.
#pragma once

#include "spindrift/plan/free_space.h"

namespace spindrift {

class TriangleGrid {
  public:
    explicit TriangleGrid(const FreeSpace& space);
    // -1 outside the free space.
    int find(const Vec2d& p) const;

  private:
    struct Corners {
        Vec2d a, b, c;
    };
    std::vector<Corners> triangles_;
    Vec2d low_, high_;
    double inverse_cell_;
    int columns_, rows_;
    std::vector<uint32_t> start_;
    std::vector<int> in_cells_;
};

} // namespace spindrift
