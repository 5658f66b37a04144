// Rigid bodies in the pressure solve (Batty, Bertails and Bridson 2007). A body's motion V moves liquid out of the way
// through the part of each face that it fills, K V for each cell; pressure pushes it with the same weights, by an
// impulse density * voxel^3 K^T s. With both in one solve, nothing is gained or lost between liquid and bodies, and a
// body may be as light as it likes:
//
//     (A + density voxel^3 K M^-1 K^T) s = -(outflow of the liquid) - K V
#pragma once

#include "spindrift/bodies/bodies.h"
#include "spindrift/solvers/poisson.h"
#include "spindrift/world/solids.h"

namespace spindrift {

class BodyCoupling {
  public:
    // `shares` are those of SolidCells.
    void prepare(const Bodies& bodies, const RigidShares& shares, const PoissonMatrix& matrix, float voxel,
                 float density);
    // K and its middle factor for each body, for the solver.
    const std::vector<PoissonColumns>& columns() const { return columns_; }
    // Pushes the bodies by the pressure that was found.
    void push(const Field<double>& s, Bodies& bodies) const;

  private:
    std::vector<PoissonColumns> columns_;
    double mass_of_cell_ = 0; // [kg]
};

} // namespace spindrift
