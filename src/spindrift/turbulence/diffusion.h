// Implicit diffusion along the lines of a sparse grid, one axis after the other (Kass, Lefohn and Owens 2006). Each
// line is a tridiagonal system that runs through its tiles until one is missing. Stable for any step; positive stays
// positive; what flows out of a cell flows into its neighbour, and nothing through the ends of lines.
#pragma once

#include "spindrift/field/tiles.h"

namespace spindrift {

class Diffusion {
  public:
    // Finds the lines of a topology, which must outlive their use.
    void set_topology(const Topology& topology);
    // A backward Euler step of dvalue/dt = div(coefficient grad value) with `step` = dt / voxel^2. Cells with a
    // coefficient of zero are walls: they keep their value.
    void step(Field<float>& value, const Field<float>& coefficient, float step);

  private:
    using Chain = std::vector<int>; // consecutive tiles along an axis
    std::vector<Chain> chains_[3];
};

} // namespace spindrift
