// Implicit diffusion along the grid lines of a sparse grid, one axis after the other [Kass 2006]. Each line is a
// tridiagonal system that ends at missing tiles. Unconditionally stable; preserves positivity and the total, with no
// flux through the ends of lines.
#pragma once

#include "spindrift/field/tiles.h"

namespace spindrift {

class Diffusion {
  public:
    // Finds the lines of a topology, which must outlive their use.
    void set_topology(const Topology& topology);
    // One backward Euler step of dvalue/dt = div(coefficient grad value) with `step` = dt / voxel^2. Cells with zero
    // coefficient are walls and keep their value.
    void step(Field<float>& value, const Field<float>& coefficient, float step);

  private:
    using Chain = std::vector<int>; // consecutive tiles along an axis
    std::vector<Chain> chains_[3];
};

} // namespace spindrift
