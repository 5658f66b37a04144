#include "spindrift/solvers/bounded_qp.h"

#include "base/determinism.h"
#include "spindrift/base/error.h"
#include "spindrift/base/random.h"

#include <Eigen/Dense>
#include <gtest/gtest.h>

using namespace spindrift;

namespace {

using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;

template <class Real> class DenseQpMatrix : public QpMatrix<Real> {
  public:
    explicit DenseQpMatrix(const Matrix& a) : a_(a), steps_(static_cast<size_t>(a.rows()))
    {
        for (int i = 0; i < a.rows(); ++i) {
            const double sum = a.row(i).cwiseAbs().sum();
            steps_[i] = sum > 0 ? static_cast<Real>(1 / sum) : Real(0);
        }
    }
    void multiply(std::span<const Real> x, std::span<Real> out) override
    {
        ++products;
        for (int i = 0; i < a_.rows(); ++i) {
            double sum = 0;
            for (int j = 0; j < a_.cols(); ++j) sum += a_(i, j) * static_cast<double>(x[j]);
            out[i] = static_cast<Real>(sum);
        }
    }
    void precondition(std::span<const Real> r, std::span<const uint8_t> free, bool, std::span<Real> z) override
    {
        for (size_t i = 0; i < r.size(); ++i) {
            EXPECT_TRUE(free[i] || r[i] == 0);
            z[i] = free[i] ? r[i] / static_cast<Real>(a_(static_cast<int>(i), static_cast<int>(i))) : Real(0);
        }
    }
    std::span<const Real> steps() const override { return steps_; }
    int products = 0;

  private:
    Matrix a_;
    std::vector<Real> steps_;
};

struct Program {
    Matrix a;
    Vector b, lower, upper;
    double value(const Vector& x) const { return 0.5 * x.dot(a * x) - b.dot(x); }
};

constexpr double kInf = std::numeric_limits<double>::infinity();

double uniform(Random& random, double from, double to)
{
    return from + (to - from) * static_cast<double>(random.uniform());
}

// A is the product of a random matrix of the given rank with its transpose.
Program random_program(int n, int rank, uint64_t seed, bool two_sided)
{
    Random random(seed);
    Matrix f(n, rank);
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < rank; ++j) f(i, j) = uniform(random, -1, 1);
    Program p{f * f.transpose(), Vector(n), Vector::Zero(n), Vector::Constant(n, kInf)};
    for (int i = 0; i < n; ++i) {
        p.b[i] = uniform(random, -2, 2);
        if (!two_sided) continue;
        p.lower[i] = uniform(random, -1, 0), p.upper[i] = p.lower[i] + uniform(random, 0, 1.5);
    }
    return p;
}

template <class Real = double>
std::pair<Vector, QpResult> solved(const Program& p, double tolerance, Vector x = {}, int max_iterations = 20000)
{
    const auto n = static_cast<size_t>(p.b.size());
    if (x.size() == 0) x = Vector::Zero(p.b.size());
    std::vector<Real> start(n), b(n), lower(n), upper(n);
    for (size_t i = 0; i < n; ++i) {
        const auto e = static_cast<Eigen::Index>(i);
        start[i] = static_cast<Real>(x[e]), b[i] = static_cast<Real>(p.b[e]);
        lower[i] = static_cast<Real>(p.lower[e]), upper[i] = static_cast<Real>(p.upper[e]);
    }
    DenseQpMatrix<Real> matrix(p.a);
    BoundedQpSolver<Real> solver;
    const QpResult result = solver.solve(matrix, b, {lower, upper}, start, {tolerance, max_iterations});
    for (size_t i = 0; i < n; ++i) x[static_cast<Eigen::Index>(i)] = static_cast<double>(start[i]);
    EXPECT_LE(matrix.products, result.iterations + 2 * result.expansions + 1);
    return {x, result};
}

// Largest violation of the Karush-Kuhn-Tucker conditions.
double kkt_violation(const Program& p, const Vector& x)
{
    const Vector g = p.a * x - p.b;
    double worst = 0;
    for (int i = 0; i < x.size(); ++i) {
        worst = std::max({worst, p.lower[i] - x[i], x[i] - p.upper[i]});
        if (x[i] > p.lower[i]) worst = std::max(worst, g[i]);
        if (x[i] < p.upper[i]) worst = std::max(worst, -g[i]);
    }
    return worst;
}

