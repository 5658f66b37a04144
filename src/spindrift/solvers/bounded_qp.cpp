#include "spindrift/solvers/bounded_qp.h"

#include "spindrift/base/error.h"
#include "spindrift/base/math.h"
#include "spindrift/base/parallel.h"

#include <cstring>

namespace spindrift {

namespace {

constexpr size_t kGroup = 8;           // variables per group
constexpr size_t kGroupsAtOnce = 1024; // groups per partial sum
// Release variables at bounds when their gradient exceeds that of the free ones.
constexpr double kProportioning = 1;
// Fixed step length, in (0, 2]: above 1 it brings more variables to their bounds, near 2 it hardly descends.
constexpr double kFixedStep = 1.75;
// Curvature below this, relative to the squared length of the direction, is rounding noise and counts as zero.
template <class Real> constexpr double kNoCurvature = 4 * static_cast<double>(std::numeric_limits<Real>::epsilon());

// One vector register: a group of floats, or half a group of doubles.
template <class Real> struct Vector {
    typedef Real Type __attribute__((vector_size(32)));
};
template <class Real> using Pack = typename Vector<Real>::Type;
template <class Real> using Mask = decltype(Pack<Real>() < Pack<Real>());
template <class Real> constexpr size_t kLanes = 32 / sizeof(Real);

template <class Real> Pack<Real> all(Real x) { return Pack<Real>{} + x; }
// Propagates a NaN in the first argument.
template <class P> P least(P a, P b) { return b < a ? b : a; }
template <class P> P most(P a, P b) { return a < b ? b : a; }
// False for infinities and NaN.
template <class P> auto is_finite(P a) { return a - a == P{}; }

template <class Real> Pack<Real> load(const AlignedVector<Real>& values, size_t i)
{
    return *reinterpret_cast<const Pack<Real>*>(values.data() + i);
}
template <class Real> void store(AlignedVector<Real>& values, size_t i, Pack<Real> p)
{
    *reinterpret_cast<Pack<Real>*>(values.data() + i) = p;
}
// Loads from an array that may end within the pack; missing lanes are zero.
template <class Real> Pack<Real> load(std::span<const Real> values, size_t i)
{
    Pack<Real> p{};
    if (i + kLanes<Real> <= values.size())
        std::memcpy(&p, values.data() + i, sizeof p);
    else if (i < values.size())
        std::memcpy(&p, values.data() + i, (values.size() - i) * sizeof(Real));
    return p;
}
template <class Real> void store(std::span<Real> values, size_t i, Pack<Real> p)
{
    if (i + kLanes<Real> <= values.size())
        std::memcpy(values.data() + i, &p, sizeof p);
    else if (i < values.size())
        std::memcpy(values.data() + i, &p, (values.size() - i) * sizeof(Real));
}

// One byte per lane: 1 where the mask is set.
auto bytes_of(Mask<float> mask)
{
    typedef uint8_t Bytes __attribute__((vector_size(32)));
    const Bytes b = reinterpret_cast<Bytes>(mask & 1);
    return std::bit_cast<uint64_t>(__builtin_shufflevector(b, b, 0, 4, 8, 12, 16, 20, 24, 28));
}
auto bytes_of(Mask<double> mask)
{
    typedef uint8_t Bytes __attribute__((vector_size(32)));
    const Bytes b = reinterpret_cast<Bytes>(mask & 1);
    return std::bit_cast<uint32_t>(__builtin_shufflevector(b, b, 0, 8, 16, 24));
}

typedef double Four __attribute__((vector_size(32)));

// Accumulates products in double precision.
class Sum {
  public:
    void add(Pack<float> a, Pack<float> b)
    {
        low_ += Four{a[0], a[1], a[2], a[3]} * Four{b[0], b[1], b[2], b[3]};
        high_ += Four{a[4], a[5], a[6], a[7]} * Four{b[4], b[5], b[6], b[7]};
    }
    void add(Pack<double> a, Pack<double> b) { low_ += a * b; }
    void add(const Sum& other) { low_ += other.low_, high_ += other.high_; }
    double total() const
    {
        const Four s = low_ + high_;
        return (s[0] + s[1]) + (s[2] + s[3]);
    }

