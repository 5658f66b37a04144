// Quadratic programs with bounds: minimises
//
//     1/2 x . A x - b . x    over    lower <= x <= upper
//
// for a symmetric positive semidefinite A that is given by its product with a vector. With lower = 0 and no upper bound
// this is the linear complementarity problem x >= 0, A x - b >= 0, x . (A x - b) = 0.
//
// Method: MPRGP (modified proportioning with reduced gradient projections) [Dostal 2005]. Conjugate gradients act on
// the free variables, those off their bounds. If a CG step would leave the bounds, it is cut there and a
// steepest-descent step of fixed length follows (expansion), which may bring many variables to their bounds at once. If
// the gradient of the variables at their bounds outweighs that of the others, they are released (proportioning). CG is
// preconditioned in the face: the preconditioner sees the free variables only, and is told when that set changes.
//
// Differences from [Dostal 2005]
// - A CG step that would leave the bounds is first tried in full and projected onto them. A good preconditioner makes
//   long steps, of which the first bound would leave only a small part (on 256x256 cells 95 instead of 551 iterations).
// - Norms are taken in variables scaled by the root of `steps`, in which no eigenvalue of A exceeds 1, so that the
//   fixed step length suits rows of any magnitude.
//
// Limit: if A has null vectors along which the objective decreases, there is no minimum. This is detected and reported;
// x is then the last iterate.
//
//     BoundedQpSolver<float> solver; // keeps its memory between solves
//     QpResult result = solver.solve(matrix, b, {.lower = {}, .upper = {}}, x, {.tolerance = 1e-6});
#pragma once

#include "spindrift/base/aligned.h"

#include <cstdint>
#include <span>

namespace spindrift {

template <class Real> class QpMatrix {
  public:
    virtual ~QpMatrix() = default;
    // out = A x. The solver's own arrays are aligned to cache lines; x and b of the caller may not be.
    virtual void multiply(std::span<const Real> x, std::span<Real> out) = 0;
    // z = M^-1 r with a symmetric positive definite M that approximates A on the free variables. r is zero on the
    // others, and z must be. `face_changed`: `free` differs from the last call.
    virtual void precondition(std::span<const Real> r, std::span<const uint8_t> free, bool face_changed,
                              std::span<Real> z) = 0;
    // For each variable 1 / (sum of magnitudes in its row of A), or less; 0 where the row is empty.
    virtual std::span<const Real> steps() const = 0;
};

// Either may be empty: lower bounds are then 0, upper bounds infinite.
template <class Real> struct QpBounds {
    std::span<const Real> lower, upper;
};

struct QpSettings {
    double tolerance = 1e-6; // for the largest magnitude of the projected gradient
    int max_iterations = 1000;
};

struct QpResult {
    int iterations = 0; // of all kinds; one product with A each, an expansion two or three
    int expansions = 0, proportionings = 0;
    // Largest magnitudes of the projected gradient, and of (x - P(x - steps g)) / steps with the projection P onto the
    // bounds. Both have the unit of b and are zero exactly at a minimum.
    double projected_gradient = 0, complementarity = 0;
    bool converged = false;
    bool bounded = true; // false: the objective is unbounded below
};

template <class Real> class BoundedQpSolver {
  public:
    // x is the initial guess on entry and the solution on return. Throws if a lower bound exceeds its upper bound.
    QpResult solve(QpMatrix<Real>& matrix, std::span<const Real> b, QpBounds<Real> bounds, std::span<Real> x,
                   const QpSettings& settings);
    size_t bytes() const;

  private:
    struct Bounds;    // of one pack of variables
    struct Gradients; // norms of the gradient parts at x
    struct Step;      // curvature along a direction, and the distance to the bounds

    Bounds bounds_at(size_t i) const;
    bool start(std::span<const Real> b, std::span<Real> x);
    template <class Body> void for_variables(const Body& body) const;
    template <class Sums, class Body> Sums sum_up(const Body& body) const;
    Gradients evaluate(QpMatrix<Real>& matrix, std::span<const Real> b, std::span<const Real> x);
    [[gnu::always_inline]] void split(size_t i, std::span<const Real> x, Gradients& gradients);
    Step along(QpMatrix<Real>& matrix, std::span<const Real> x, const AlignedVector<Real>& direction);
    Gradients go(std::span<Real> x, double length, const AlignedVector<Real>& direction);
    void go_projected(std::span<Real> x, double length);
    void go_back(std::span<Real> x);
    void expand(std::span<Real> x);
    double complementarity(std::span<const Real> x) const;
    // The part of a solver array that the matrix sees, without padding.
    std::span<Real> live(AlignedVector<Real>& values) const { return {values.data(), count_}; }

    size_t count_ = 0;
    QpBounds<Real> bounds_;
    std::span<const Real> steps_;
    // Gradient; free gradient; chopped gradient (the part at bounds that points inwards); preconditioned free gradient;
    // CG direction; A times a direction. All are padded to whole groups.
    AlignedVector<Real> g_, phi_, beta_, z_, p_, q_;
    AlignedVector<Real> before_, gradient_before_; // state before an expansion, to undo it
    AlignedVector<uint8_t> free_;
    // Groups with a variable that can move or is nonzero; all others are skipped.
    std::vector<uint32_t> groups_;
    bool face_changed_ = true, at_zero_ = true;
};

extern template class BoundedQpSolver<float>;
extern template class BoundedQpSolver<double>;

} // namespace spindrift
