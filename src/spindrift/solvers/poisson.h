// Pressure solver: solves A x = b for the symmetric 7-point operator
//
//     (A x)_i = sum over faces f of w_f (x_i - x_j) + d_i x_i
//
// on the cells of a tile topology by multigrid-preconditioned conjugate gradients [McAdams 2010]. The face weight w_f
// (area fraction over distance) is zero at solids; d_i couples a cell to the free surface (ghost fluid) or to an open
// side. Cells without any weight are inactive. Bodies without a free surface are solved up to a constant, after their
// part of b has been made compatible.
//
// The fine level is matrix-free on tiles (each row of eight cells one vector register). The coarse levels are graphs
// that keep separate what walls separate, as the duplicated coarse cells of [Dick 2016] do (graph_multigrid.h). Vectors
// are floats, sums are doubles, and the solution is accumulated in double. A p is formed from differences, so the
// residual that CG updates stays the true one.
//
//     PoissonSolver solver; // keeps its memory between systems
//     solver.set_matrix(matrix);
//     PoissonResult result = solver.solve(divergence, pressure, 1e-5);
#pragma once

#include "spindrift/field/tiles.h"
#include "spindrift/solvers/graph_multigrid.h"

namespace spindrift {

struct PoissonMatrix {
    Field<float> face[3];  // weight of each cell's lower x, y and z face; zero unless both cells are active
    Field<float> diagonal; // sum of the six weights plus d_i; zero for inactive cells

    void reset(const Topology& topology)
    {
        for (auto& f : face) f.reset(topology, 0);
        diagonal.reset(topology, 0);
    }
    size_t bytes() const { return face[0].bytes() + face[1].bytes() + face[2].bytes() + diagonal.bytes(); }
};

// Low-rank term of a rigid body in the matrix: K C K^T, where K has six columns that are nonzero in a few cells.
struct PoissonColumns {
    struct Cell { // an active cell
        int tile, offset;
        Eigen::Matrix<float, 6, 1> row;
    };
    std::vector<Cell> cells; // each once
    Eigen::Matrix<double, 6, 6> c;

    // K^T x.
    Eigen::Matrix<double, 6, 1> sums(const Field<double>& x) const;
};

struct PoissonResult {
    int iterations = 0;
    double relative_residual = 0; // |b - A x| / |b| in the 2-norm
    bool converged = true;
};

class PoissonSolver {
  public:
    // Analyses a matrix, which must outlive the following solves.
    void set_matrix(const PoissonMatrix& matrix);
    // x need not be initialised; it is zero in inactive cells. `columns` are added to the matrix but not to its
    // preconditioner: each body costs some iterations, and more if it is lighter than the liquid.
    PoissonResult solve(const Field<float>& b, Field<double>& x, double tolerance, int max_iterations = 100,
                        std::span<const PoissonColumns> columns = {});
    int level_count() const { return 1 + coarse_.level_count(); }
    size_t bytes() const;

  private:
    enum class TileKind : uint8_t { general, uniform }; // uniform: all weights of all cells are 1

    void make_compatible();
    void precondition();
    double multiply_and_dot(std::span<const PoissonColumns> columns);

    const PoissonMatrix* matrix_ = nullptr;
    std::vector<int> tiles_;          // those with an active cell
    std::vector<TileKind> tile_kind_; // parallel to tiles_
    std::vector<uint8_t> whole_;      // parallel to tiles_, see build_finest_graph()
    std::vector<int> first_node_;     // first node of each tile of the topology in the finest graph
    Field<uint16_t> node_in_tile_;    // graph node of each cell, relative to first_node_; kNoNode if inactive
    GraphMultigrid coarse_;
    Field<float> r_, p_, q_, z_, scratch_;
    std::vector<double> partial_;
};

} // namespace spindrift
