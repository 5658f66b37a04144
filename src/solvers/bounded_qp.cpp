#include "solvers/bounded_qp.h"

#include "base/error.h"
#include "base/math.h"
#include "base/parallel.h"

namespace spindrift {

namespace {

constexpr size_t kChunk = 8192; // of one partial sum
constexpr size_t kGroup = 8;    // variables that take part together
constexpr size_t kGroupsAtOnce = kChunk / kGroup;
// Variables at bounds are let go when their gradient is larger than that of the others.
constexpr double kProportioning = 1;
// Of the fixed step, in (0, 2]: beyond 1 it brings more variables to their bounds, near 2 it hardly descends.
constexpr double kFixedStep = 1.75;
// A direction with less curvature than this, beside its length, counts as one without: it is what rounding leaves.
template <class Real> constexpr double kNoCurvature = 4 * static_cast<double>(std::numeric_limits<Real>::epsilon());

} // namespace

template <class Real> struct BoundedQpSolver<Real>::Gradients {
    double largest = 0;                           // magnitude in the projected gradient
    double phi2 = 0, reduced_phi2 = 0, beta2 = 0; // squared lengths in scaled variables
    bool finite() const { return std::isfinite(phi2 + beta2); }
    bool proportional() const { return beta2 <= kProportioning * kProportioning * reduced_phi2; }
};

template <class Real> struct BoundedQpSolver<Real>::Step {
    double curvature = 0; // d . A d
    double slope = 0;     // d . g
    double length2 = 0;   // in scaled variables
    double feasible = std::numeric_limits<double>::infinity();
    double descent(double length) const { return length * (slope - 0.5 * length * curvature); }
    bool flat() const { return !(curvature > kNoCurvature<Real> * length2); }
};

template <class Real> template <class Body> void BoundedQpSolver<Real>::for_variables(const Body& body) const
{
    parallel_chunks(groups_.size(), kGroupsAtOnce, [&](size_t begin, size_t end) {
        for (size_t k = begin; k < end; ++k) {
            const size_t first = kGroup * groups_[k], last = std::min(first + kGroup, g_.size());
            for (size_t i = first; i < last; ++i) body(i);
        }
    });
}

// add(sum, i) for all variables that take part, in chunks that combine() joins in order.
template <class Real> template <class T, class Add, class Combine>
T BoundedQpSolver<Real>::sum_up(const Add& add, const Combine& combine) const
{
    std::vector<T> parts((groups_.size() + kGroupsAtOnce - 1) / kGroupsAtOnce);
    parallel_for(parts.size(), [&](size_t c) {
        T part{};
        for (size_t k = c * kGroupsAtOnce, end = std::min(groups_.size(), k + kGroupsAtOnce); k < end; ++k) {
            const size_t first = kGroup * groups_[k], last = std::min(first + kGroup, g_.size());
            for (size_t i = first; i < last; ++i) add(part, i);
        }
        parts[c] = part;
    });
    T sum{};
    for (const T& part : parts) combine(sum, part);
    return sum;
}

template <class Real> Real BoundedQpSolver<Real>::upper(size_t i) const
{
    return bounds_.upper.empty() ? std::numeric_limits<Real>::infinity() : bounds_.upper[i];
}

template <class Real> Real BoundedQpSolver<Real>::project(size_t i, Real x) const
{
    return std::min(std::max(x, lower(i)), upper(i));
}

template <class Real> QpResult BoundedQpSolver<Real>::solve(QpMatrix<Real>& matrix, std::span<const Real> b,
                                                            QpBounds<Real> bounds, std::span<Real> x,
                                                            const QpSettings& settings)
{
    bounds_ = bounds, steps_ = matrix.steps();
    QpResult result;
    result.bounded = start(b, x);
    compute_gradient(matrix, b, x);
    Gradients gradients = split_gradient(x);
    bool exact = true;      // the gradient was computed, not updated
    bool new_search = true; // conjugate gradients start anew
    while (gradients.finite()) {
        if (gradients.largest <= settings.tolerance) {
            if (exact) {
                result.converged = true;
                break;
            }
            compute_gradient(matrix, b, x);
            gradients = split_gradient(x);
            exact = new_search = true;
            ++result.iterations;
            continue;
        }
        if (result.iterations >= settings.max_iterations) break;
        ++result.iterations;

        if (!gradients.proportional()) {
            // Proportioning: let go along the steepest of the directions that point inwards.
            matrix.multiply(beta_, q_);
            const Step step = along(x, beta_);
            const double length = step.flat() ? step.feasible : std::min(step.slope / step.curvature, step.feasible);
            if (!(length < std::numeric_limits<double>::infinity())) {
                result.bounded = false;
                break;
            }
            go(x, length, beta_);
            ++result.proportionings;
            new_search = true, exact = false;
            gradients = split_gradient(x);
            continue;
        }

        if (new_search || face_changed_) {
            matrix.precondition(phi_, free_, face_changed_, z_);
            face_changed_ = false;
            p_ = z_;
            new_search = false;
        }
        matrix.multiply(p_, q_);
        const Step step = along(x, p_);
        const double wanted = step.flat() ? std::numeric_limits<double>::infinity() : step.slope / step.curvature;
        if (wanted <= step.feasible) {
            if (!(wanted < std::numeric_limits<double>::infinity())) {
                result.bounded = false;
                break;
            }
            // A step of conjugate gradients; the next direction is made conjugate to this one.
            go(x, wanted, p_);
            exact = false;
            gradients = split_gradient(x);
            if (face_changed_) continue;
            matrix.precondition(phi_, free_, false, z_);
            const double overlap = sum_up<double>(
                [&](double& sum, size_t i) { sum += static_cast<double>(z_[i]) * static_cast<double>(q_[i]); },
                [](double& sum, double part) { sum += part; });
            const auto share = static_cast<Real>(overlap / step.curvature);
            for_variables([&](size_t i) { p_[i] = z_[i] - share * p_[i]; });
        } else {
            // Expansion: the whole step, projected on the bounds, brings the most variables to them; it counts if it
            // descends further than the part of it up to the first bound. Otherwise that part, and on along the free
            // gradient with the fixed step, which always descends.
            const double to_bound = value(b, x) - step.descent(step.feasible);
            before_.assign(x.begin(), x.end()), gradient_before_ = g_;
            bool descends = false;
            if (wanted < std::numeric_limits<double>::infinity()) {
                go(x, wanted, p_);
                compute_gradient(matrix, b, x);
                descends = value(b, x) < to_bound;
            }
            if (!descends) {
                std::copy(before_.begin(), before_.end(), x.begin());
                g_.swap(gradient_before_);
                go(x, step.feasible, p_);
                split_gradient(x);
                expand(x);
                compute_gradient(matrix, b, x);
            }
            gradients = split_gradient(x);
            ++result.expansions;
            exact = new_search = true;
        }
    }
    result.projected_gradient = gradients.largest;
    result.complementarity = complementarity(x);
    return result;
}

// Brings x between its bounds. Nothing but b decides where a variable with an empty row goes; returns whether it ends
// somewhere.
template <class Real> bool BoundedQpSolver<Real>::start(std::span<const Real> b, std::span<Real> x)
{
    const size_t count = x.size();
    g_.resize(count), z_.resize(count), p_.resize(count), q_.resize(count);
    phi_.assign(count, 0), beta_.assign(count, 0); // what takes no part stays so
    free_.assign(count, 0);
    face_changed_ = true;
    const bool ordered = parallel_reduce(
        count, true, [&](size_t i) { return lower(i) <= upper(i); }, [](bool a, bool c) { return a && c; }, kChunk);
    if (!ordered) fail("a quadratic program has a lower bound above its upper bound; no x can satisfy both");
    const auto end_of_fall = [&](size_t i) { return b[i] > 0 ? upper(i) : b[i] < 0 ? lower(i) : x[i]; };
    parallel_chunks(count, kChunk, [&](size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i) {
            if (steps_[i] == 0 && std::isfinite(end_of_fall(i))) x[i] = end_of_fall(i);
            x[i] = project(i, std::isfinite(x[i]) ? x[i] : Real(0));
        }
    });
    std::vector<uint8_t> takes_part((count + kGroup - 1) / kGroup);
    parallel_chunks(takes_part.size(), kGroupsAtOnce, [&](size_t begin, size_t end) {
        for (size_t k = begin; k < end; ++k) {
            bool any = false;
            for (size_t i = kGroup * k, last = std::min(i + kGroup, count); i < last; ++i)
                any |= x[i] != 0 || (steps_[i] > 0 && lower(i) < upper(i));
            takes_part[k] = any;
        }
    });
    groups_.clear();
    for (size_t k = 0; k < takes_part.size(); ++k)
        if (takes_part[k]) groups_.push_back(static_cast<uint32_t>(k));
    return parallel_reduce(
        count, true, [&](size_t i) { return steps_[i] > 0 || std::isfinite(end_of_fall(i)); },
        [](bool a, bool c) { return a && c; }, kChunk);
}

