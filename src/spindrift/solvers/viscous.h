// The viscous engine: solves (M + K) u = M u0 for a velocity on the faces of cells, where M holds the mass of each
// face's volume and K is the symmetric operator of viscous dissipation, coupled over the three components:
//
//     u . K u = sum over cells c and axes a of  cell_c (u_a[c + e_a] - u_a[c])^2
//             + sum over edges e of             edge_e (d_b u_a + d_a u_b)^2
//
// (Batty and Bridson 2008 derive it from the minimum of dissipation and change of kinetic energy.) The sums of squares
// vanish for rigid motion, so that no weights can make the operator brake a rotation; a free surface needs no condition
// of its own, only weights that go to zero there.
//
// Conjugate gradients, matrix-free on tiles, preconditioned by a V-cycle of multigrid. A coarse level is the same
// operator with weights taken from the finer one; it is four times less stiff, so that levels end soon: where viscosity
// does not reach far in a step, one is enough. The smoother is a Chebyshev iteration on D^-1 (M + K), with the sums of
// magnitudes in the rows of M + K for D: no eigenvalue is above 1 whatever the weights are, and amid liquid there is
// one nearly there.
//
// What waits for memory is made small: the V-cycle and the directions of search are kept as short floats. That is as if
// the preconditioner were off by a percent, beside what is left of an error after it, a tenth; solution and residual
// are floats, and a product takes the direction as it is stored, so that the solution's accuracy does not suffer.
//
// Weak where liquid is thinner than two cells: coarse levels see such a sheet poorly, and CG has to do the work.
#pragma once

#include "spindrift/field/mac.h"
#include "spindrift/field/short_float.h"

namespace spindrift {

// Entry (i, j, k) of `edge[a]` is the edge along axis a through the lowest corner of cell (i, j, k).
struct ViscousMatrix {
    Field<float> mass[3];
    Field<float> cell;
    Field<float> edge[3];
    // Of the sum of magnitudes in each row of M + K, completed by ViscousSolver::set_matrix(); kClosedFace where the
    // velocity is given, 0 where a face takes no part.
    Field<float> inverse[3];

    void reset_uninitialized(const Topology& topology);
    const Topology& topology() const { return cell.topology(); }
    size_t bytes() const;
};
constexpr float kClosedFace = -1;

struct ViscousResult {
    int iterations = 0, levels = 1;
    // The energy norm (kinetic energy and dissipation) of the error beside that of the whole change of velocity. The
    // plain residual would not do: where viscosity is large it only sees ripples, and a slow motion of the whole could
    // be off by a lot. Nor would an error beside the speed: over many short steps it adds up, and brakes a turning
    // ball.
    double relative_error = 0;
    bool converged = true;
};

class ViscousSolver {
  public:
    // Analyses a matrix, which must outlive the solves that follow. Its `inverse` need only say which faces are closed;
    // the rest is computed here. `stiffness` is the largest dt viscosity / (density voxel^2) in it.
    void set_matrix(ViscousMatrix& matrix, float stiffness);
    // `velocity` holds u0, and the given velocity at closed faces; afterwards u. A `load` is added to M u0.
    ViscousResult solve(MacField& velocity, double tolerance, int max_iterations = 200, const MacField* load = nullptr);

    // For tests: out = (M + K) x, with x taken as zero at faces that take no part.
    void multiply(const MacField& x, MacField& out);
    size_t bytes() const;

  private:
    // x += factor D^-1 (r - (M + K) x) + momentum (x - what x was before)
    struct Step {
        float factor, momentum;
    };
    struct ShortMacField {
        Field<ShortFloat> u[3];
        size_t bytes() const { return u[0].bytes() + u[1].bytes() + u[2].bytes(); }
    };
    struct Level {
        ViscousMatrix* matrix = nullptr;
        Topology own_topology; // of a coarse level
        ViscousMatrix own_matrix;
        std::vector<int> tiles;                 // those with a face that takes part
        std::vector<uint8_t> uniform;           // of each of them: every weight is that of its first cell
        std::vector<std::array<int, 27>> finer; // of each tile of the topology: the finer tiles around twice its place
        ShortMacField r, z, scratch;
        std::vector<Step> steps;
        std::vector<double> partial; // sums of each of `tiles`

        const Topology& topology() const { return matrix->topology(); }
        double total() const;
    };
    template <class Body, class... Fields>
    static void for_each_tile_ahead(const Level& level, const Body& body, const Fields&... fields);
    template <class X, class Body, class... Fields>
    static void for_each_product(const Level& level, const X& x, const Body& body, const Fields&... others);

    void analyse(Level& level);
    void coarsen(const Level& fine, Level& coarse);
    void restrict_residual(const Level& fine, Level& coarse);
    void prolong(const Level& coarse, Level& fine);
    static std::vector<Step> chebyshev(int degree, double low);
    void smooth(Level& level, const Step& step, bool from_zero, bool last);
    void cycle(size_t number);

    std::vector<std::unique_ptr<Level>> levels_; // kept when a later system needs fewer, for their memory
    size_t used_levels_ = 0;
    MacField r_, q_;
    ShortMacField p_;
};

} // namespace spindrift
