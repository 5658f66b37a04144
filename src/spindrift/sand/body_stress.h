// Rigid bodies in the stresses of sand (document 000, section 5.3.4). A face that a body fills by phi_s gives that part
// of a stress' push to the body, and the rest to sand; in terms of sand/stress.h, a component x of the stress, which
// pushes faces by D x, changes a body's motion by
//
//     V += m M^-1 J^T x,    J^T x = sum over faces of phi_s (D x) lever    (5.21), (5.22)
//
// with the mass m of a cell full of the first material. Its quadratic program gains m J M^-1 J^T in the matrix and -J V
// on its right-hand side, (5.25) and (5.26): sand gives way to a body in the same solve as the body to sand.
#pragma once

#include "spindrift/bodies/bodies.h"
#include "spindrift/sand/sand_grid.h"
#include "spindrift/solvers/column_matrix.h"
#include "spindrift/world/rigid_shares.h"

namespace spindrift {

class BodyStress {
  public:
    enum Part { pressure, axial, lateral, shear_xy, shear_yz, shear_xz, kParts };

    // The density is that of the first material.
    BodyStress(Bodies& bodies, float density) : bodies_(bodies), density_(density) {}

    // Where bodies are in the sand. `tile_of` has the tile of the sand's grid of each tile of the dense topology, and
    // the matrices are on that, in the order of parts.
    void prepare(const SandGrid& grid, const RigidShares& shares, const Topology& dense,
                 const std::vector<int>& tile_of, const std::array<TileMatrix*, kParts>& matrices);
    // Whether there is a body in touch with sand that is slower than this [m/s].
    bool lies_on_sand(float slow) const;
    // The matrix of a part with bodies in it.
    QpMatrix<float>& matrix(Part part) { return matrices_[part]; }
    // b -= J V.
    void add_motion(Part part, std::span<float> b) const;
    // Pushes the bodies by a change of a component of stress, and by all of them.
    void push(Part part, std::span<const float> x);
    void push(const Field<float>& q, const Field<float> (&s)[6]);

    // Coulomb's coefficient of a body for sand; none: as rough as sand itself.
    std::optional<float> friction(const RigidSolid& body) const;

  private:
    void find_rows(size_t body, const SandGrid& grid, const RigidShares& shares, int tile, int dense_tile,
                   const std::array<TileMatrix*, kParts>& matrices,
                   std::array<std::vector<ColumnMatrix::Columns::Cell>, kParts>& found) const;

    Bodies& bodies_;
    float density_;
    double mass_of_cell_ = 0;                                        // [kg]
    std::array<std::vector<ColumnMatrix::Columns>, kParts> columns_; // of each body
    std::array<ColumnMatrix, kParts> matrices_;
};

} // namespace spindrift