// Reference: tries every assignment of variables to lower bound, upper bound and free.
Vector enumerated_solution(const Program& p)
{
    const int n = static_cast<int>(p.b.size());
    int choices = 1;
    for (int i = 0; i < n; ++i) choices *= 3;
    Vector best;
    for (int c = 0; c < choices; ++c) {
        Vector x = Vector::Zero(n);
        std::vector<int> free;
        bool possible = true;
        for (int i = 0, rest = c; i < n; ++i, rest /= 3) {
            if (rest % 3 == 2)
                free.push_back(i);
            else
                x[i] = rest % 3 ? p.upper[i] : p.lower[i];
            possible = possible && std::isfinite(x[i]);
        }
        if (!possible) continue;
        const int m = static_cast<int>(free.size());
        Matrix sub(m, m);
        const Vector rest = p.b - p.a * x;
        Vector right(m);
        for (int i = 0; i < m; ++i) {
            right[i] = rest[free[i]];
            for (int j = 0; j < m; ++j) sub(i, j) = p.a(free[i], free[j]);
        }
        if (m > 0) {
            const Vector y = sub.completeOrthogonalDecomposition().solve(right);
            for (int i = 0; i < m; ++i) x[free[i]] = y[i];
        }
        if (kkt_violation(p, x) < 1e-9) return x;
    }
    return best;
}

} // namespace

TEST(BoundedQp, MatchesExhaustiveSearchOverActiveSets)
{
    int at_lower = 0, at_upper = 0, between = 0;
    for (uint64_t seed = 0; seed < 60; ++seed) {
        const int n = 2 + static_cast<int>(seed % 5);
        const Program p = random_program(n, n + 1, seed, seed % 2);
        const Vector wanted = enumerated_solution(p);
        ASSERT_EQ(wanted.size(), n) << seed;
        const auto [x, result] = solved(p, 1e-11);
        EXPECT_TRUE(result.converged && result.bounded) << seed;
        EXPECT_LT((x - wanted).cwiseAbs().maxCoeff(), 1e-7 * (1 + wanted.cwiseAbs().maxCoeff())) << seed;
        for (int i = 0; i < n; ++i) (x[i] == p.lower[i] ? at_lower : x[i] == p.upper[i] ? at_upper : between) += 1;
    }
    EXPECT_GT(std::min({at_lower, at_upper, between}), 20);
}

TEST(BoundedQp, SemidefiniteProgramsReachTheLowestValue)
{
    for (uint64_t seed = 0; seed < 40; ++seed) {
        const int n = 3 + static_cast<int>(seed % 4);
        Program p = random_program(n, 2, 100 + seed, true);
        const Vector wanted = enumerated_solution(p);
        ASSERT_EQ(wanted.size(), n) << seed;
        const auto [x, result] = solved(p, 1e-9);
        EXPECT_TRUE(result.converged) << seed;
        EXPECT_LT(kkt_violation(p, x), 1e-8) << seed;
        EXPECT_NEAR(p.value(x), p.value(wanted), 1e-7) << seed; // the minimiser need not be unique
    }
}

TEST(BoundedQp, LargerProgramsSatisfyTheKktConditions)
{
    for (uint64_t seed = 0; seed < 6; ++seed) {
        const Program p = random_program(200, 260, 200 + seed, seed % 2);
        const auto [x, result] = solved(p, 1e-8);
        EXPECT_TRUE(result.converged) << seed;
        EXPECT_LT(kkt_violation(p, x), 1.01e-8) << seed;
        EXPECT_LE(result.projected_gradient, 1e-8);
        EXPECT_LE(result.complementarity, 1e-8);
        EXPECT_GT(result.expansions + result.proportionings, 0);
        // In floats, down to their rounding.
        const auto [single, single_result] = solved<float>(p, 2e-3);
        EXPECT_TRUE(single_result.converged) << seed;
        EXPECT_LT((p.a * (single - x)).cwiseAbs().maxCoeff(), 0.2) << seed;
        EXPECT_NEAR(p.value(single), p.value(x), 1e-3 * std::abs(p.value(x))) << seed;
    }
}

TEST(BoundedQp, SolvesWithAllOrNoBoundsActive)
{
    Program p = random_program(30, 40, 7, false);
    p.b = -Vector::Ones(30) - p.b.cwiseAbs();
    const auto [corner, corner_result] = solved(p, 1e-9, Vector::Constant(30, 3.0));
    EXPECT_EQ(corner, Vector::Zero(30));
    EXPECT_TRUE(corner_result.converged);

    const Vector inside = Vector::Constant(30, 2.0) + random_program(30, 1, 8, false).b.cwiseAbs();
    p.b = p.a * inside;
    const auto [x, result] = solved(p, 1e-10);
    EXPECT_TRUE(result.converged);
    EXPECT_LT((x - inside).cwiseAbs().maxCoeff(), 1e-6);

    p.lower = p.upper = inside; // nothing is free
    const auto [fixed, fixed_result] = solved(p, 1e-10);
    EXPECT_EQ(fixed, inside);
    EXPECT_TRUE(fixed_result.converged);
    EXPECT_EQ(fixed_result.iterations, 0);
}

TEST(BoundedQp, DegenerateProgramsConverge)
{
    // At the solution, variables at their bounds also have zero gradient.
    for (uint64_t seed = 0; seed < 10; ++seed) {
        Program p = random_program(40, 60, 300 + seed, false);
        Vector x = Vector::Zero(40);
        Random random(seed);
        for (int i = 0; i < 20; ++i) x[i] = uniform(random, 0.5, 2);
        p.b = p.a * x;
        const auto [found, result] = solved(p, 1e-10);
        EXPECT_TRUE(result.converged) << seed;
        EXPECT_LT((found - x).cwiseAbs().maxCoeff(), 1e-6) << seed;
    }
}

