// Two-way coupling of rigid bodies with the stresses of sand [Narain 2011, section 5.3.4]. A body that covers the share
// phi_s of a face receives that share of the push of a stress, and sand the rest. In the notation of sand/stress.h, a
// stress component x, which pushes faces by D x, changes a body's motion by
//
//     V += m M^-1 J^T x,    J^T x = sum over faces of phi_s (D x) lever    (5.21), (5.22)
//
// with the mass m of a cell full of the first material. The quadratic program gains m J M^-1 J^T in its matrix and -J V
// on its right-hand side, (5.25) and (5.26): body and sand give way to each other in the same solve. Bodies take part
// in all six programs of a step, and cost nothing where there are none.
//
// Differences from [Narain 2011]:
//
// - A body adds six columns to the matrix that the solver with bounds sees (solvers/column_matrix.h). The solver's
//   fixed step is shortened where a light body makes rows heavy. The stresses of the last step push bodies too before
//   anything is solved, so that the warm start is valid for them.
// - The capacity of a cell is what bodies leave of it at present; the volume that they sweep during the step enters the
//   pressure solve through their motion, (5.25).
// - Friction on a body is the shear at the edges around it, bounded by Coulomb's law with the body's own coefficient,
//   or by that of rough walls if it has none. Light balls roll by it.
// - Impacts (sand/body_contact.cpp): sand in flight has no stress, and each particle collides with a body on its own.
//   All particles that strike a body in a step do so in one inelastic collision, solved with the body's inverse mass.
//   This conserves momentum exactly, and throws no body faster than what struck it, however light it is.
// - Friction gets 12 iterations instead of 4 in steps in which a body rests on sand: with fewer, a ball ten times as
//   heavy as sand came to rest, and began to sink again after a second.
#pragma once

#include "spindrift/bodies/bodies.h"
#include "spindrift/sand/sand_grid.h"
#include "spindrift/solvers/column_matrix.h"
#include "spindrift/world/rigid_shares.h"

namespace spindrift {

class BodyStress {
  public:
    enum Part { pressure, axial, lateral, shear_xy, shear_yz, shear_xz, kParts };

    // `density` is that of the first material.
    BodyStress(Bodies& bodies, float density) : bodies_(bodies), density_(density) {}

    // Finds the rows of J. `tile_of` maps tiles of the dense topology to tiles of the sand's grid; the matrices are on
    // the dense topology, ordered by Part.
    void prepare(const SandGrid& grid, const RigidShares& shares, const Topology& dense,
                 const std::vector<int>& tile_of, const std::array<TileMatrix*, kParts>& matrices);
    // Whether a body slower than this [m/s] touches sand.
    bool lies_on_sand(float slow) const;
    // The matrix of a component including bodies.
    QpMatrix<float>& matrix(Part part) { return matrices_[part]; }
    // b -= J V.
    void add_motion(Part part, std::span<float> b) const;
    // Pushes the bodies by the change of one component of stress, or by all stresses.
    void push(Part part, std::span<const float> x);
    void push(const Field<float>& q, const Field<float> (&s)[6]);

    // Coulomb's coefficient of a body on sand; none: as rough as sand itself.
    std::optional<float> friction(const RigidSolid& body) const;

  private:
    void find_rows(size_t body, const SandGrid& grid, const RigidShares& shares, int tile, int dense_tile,
                   const std::array<TileMatrix*, kParts>& matrices,
                   std::array<std::vector<ColumnMatrix::Columns::Cell>, kParts>& found) const;

    Bodies& bodies_;
    float density_;
    double mass_of_cell_ = 0;                                        // [kg]
    std::array<std::vector<ColumnMatrix::Columns>, kParts> columns_; // by body
    std::array<ColumnMatrix, kParts> matrices_;
};

} // namespace spindrift