template <class Real>
void BoundedQpSolver<Real>::compute_gradient(QpMatrix<Real>& matrix, std::span<const Real> b, std::span<const Real> x)
{
    matrix.multiply(x, g_);
    parallel_chunks(x.size(), kChunk, [&](size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i) g_[i] -= b[i];
    });
}

// The free gradient phi, the chopped gradient beta, and which variables are free.
template <class Real> auto BoundedQpSolver<Real>::split_gradient(std::span<const Real> x) -> Gradients
{
    struct Part {
        Gradients gradients;
        bool changed = false;
    };
    const Part sum = sum_up<Part>(
        [&](Part& part, size_t i) {
            const Real low = lower(i), high = upper(i), g = g_[i], s = steps_[i];
            if (low == high || s == 0) return; // never free
            const bool inside = x[i] > low && x[i] < high;
            const Real phi = inside ? g : Real(0);
            const Real inwards = x[i] == low ? std::min(g, Real(0)) : std::max(g, Real(0));
            const Real beta = inside ? Real(0) : inwards;
            // How much of the free gradient a fixed step can follow before it meets the bound.
            const Real room = (phi > 0 ? x[i] - low : x[i] - high) * static_cast<Real>(1 / kFixedStep);
            const Real reduced = phi > 0 ? std::min(s * phi, room) : std::max(s * phi, room);
            const auto d = [](Real a) { return static_cast<double>(a); };
            part.gradients.phi2 += d(s) * d(phi) * d(phi);
            part.gradients.reduced_phi2 += phi == 0 ? 0 : d(reduced) * d(phi);
            part.gradients.beta2 += d(s) * d(beta) * d(beta);
            part.gradients.largest = std::max(part.gradients.largest, std::abs(d(phi) + d(beta)));
            part.changed |= free_[i] != static_cast<uint8_t>(inside);
            free_[i] = inside, phi_[i] = phi, beta_[i] = beta;
        },
        [](Part& total, const Part& part) {
            total.gradients.phi2 += part.gradients.phi2, total.gradients.beta2 += part.gradients.beta2;
            total.gradients.reduced_phi2 += part.gradients.reduced_phi2;
            total.gradients.largest = std::max(total.gradients.largest, part.gradients.largest);
            total.changed |= part.changed;
        });
    face_changed_ |= sum.changed;
    return sum.gradients;
}

