// The pressure engine: solves A x = b for the symmetric 7-point operator
//
//     (A x)_i = sum over faces f of w_f (x_i - x_j) + d_i x_i
//
// on the cells of a tile topology, by conjugate gradients preconditioned with multigrid. The face weight w_f (an area
// fraction over a distance) is zero at solids; d_i ties a cell to the free surface (ghost fluid) or an open side. A
// cell without any weight takes no part. Bodies without a free surface are solved up to a constant, after their part of
// b has been made compatible.
//
// The fine level is matrix-free on tiles (each row of eight cells one vector register), the coarse levels are graphs
// that keep apart what walls keep apart (graph_multigrid.h). Vectors are floats, sums are doubles, and the solution is
// accumulated in double: with A p formed from differences, the residual that CG carries along is the true one.
//
// Source: the ideas of McAdams et al. 2010 (multigrid as preconditioner) and Dick et al. 2016 (duplicated coarse
// cells).
#pragma once

#include "spindrift/field/tiles.h"
#include "spindrift/solvers/graph_multigrid.h"

namespace spindrift {

struct PoissonMatrix {
    Field<float> face[3];  // weight of the lower x, y and z face of each cell; zero unless both sides take part
    Field<float> diagonal; // sum of the six weights plus d_i; zero for a cell that takes no part

    void reset(const Topology& topology)
    {
        for (auto& f : face) f.reset(topology, 0);
        diagonal.reset(topology, 0);
    }
    size_t bytes() const { return face[0].bytes() + face[1].bytes() + face[2].bytes() + diagonal.bytes(); }
};

// What a rigid body adds to the matrix: K C K^T with six columns in K, which are not zero in a few cells.
struct PoissonColumns {
    struct Cell { // that takes part
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
    // Analyses a matrix, which must outlive the solves that follow.
    void set_matrix(const PoissonMatrix& matrix);
    // x need not be initialised; it is zero where no cell takes part. `columns` are added to the matrix, but unknown to
    // its preconditioner: each body costs some iterations, those lighter than the liquid more.
    PoissonResult solve(const Field<float>& b, Field<double>& x, double tolerance, int max_iterations = 100,
                        std::span<const PoissonColumns> columns = {});
    int level_count() const { return 1 + coarse_.level_count(); }
    size_t bytes() const;

  private:
    enum class TileKind : uint8_t { general, uniform }; // uniform: every weight of every cell is 1

    void make_compatible();
    void precondition();
    double multiply_and_dot(std::span<const PoissonColumns> columns);

    const PoissonMatrix* matrix_ = nullptr;
    std::vector<int> tiles_;          // those with a cell that takes part
    std::vector<TileKind> tile_kind_; // of each of them
    std::vector<uint8_t> whole_;      // of each of them: see build_finest_graph()
    std::vector<int> first_node_;     // of each tile of the topology in the finest graph
    Field<uint16_t> node_in_tile_;    // graph node of each cell, relative to first_node_; kNoNode if it takes no part
    GraphMultigrid coarse_;
    Field<float> r_, p_, q_, z_, scratch_;
    std::vector<double> partial_;
};

} // namespace spindrift