  private:
    Four low_ = {}, high_ = {};
};

template <class Real> double largest_of(Pack<Real> p)
{
    Real most = p[0];
    for (size_t k = 1; k < kLanes<Real>; ++k) most = std::max(most, p[k]);
    return static_cast<double>(most);
}

} // namespace

template <class Real> struct BoundedQpSolver<Real>::Bounds {
    Pack<Real> lower, upper;
    Pack<Real> project(Pack<Real> x) const { return least(most(x, lower), upper); }
};

template <class Real> struct BoundedQpSolver<Real>::Gradients {
    Sum phi2, reduced_phi2, beta2; // squared norms in scaled variables
    Sum twice_the_value;           // of the objective, where the gradient was computed
    Pack<Real> magnitude{};        // largest magnitudes in the projected gradient
    bool face_changed = false;
    double largest() const { return largest_of<Real>(magnitude); }
    bool finite() const { return std::isfinite(phi2.total() + beta2.total()); }
    bool proportional() const { return beta2.total() <= kProportioning * kProportioning * reduced_phi2.total(); }
    void add(const Gradients& other)
    {
        phi2.add(other.phi2), reduced_phi2.add(other.reduced_phi2), beta2.add(other.beta2);
        twice_the_value.add(other.twice_the_value);
        magnitude = most(magnitude, other.magnitude);
        face_changed |= other.face_changed;
    }
};

template <class Real> struct BoundedQpSolver<Real>::Step {
    Sum curvatures; // d . A d
    Sum slopes;     // d . g
    Sum length2;    // in scaled variables
    Pack<Real> until_bound = all(std::numeric_limits<Real>::infinity());
    void add(const Step& other)
    {
        curvatures.add(other.curvatures), slopes.add(other.slopes), length2.add(other.length2);
        until_bound = least(until_bound, other.until_bound);
    }
    double curvature() const { return curvatures.total(); }
    bool flat() const { return !(curvature() > kNoCurvature<Real> * length2.total()); }
    // Step length to the minimum along the direction, and to the first bound.
    double wanted() const { return flat() ? std::numeric_limits<double>::infinity() : slopes.total() / curvature(); }
    double feasible() const { return -largest_of<Real>(-until_bound); }
    double descent(double length) const { return length * (slopes.total() - 0.5 * length * curvature()); }
};

template <class Real> auto BoundedQpSolver<Real>::bounds_at(size_t i) const -> Bounds
{
    return {bounds_.lower.empty() ? Pack<Real>{} : load(bounds_.lower, i),
            bounds_.upper.empty() ? all(std::numeric_limits<Real>::infinity()) : load(bounds_.upper, i)};
}

// Calls body(i) for all active packs.
template <class Real> template <class Body> void BoundedQpSolver<Real>::for_variables(const Body& body) const
{
    parallel_chunks(groups_.size(), kGroupsAtOnce, [&](size_t begin, size_t end) {
        for (size_t k = begin; k < end; ++k)
            for (size_t i = kGroup * groups_[k], l = 0; l < kGroup; l += kLanes<Real>) body(i + l);
    });
}

// The same with body(sums, i); partial sums of chunks are added in order.
template <class Real> template <class Sums, class Body> Sums BoundedQpSolver<Real>::sum_up(const Body& body) const
{
    std::vector<Sums> parts((groups_.size() + kGroupsAtOnce - 1) / kGroupsAtOnce);
    parallel_for(parts.size(), [&](size_t c) {
        Sums part;
        for (size_t k = c * kGroupsAtOnce, end = std::min(groups_.size(), k + kGroupsAtOnce); k < end; ++k)
            for (size_t i = kGroup * groups_[k], l = 0; l < kGroup; l += kLanes<Real>) body(part, i + l);
        parts[c] = part;
    });
    Sums sum;
    for (const Sums& part : parts) sum.add(part);
    return sum;
}

template <class Real> QpResult BoundedQpSolver<Real>::solve(QpMatrix<Real>& matrix, std::span<const Real> b,
                                                            QpBounds<Real> bounds, std::span<Real> x,
                                                            const QpSettings& settings)
{
    count_ = x.size(), bounds_ = bounds, steps_ = matrix.steps();
    QpResult result;
    result.bounded = start(b, x);
    Gradients gradients = evaluate(matrix, b, x);
    double value = 0.5 * gradients.twice_the_value.total();
    bool exact = true;      // the gradient was recomputed, not updated
    bool new_search = true; // restart conjugate gradients
    while (gradients.finite()) {
        if (gradients.largest() <= settings.tolerance) {
            if (exact) {
                result.converged = true;
                break;
            }
            gradients = evaluate(matrix, b, x);
            value = 0.5 * gradients.twice_the_value.total();
            exact = new_search = true;
            ++result.iterations;
            continue;
        }
        if (result.iterations >= settings.max_iterations) break;
        ++result.iterations;

        if (!gradients.proportional()) {
            // Proportioning: release variables along the chopped gradient.
            const Step step = along(matrix, x, beta_);
            const double length = std::min(step.wanted(), step.feasible());
            if (!(length < std::numeric_limits<double>::infinity())) {
                result.bounded = false;
                break;
            }
            gradients = go(x, length, beta_);
            value -= step.descent(length);
            ++result.proportionings;
            new_search = true, exact = false;
            continue;
        }

        if (new_search || face_changed_) {
            matrix.precondition(live(phi_), std::span(free_).first(count_), face_changed_, live(z_));
            face_changed_ = false;
            p_.swap(z_);
            new_search = false;
        }
        const Step step = along(matrix, x, p_);
        const double wanted = step.wanted(), feasible = step.feasible();
        if (wanted <= feasible) {
            if (!(wanted < std::numeric_limits<double>::infinity())) {
                result.bounded = false;
                break;
            }
            // CG step; the next direction is made conjugate to this one.
            gradients = go(x, wanted, p_);
            value -= step.descent(wanted);
            exact = false;
            if (face_changed_ || result.iterations >= settings.max_iterations) continue;
            matrix.precondition(live(phi_), std::span(free_).first(count_), false, live(z_));
            const Sum overlap = sum_up<Sum>([&](Sum& sum, size_t i) { sum.add(load(z_, i), load(q_, i)); });
            const auto share = static_cast<Real>(overlap.total() / step.curvature());
            for_variables([&](size_t i) { store(p_, i, load(z_, i) - share * load(p_, i)); });
        } else {
            // Expansion: project the full step onto the bounds, which activates the most variables; accept it if it
            // descends further than its part up to the first bound. Otherwise take that part, and continue along the
            // free gradient with the fixed step, which always descends.
            const double to_bound = value - step.descent(feasible);
            bool descends = false;
            if (wanted < std::numeric_limits<double>::infinity()) {
                go_projected(x, wanted);
                gradients = evaluate(matrix, b, x);
                descends = 0.5 * gradients.twice_the_value.total() < to_bound;
                if (!descends) go_back(x);
            }
            if (!descends) {
                go(x, feasible, p_);
                expand(x);
                gradients = evaluate(matrix, b, x);
            }
            value = 0.5 * gradients.twice_the_value.total();
            ++result.expansions;
            exact = new_search = true;
        }
    }
    result.projected_gradient = gradients.largest();
    result.complementarity = complementarity(x);
    return result;
}

// Projects x onto the bounds. Variables with empty rows go to the bound that b points to; returns false if that bound
// is infinite.
template <class Real> bool BoundedQpSolver<Real>::start(std::span<const Real> b, std::span<Real> x)
{
    const size_t groups = (count_ + kGroup - 1) / kGroup;
    for (auto* values : {&g_, &phi_, &beta_, &z_, &p_, &q_}) values->resize(groups * kGroup);
    free_.resize(groups * kGroup);
    face_changed_ = true;
    struct Findings {
        bool ordered = true, ends = true, at_zero = true;
    };
    std::vector<Findings> findings((groups + kGroupsAtOnce - 1) / kGroupsAtOnce);
    std::vector<uint8_t> takes_part(groups);
    parallel_for(findings.size(), [&](size_t c) {
        Mask<Real> disordered{}, endless{}, anywhere{};
        for (size_t k = c * kGroupsAtOnce, end = std::min(groups, k + kGroupsAtOnce); k < end; ++k) {
            Mask<Real> some{};
            for (size_t i = kGroup * k; i < kGroup * (k + 1); i += kLanes<Real>) {
                const Pack<Real> zero{}, s = load(steps_, i), from = load(std::span<const Real>(x), i);
                const Pack<Real> push = load(b, i);
                const Bounds bounds = bounds_at(i);
                const Pack<Real> end_of_fall = push > zero ? bounds.upper : push < zero ? bounds.lower : from;
                const Mask<Real> falls = s == zero, stops = is_finite(end_of_fall);
                const Pack<Real> wanted = falls & stops ? end_of_fall : from;
                const Pack<Real> at = bounds.project(is_finite(wanted) ? wanted : zero);
                store(x, i, at);
                disordered |= ~(bounds.lower <= bounds.upper), endless |= falls & ~stops, anywhere |= at != zero;
                some |= (at != zero) | ((s > zero) & (bounds.lower < bounds.upper));
                // Groups that stay inactive are never written again.
                store(phi_, i, zero), store(beta_, i, zero), store(g_, i, zero);
                std::fill_n(free_.data() + i, kLanes<Real>, uint8_t{0});
            }
            takes_part[k] = bytes_of(some) != 0;
        }
        findings[c] = {bytes_of(disordered) == 0, bytes_of(endless) == 0, bytes_of(anywhere) == 0};
    });
    Findings all;
    for (const Findings& f : findings) all.ordered &= f.ordered, all.ends &= f.ends, all.at_zero &= f.at_zero;
    if (!all.ordered) fail("a quadratic program has a lower bound above its upper bound; no x can satisfy both");
    at_zero_ = all.at_zero;
    groups_.clear();
    for (size_t k = 0; k < groups; ++k)
        if (takes_part[k]) groups_.push_back(static_cast<uint32_t>(k));
    return all.ends;
}

// Splits the gradient into free part phi and chopped part beta, and finds the free variables.
template <class Real> inline void BoundedQpSolver<Real>::split(size_t i, std::span<const Real> x, Gradients& sum)
{
    const Pack<Real> zero{}, here = load(x, i), g = load(g_, i), s = load(steps_, i);
    const auto [low, high] = bounds_at(i);
    const Mask<Real> moves = (low < high) & (s > zero), inside = moves & (here > low) & (here < high);
    const Pack<Real> phi = inside ? g : zero;
    const Pack<Real> inwards = here == low ? least(g, zero) : most(g, zero);
    const Pack<Real> beta = moves & ~inside ? inwards : zero;
    // Reduced free gradient: the part that a fixed step can follow before it meets the bound.
    const Pack<Real> room = (phi > zero ? here - low : here - high) * static_cast<Real>(1 / kFixedStep);
    const Pack<Real> followed = phi > zero ? least(s * phi, room) : most(s * phi, room);
    sum.phi2.add(s * phi, phi), sum.beta2.add(s * beta, beta);
    sum.reduced_phi2.add(phi == zero ? zero : followed, phi);
    const Pack<Real> either = phi + beta;
    sum.magnitude = most(sum.magnitude, most(either, -either));
    auto is_free = bytes_of(inside), was_free = is_free;
    std::memcpy(&was_free, free_.data() + i, sizeof was_free);
    sum.face_changed |= is_free != was_free;
    std::memcpy(free_.data() + i, &is_free, sizeof is_free);
    store(phi_, i, phi), store(beta_, i, beta);
}

// Computes the gradient at x.
template <class Real> auto BoundedQpSolver<Real>::evaluate(QpMatrix<Real>& matrix, std::span<const Real> b,
                                                           std::span<const Real> x) -> Gradients
{
    if (!at_zero_) matrix.multiply(x, live(g_));
    const bool nothing = at_zero_;
    at_zero_ = false; // x may be nonzero from now on
    const Gradients sum = sum_up<Gradients>([&](Gradients& gradients, size_t i) {
        const Pack<Real> right = load(b, i), product = nothing ? Pack<Real>{} : load(g_, i), g = product - right;
        store(g_, i, g);
        const Pack<Real> here = load(x, i);
        gradients.twice_the_value.add(here, product), gradients.twice_the_value.add(-2 * here, right);
        split(i, x, gradients);
    });
    face_changed_ |= sum.face_changed;
    return sum;
}

// Analyses a step x - length direction.
template <class Real> auto BoundedQpSolver<Real>::along(QpMatrix<Real>& matrix, std::span<const Real> x,
                                                        const AlignedVector<Real>& direction) -> Step
{
    matrix.multiply(std::span(direction).first(count_), live(q_));
    return sum_up<Step>([&](Step& step, size_t i) {
        const Pack<Real> zero{}, d = load(direction, i);
        const Mask<Real> goes = d != zero;
        const Bounds bounds = bounds_at(i);
        step.curvatures.add(d, load(q_, i)), step.slopes.add(d, goes ? load(g_, i) : zero);
        step.length2.add(goes ? d / load(steps_, i) : zero, d);
        const Pack<Real> room = load(x, i) - (d > zero ? bounds.lower : bounds.upper);
        step.until_bound = least(step.until_bound, goes ? room / d : all(std::numeric_limits<Real>::infinity()));
    });
}

// Takes the step analysed by along() and updates the gradient.
template <class Real>
auto BoundedQpSolver<Real>::go(std::span<Real> x, double length, const AlignedVector<Real>& direction) -> Gradients
{
    const auto l = static_cast<Real>(length);
    const Gradients sum = sum_up<Gradients>([&](Gradients& gradients, size_t i) {
        const Pack<Real> here = load(std::span<const Real>(x), i);
        store(x, i, bounds_at(i).project(here - l * load(direction, i)));
        store(g_, i, load(g_, i) - l * load(q_, i));
        split(i, x, gradients);
    });
    face_changed_ |= sum.face_changed;
    return sum;
}

// Moves along p and projects onto the bounds; the gradient must be recomputed afterwards.
template <class Real> void BoundedQpSolver<Real>::go_projected(std::span<Real> x, double length)
{
    const auto l = static_cast<Real>(length);
    before_.resize(g_.size()), gradient_before_.resize(g_.size());
    for_variables([&](size_t i) {
        const Pack<Real> here = load(std::span<const Real>(x), i);
        store(before_, i, here);
        store(x, i, bounds_at(i).project(here - l * load(p_, i)));
    });
    g_.swap(gradient_before_);
}

template <class Real> void BoundedQpSolver<Real>::go_back(std::span<Real> x)
{
    for_variables([&](size_t i) { store(x, i, load(before_, i)); });
    g_.swap(gradient_before_);
}

template <class Real> void BoundedQpSolver<Real>::expand(std::span<Real> x)
{
    for_variables([&](size_t i) {
        const Pack<Real> here = load(std::span<const Real>(x), i);
        const Pack<Real> step = static_cast<Real>(kFixedStep) * load(steps_, i) * load(phi_, i);
        store(x, i, bounds_at(i).project(here - step));
    });
}

template <class Real> double BoundedQpSolver<Real>::complementarity(std::span<const Real> x) const
{
    struct Largest {
        Pack<Real> magnitude{};
        void add(const Largest& other) { magnitude = most(magnitude, other.magnitude); }
    };
    const auto found = sum_up<Largest>([&](Largest& sum, size_t i) {
        const Pack<Real> zero{}, here = load(x, i), s = load(steps_, i);
        const Pack<Real> way = here - bounds_at(i).project(here - s * load(g_, i));
        const Pack<Real> residual = s > zero ? way / s : zero;
        sum.magnitude = most(sum.magnitude, most(residual, -residual));
    });
    return largest_of<Real>(found.magnitude);
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
