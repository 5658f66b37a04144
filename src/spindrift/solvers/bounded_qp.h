// The engine for quadratic programs with bounds: the minimum of
//
//     1/2 x . A x - b . x    over    lower <= x <= upper
//
// for a symmetric positive semidefinite A that is given by what it does to a vector. With lower = 0 and no upper bound
// this is the linear complementarity problem x >= 0, A x - b >= 0, x . (A x - b) = 0.
//
// MPRGP (modified proportioning with reduced gradient projections) of Dostal and Schoeberl 2005: conjugate gradients
// among the variables that are off their bounds; where a step would leave the bounds it ends there, and one of steepest
// descent with a fixed length follows, which may bring many variables to a bound at once; where the gradient of those
// at a bound outweighs that of the others, they are let go. Conjugate gradients are preconditioned in the face: the
// preconditioner sees the free variables only, and is told when they are others.
//
// Beyond that paper, a step that would leave the bounds is first tried whole and projected on them: a good
// preconditioner makes long steps, and of each of them the first bound would leave but a small part (on 256x256 cells
// 95 iterations where there were 551).
//
// Everything is measured in variables that are scaled by the root of `steps`, in which no eigenvalue of A is above 1:
// the fixed length is then right for rows of any size.
//
// Weak where A has null vectors along which the objective falls: there is no minimum then, which is found out and
// reported; x is the last point before.
#pragma once

#include "spindrift/base/aligned.h"

#include <cstdint>
#include <span>

namespace spindrift {

template <class Real> class QpMatrix {
  public:
    virtual ~QpMatrix() = default;
    // out = A x. Arrays of the solver begin at a cache line; x and b are as the caller has them.
    virtual void multiply(std::span<const Real> x, std::span<Real> out) = 0;
    // z = M^-1 r with a symmetric positive definite M that is like A among the free variables. r is zero elsewhere, and
    // z has to be. `face_changed`: `free` is not that of the last call.
    virtual void precondition(std::span<const Real> r, std::span<const uint8_t> free, bool face_changed,
                              std::span<Real> z) = 0;
    // For each variable 1 / (sum of magnitudes in its row of A), or less; 0 where the row is empty.
    virtual std::span<const Real> steps() const = 0;
};

// Either may be empty: lower bounds are then 0, and upper bounds infinite.
template <class Real> struct QpBounds {
    std::span<const Real> lower, upper;
};

struct QpSettings {
    double tolerance = 1e-6; // for the largest magnitude in the projected gradient
    int max_iterations = 1000;
};

struct QpResult {
    int iterations = 0; // of all kinds, one product with A each; an expansion has two or three
    int expansions = 0, proportionings = 0;
    // The largest magnitudes of the projected gradient, and of (x - P(x - steps g)) / steps with the projection P on
    // the bounds. Both have the unit of b, and both are zero at a minimum and nowhere else.
    double projected_gradient = 0, complementarity = 0;
    bool converged = false;
    bool bounded = true; // false: the objective falls without end
};

template <class Real> class BoundedQpSolver {
  public:
    // x is where the search starts, and the solution. Throws if a lower bound is above its upper one.
    QpResult solve(QpMatrix<Real>& matrix, std::span<const Real> b, QpBounds<Real> bounds, std::span<Real> x,
                   const QpSettings& settings);
    size_t bytes() const;

  private:
    struct Bounds;    // of a few variables at once
    struct Gradients; // what is known of the gradient at x
    struct Step;      // a direction's curvature, and how far one can go

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
    // What a matrix is given of an array of the solver.
    std::span<Real> live(AlignedVector<Real>& values) const { return {values.data(), count_}; }

    size_t count_ = 0;
    QpBounds<Real> bounds_;
    std::span<const Real> steps_;
    // The gradient; its part among free variables; the part of the others that points inwards; preconditioned;
    // the direction of conjugate gradients; A times a direction. All of them end with a whole group.
    AlignedVector<Real> g_, phi_, beta_, z_, p_, q_;
    AlignedVector<Real> before_, gradient_before_; // an expansion, to go back
    AlignedVector<uint8_t> free_;
    // Groups of variables of which one can move, or is not zero: nothing else takes part in any sum.
    std::vector<uint32_t> groups_;
    bool face_changed_ = true, at_zero_ = true;
};

extern template class BoundedQpSolver<float>;
extern template class BoundedQpSolver<double>;

} // namespace spindrift