// Of a step x - length direction, with A direction in q_.
template <class Real> auto BoundedQpSolver<Real>::along(std::span<const Real> x, std::span<const Real> direction) const
    -> Step
{
    return sum_up<Step>(
        [&](Step& s, size_t i) {
            const auto d = static_cast<double>(direction[i]);
            if (d == 0) return;
            s.curvature += d * static_cast<double>(q_[i]), s.slope += d * static_cast<double>(g_[i]);
            s.length2 += d * d / static_cast<double>(steps_[i]);
            s.feasible = std::min(s.feasible, static_cast<double>(x[i] - (d > 0 ? lower(i) : upper(i))) / d);
        },
        [](Step& a, const Step& c) {
            a.curvature += c.curvature, a.slope += c.slope, a.length2 += c.length2;
            a.feasible = std::min(a.feasible, c.feasible);
        });
}

template <class Real> void BoundedQpSolver<Real>::go(std::span<Real> x, double length, std::span<const Real> direction)
{
    const auto l = static_cast<Real>(length);
    for_variables([&](size_t i) { x[i] = project(i, x[i] - l * direction[i]), g_[i] -= l * q_[i]; });
}

// The objective, where g_ is the gradient.
template <class Real> double BoundedQpSolver<Real>::value(std::span<const Real> b, std::span<const Real> x) const
{
    return sum_up<double>(
        [&](double& sum, size_t i) {
            sum += 0.5 * static_cast<double>(x[i]) * (static_cast<double>(g_[i]) - static_cast<double>(b[i]));
        },
        [](double& sum, double part) { sum += part; });
}

template <class Real> void BoundedQpSolver<Real>::expand(std::span<Real> x)
{
    for_variables([&](size_t i) { x[i] = project(i, x[i] - static_cast<Real>(kFixedStep) * steps_[i] * phi_[i]); });
}

template <class Real> double BoundedQpSolver<Real>::complementarity(std::span<const Real> x) const
{
    return parallel_reduce(
        x.size(), 0.0,
        [&](size_t i) {
            if (steps_[i] == 0) return 0.0;
            return std::abs(static_cast<double>((x[i] - project(i, x[i] - steps_[i] * g_[i])) / steps_[i]));
        },
        [](double a, double c) { return std::max(a, c); }, kChunk);
}

template <class Real> size_t BoundedQpSolver<Real>::bytes() const
{
    return (g_.capacity() + before_.capacity() + gradient_before_.capacity() + phi_.capacity() + beta_.capacity() +
            z_.capacity() + p_.capacity() + q_.capacity()) *
               sizeof(Real) +
           free_.capacity();
}

template class BoundedQpSolver<float>;
template class BoundedQpSolver<double>;

} // namespace spindrift
