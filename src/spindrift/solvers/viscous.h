// Implicit viscosity: solves (M + K) u = M u0 for a staggered velocity, where M is the diagonal matrix of face masses
// and K is the symmetric operator of viscous dissipation, which couples the three components:
//
//     u . K u = sum over cells c and axes a of  cell_c (u_a[c + e_a] - u_a[c])^2
//             + sum over edges e of             edge_e (d_b u_a + d_a u_b)^2
//
// It minimises dissipation plus the change of kinetic energy [Batty 2008]. The sums of squares vanish for rigid motion,
// so the operator never damps a rotation, whatever the weights; a free surface needs no boundary condition, only
// weights that vanish there.
//
// Conjugate gradients, matrix-free on tiles, preconditioned by a multigrid V-cycle. A coarse level is the same operator
// with weights taken from the finer one. It is four times less stiff, so few levels are needed: one if viscosity does
// not reach far in a step. The smoother is a Chebyshev iteration on D^-1 (M + K), where D holds the sums of magnitudes
// of the rows: no eigenvalue exceeds 1 whatever the weights are, and inside the liquid the largest is close to 1.
//
// The solver is limited by memory bandwidth, so the V-cycle and the search directions are stored as ShortFloat. This
// perturbs the preconditioner by about a percent, compared to the tenth of the error that remains after it. Solution
// and residual are floats, and products use the direction as stored, so accuracy does not suffer.
//
// Limit: coarse levels represent liquid sheets thinner than two cells poorly; CG then needs more iterations.
#pragma once

#include "spindrift/field/mac.h"
#include "spindrift/field/short_float.h"

namespace spindrift {

// Entry (i, j, k) of `edge[a]` is the edge along axis a through the lowest corner of cell (i, j, k).
struct ViscousMatrix {
    Field<float> mass[3];
    Field<float> cell;
    Field<float> edge[3];
    // Inverse of the sum of magnitudes in each row of M + K, computed by ViscousSolver::set_matrix(); kClosedFace where
    // the velocity is prescribed, 0 for inactive faces.
    Field<float> inverse[3];

    void reset_uninitialized(const Topology& topology);
    const Topology& topology() const { return cell.topology(); }
    size_t bytes() const;
};
constexpr float kClosedFace = -1;

struct ViscousResult {
    int iterations = 0, levels = 1;
    // Energy norm (kinetic energy and dissipation) of the error, relative to that of the whole change of velocity. The
    // plain residual would not do: at large viscosity it measures only ripples, while the slow overall motion could be
    // far off. Nor would an error relative to the speed: over many short steps it accumulates and slows a rotating
    // ball.
    double relative_error = 0;
    bool converged = true;
};

class ViscousSolver {
  public:
    // Analyses a matrix, which must outlive the following solves. Its `inverse` must only mark the closed faces; the
    // rest is computed here. `stiffness` is the largest dt viscosity / (density voxel^2) in it.
    void set_matrix(ViscousMatrix& matrix, float stiffness);
    // On entry `velocity` holds u0, and the prescribed velocity at closed faces; on return u. A `load` is added to M
    // u0.
    ViscousResult solve(MacField& velocity, double tolerance, int max_iterations = 200, const MacField* load = nullptr);

    // For tests: out = (M + K) x, with x zero at inactive faces.
    void multiply(const MacField& x, MacField& out);
    size_t bytes() const;

  private:
    // x += factor D^-1 (r - (M + K) x) + momentum (x - previous x)
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
        std::vector<int> tiles;                 // those with an active face
        std::vector<uint8_t> uniform;           // parallel to `tiles`: all weights equal those of the first cell
        std::vector<std::array<int, 27>> finer; // per tile: the finer tiles around twice its coordinates
        ShortMacField r, z, scratch;
        std::vector<Step> steps;
        std::vector<double> partial; // sums, parallel to `tiles`

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

    std::vector<std::unique_ptr<Level>> levels_; // may exceed used_levels_, to keep memory for later systems
    size_t used_levels_ = 0;
    MacField r_, q_;
    ShortMacField p_;
};

} // namespace spindrift
