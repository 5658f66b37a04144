// The symmetric matrix
//
//     (A x)_c = d_c x_c - sum over the faces f of cell c along some axes of w_f x_neighbour
//
// on the cells of a tile topology, for quadratic programs with bounds (bounded_qp.h). x is zero in missing tiles. With
// one or two coupled axes, A decouples into lines or planes.
//
// The preconditioner is one multigrid cycle on the free cells, as for crowds (crowd/pressure_matrix.h): coarse levels
// merge two cells along each coupled axis and halve the weights between them, since coarse cells lie twice as far
// apart. Merging only along coupled axes keeps decoupled planes separate on all levels. Coarse levels are tile
// topologies too, so all levels share the same kernels.
#pragma once

#include "spindrift/field/row.h"
#include "spindrift/solvers/bounded_qp.h"

namespace spindrift {

class TileMatrix : public QpMatrix<float> {
  public:
    using Axes = std::array<bool, 3>;

    // The topology must outlive the matrix. Weights and diagonal are uninitialised.
    void reset(const Topology& topology, Axes axes);
    // Weight of each cell's lower face along a coupled axis; weights of faces to missing tiles count on the diagonal
    // only.
    Field<float>& weight(int axis) { return levels_[0].face[axis]; }
    Field<float>& diagonal() { return levels_[0].diagonal; }
    // Call after filling weights and diagonal.
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
        std::vector<int> coarse_tile;  // for each tile, its tile on the next level
        Vec3i low = Vec3i::Zero();     // lowest tile coordinates
        Field<float> face[3], diagonal;
        Field<float> joined[3]; // weights between free cells; finest level only
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