TEST(BoundedQp, WarmStartSavesIterations)
{
    const Program p = random_program(200, 220, 11, false);
    const auto [x, cold] = solved(p, 1e-6);
    const auto [again, warm] = solved(p, 1e-6, x);
    EXPECT_EQ(warm.iterations, 0);
    EXPECT_EQ(again, x);
    EXPECT_GT(cold.iterations, 10);
}

TEST(BoundedQp, UnboundedProgramsAreDetected)
{
    // The objective falls along (1, 1), where A has no curvature.
    Program p{Matrix(2, 2), Vector::Ones(2), Vector::Zero(2), Vector::Constant(2, kInf)};
    p.a << 1, -1, -1, 1;
    const auto [x, result] = solved(p, 1e-9);
    EXPECT_FALSE(result.bounded);
    EXPECT_FALSE(result.converged);
    EXPECT_TRUE(x.allFinite());
    p.upper[0] = 5; // one bound suffices: x1 = x0 + 1
    const auto [held, held_result] = solved(p, 1e-9);
    EXPECT_TRUE(held_result.converged);
    EXPECT_NEAR(held[0], 5, 1e-9);
    EXPECT_NEAR(held[1], 6, 1e-9);

    // Empty rows: unbounded, pushed to a bound, or indifferent.
    Program empty{Matrix::Zero(3, 3), Vector(3), Vector::Zero(3), Vector::Constant(3, kInf)};
    empty.a(0, 0) = 1, empty.b << 2, 1, 0;
    const auto [y, empty_result] = solved(empty, 1e-9);
    EXPECT_FALSE(empty_result.bounded);
    EXPECT_NEAR(y[0], 2, 1e-9);
    EXPECT_TRUE(y.allFinite());
    empty.upper[1] = 4;
    const auto [z, ended] = solved(empty, 1e-9);
    EXPECT_TRUE(ended.bounded && ended.converged);
    EXPECT_EQ(z[1], 4);
}

TEST(BoundedQp, BadInputIsReportedAndNeverHangs)
{
    Program p = random_program(5, 6, 1, true);
    p.b[2] = std::numeric_limits<double>::quiet_NaN();
    EXPECT_FALSE(solved(p, 1e-9).second.converged);
    p.b[2] = kInf;
    EXPECT_TRUE(solved(p, 1e-9).first.allFinite());
    p.b[2] = 0;
    const auto [x, cut] = solved(random_program(50, 55, 2, false), 1e-14, {}, 3);
    EXPECT_FALSE(cut.converged);
    EXPECT_LE(cut.iterations, 3);
    EXPECT_TRUE(x.allFinite());
    const Vector bad_start = Vector::Constant(5, std::numeric_limits<double>::quiet_NaN());
    EXPECT_TRUE(solved(p, 1e-9, bad_start).second.converged);
    p.upper[1] = p.lower[1] - 1;
    EXPECT_THROW(solved(p, 1e-9), Error);
    EXPECT_TRUE(solved({Matrix(0, 0), Vector(0), Vector(0), Vector(0)}, 1e-9).second.converged);
}

namespace {
// A chain of masses, long enough for several chunks of the solver's sums.
class Chain : public QpMatrix<float> {
  public:
    explicit Chain(size_t n) : steps_(n, 0.25f) {}
    void multiply(std::span<const float> x, std::span<float> out) override
    {
        parallel_for(x.size(),
                     [&](size_t i) { out[i] = 2 * x[i] - (i > 0 ? x[i - 1] : 0) - (i + 1 < x.size() ? x[i + 1] : 0); });
    }
    void precondition(std::span<const float> r, std::span<const uint8_t>, bool, std::span<float> z) override
    {
        std::copy(r.begin(), r.end(), z.begin());
    }
    std::span<const float> steps() const override { return steps_; }

  private:
    std::vector<float> steps_;
};
} // namespace

TEST(BoundedQp, SameBitsForAnyNumberOfThreads)
{
    const size_t n = 50000;
    std::vector<float> b(n);
    for (size_t i = 0; i < n; ++i) b[i] = std::sin(0.01f * static_cast<float>(i)) - 0.3f;
    const auto run = [&] {
        Chain chain(n);
        BoundedQpSolver<float> solver;
        std::vector<float> x(n, 0);
        const QpResult result = solver.solve(chain, b, {}, x, {1e-3, 300});
        EXPECT_GT(result.expansions, 0);
        return x;
    };
    const std::vector<float> one = with_threads(1, run);
    EXPECT_TRUE(same_bits(one, with_threads(2, run)));
    EXPECT_TRUE(same_bits(one, with_threads(5, run)));
}
