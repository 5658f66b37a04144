// The symmetric matrix
//
//     (A x)_c = d_c x_c - sum over the faces f of cell c along some axes of w_f x_neighbour
//
// on the cells of a tile topology, for quadratic programs with bounds (bounded_qp.h). Where the diagonal is the sum of
// the weights around a cell, missing tiles are where x is zero. Along one, two or three axes, A falls apart into lines,
// planes, or not at all.
//
// The preconditioner is one cycle of multigrid among the free cells, as for crowds (crowd/pressure_matrix.h): coarse
// levels merge two cells along each axis that couples them, with the weights between them halved, since coarse cells
// lie twice as far apart. A coarse level is a tile topology too, so that all of them run the same kernels.
#pragma once

#include "spindrift/field/row.h"
#include "spindrift/solvers/bounded_qp.h"

namespace spindrift {

class TileMatrix : public QpMatrix<float> {
  public:
    using Axes = std::array<bool, 3>;

    // The topology must outlive the matrix. Weights and diagonal hold garbage until they are written.
    void reset(const Topology& topology, Axes axes);
    // Of the lower face of each cell along a coupled axis; whatever leads to a missing tile counts on the diagonal
    // only.
    Field<float>& weight(int axis) { return levels_[0].face[axis]; }
    Field<float>& diagonal() { return levels_[0].diagonal; }
    // To be called once they are filled.
    void prepare();

    void multiply(std::span<const float> x, std::span<float> out) override;
    void precondition(std::span<const float> r, std::span<const uint8_t> free, bool face_changed,
                      std::span<float> z) override;
    std::span<const float> steps() const override { return steps_.values(); }
    size_t bytes() const;

  private:
    struct Level {
        const Topology* topology = nullptr;
        std::unique_ptr<Topology> own; // of a coarse level
        std::vector<int> coarse_tile;  // of each tile in the next level
        Vec3i low = Vec3i::Zero();     // lowest tile along each axis
        Field<float> face[3], diagonal;
        Field<float> joined[3]; // weights between free cells; the finest level only
        Field<float> inverse;   // of the diagonal; 0 where a cell is not free
        Field<float> r, z, scratch;
        const Field<float>& between(int axis, bool finest) const { return finest ? joined[axis] : face[axis]; }
    };
    void build_levels(const Topology& topology);
    Vec3i place_in_coarse(const Level& level, int tile) const;
    void mask(std::span<const uint8_t> free);
    void coarsen(size_t number);
    void cycle(size_t number, const float* r, float* z);
    void smooth(const Level& level, bool finest, const float* r, const float* x, float* out) const;

    Axes axes_ = {};
    std::vector<uint64_t> codes_; // of the topology that the levels were built for
    std::vector<Level> levels_;
    Field<float> steps_;
};

} // namespace spindrift
