// Two-way coupling of rigid bodies with the pressure solve [Batty 2007]. A body's motion V displaces liquid through the
// part of each face that it covers, K V for each cell; pressure pushes the body with the same weights, by an impulse
// density * voxel^3 K^T s. Both are in one solve, so that momentum is conserved between liquid and bodies, and a body
// may be arbitrarily light:
//
//     (A + density voxel^3 K M^-1 K^T) s = -(outflow of the liquid) - K V
//
// Notes:
//
// - A body adds six columns to the pressure's matrix. Conjugate gradients multiply with them, but the preconditioner
//   ignores them: no more iterations for bodies as dense as the liquid, 16 instead of 7 for a ball of a thousandth of
//   its density.
// - Bodies have shares of the volume around each face (world/rigid_shares.h), where colliders have shares of its area:
//   the force of a linear pressure is then that of the exact volume, wherever a body lies relative to the cells. By
//   area, a box ten cells high would float half a cell too deep or too high, and jump as it moves.
// - Hinges and fixed axes are part of the inverse mass that the solve sees: a wheel does not give way to the jet that
//   turns it, only for Bullet to put it back.
// - Order of a step: gravity on bodies; pressure on both; then contacts, hinges and motors. Liquid that a body meets is
//   stopped in front of the body's new position (liquid/contact.cpp). A body moves at most one cell per step.
// - Limits: viscosity, friction and surface tension act on the liquid at a body, but not on the body.
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
    // K and M^-1 scaled for the solver, by body.
    const std::vector<PoissonColumns>& columns() const { return columns_; }
    // Pushes the bodies by the pressure s.
    void push(const Field<double>& s, Bodies& bodies) const;

  private:
    std::vector<PoissonColumns> columns_;
    double mass_of_cell_ = 0; // [kg]
};

} // namespace spindrift
