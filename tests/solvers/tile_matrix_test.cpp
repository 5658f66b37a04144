#include "spindrift/solvers/tile_matrix.h"

#include "base/determinism.h"
#include "spindrift/base/aligned.h"
#include "spindrift/base/random.h"

#include <Eigen/Dense>
#include <gtest/gtest.h>

using namespace spindrift;

namespace {

using Vector = AlignedVector<float>;

// Random weights on some tiles. The diagonal is the sum of the weights around a cell, as for a Laplacian with zero
// outside, plus `more`.
struct Problem {
    Topology topology;
    TileMatrix::Axes axes;
    TileMatrix matrix;
    std::vector<uint8_t> free;

    Problem(Topology tiles, TileMatrix::Axes coupled, float lowest, float more)
        : topology(std::move(tiles)), axes(coupled), free(topology.cell_count(), 1)
    {
        matrix.reset(topology, axes);
        Random random(5);
        for (int a = 0; a < 3; ++a)
            for (int t = 0; t < topology.tile_count(); ++t)
                for (int o = 0; o < kTileCells; ++o) matrix.weight(a).tile(t)[o] = random.uniform(lowest, 1);
        for (int t = 0; t < topology.tile_count(); ++t)
            for (int o = 0; o < kTileCells; ++o) {
                float sum = more;
                for (int a = 0; a < 3; ++a) {
                    if (!axes[a]) continue;
                    const auto above = topology.next_cell(t, o, a, 1);
                    const bool inside = above.tile != topology.tile_count();
                    sum += matrix.weight(a).tile(t)[o] + (inside ? matrix.weight(a).tile(above.tile)[above.offset] : 1);
                }
                matrix.diagonal().tile(t)[o] = sum;
            }
        matrix.prepare();
    }

    // From the definition, cell by cell.
    Eigen::MatrixXd dense()
    {
        const auto size = static_cast<Eigen::Index>(topology.cell_count());
        Eigen::MatrixXd a = Eigen::MatrixXd::Zero(size, size);
        for (int t = 0; t < topology.tile_count(); ++t)
            for (int o = 0; o < kTileCells; ++o) {
                const Eigen::Index row = t * kTileCells + o;
                a(row, row) = static_cast<double>(matrix.diagonal().tile(t)[o]);
                for (int axis = 0; axis < 3; ++axis) {
                    const Vec3i below = topology.first_cell(t) + cell_in_tile(o) - Vec3i::Unit(axis);
                    const int tile = topology.find(tile_of_cell(below));
                    if (!axes[axis] || tile == topology.tile_count()) continue;
                    const Eigen::Index column = tile * kTileCells + offset_of_cell(below);
                    a(row, column) = a(column, row) = -static_cast<double>(matrix.weight(axis).tile(t)[o]);
                }
            }
        return a;
    }

    Vector random_vector(uint64_t seed) const
    {
        Random random(seed);
        Vector v(topology.cell_count());
        for (size_t i = 0; i < v.size(); ++i) v[i] = free[i] ? random.uniform(-1, 1) : 0;
        return v;
    }
    Vector preconditioned(const Vector& r)
    {
        Vector z(r.size());
        matrix.precondition(r, free, true, z);
        return z;
    }
    // CG iterations on the free cells until the residual falls to a millionth.
    int steps_to_solve(Vector& x)
    {
        const auto dot = [](const Vector& a, const Vector& b) {
            double sum = 0;
            for (size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
            return sum;
        };
        Vector r = random_vector(9), p, q(r.size());
        x.assign(r.size(), 0);
        const double start = dot(r, r);
        double last = 0;
        for (int step = 1; step < 500; ++step) {
            const Vector z = preconditioned(r);
            const double now = dot(r, z);
            if (p.empty())
                p = z;
            else
                for (size_t i = 0; i < p.size(); ++i) p[i] = z[i] + static_cast<float>(now / last) * p[i];
            last = now;
            matrix.multiply(p, q);
            for (size_t i = 0; i < q.size(); ++i) q[i] = free[i] ? q[i] : 0;
            const auto length = static_cast<float>(now / dot(p, q));
            for (size_t i = 0; i < x.size(); ++i) x[i] += length * p[i], r[i] -= length * q[i];
            if (dot(r, r) < 1e-12 * start) return step;
        }
        return 500;
    }
};

// Some tiles in a corner, on both sides of the origin, and one apart.
Topology few_tiles()
{
    std::vector<uint64_t> codes;
    for (const Vec3i& tile : {Vec3i(0, 0, 0), Vec3i(-1, 0, 0), Vec3i(0, -1, 0), Vec3i(0, 0, 1), Vec3i(3, 0, 0)})
        codes.push_back(morton_of_tile(tile));
    return Topology(std::move(codes));
}

constexpr TileMatrix::Axes kAll = {true, true, true};
constexpr TileMatrix::Axes kSome[] = {kAll,
                                      {true, true, false},
                                      {false, true, true},
                                      {true, false, true},
                                      {true, false, false},
                                      {false, true, false},
                                      {false, false, true}};

} // namespace

TEST(TileMatrix, MultipliesLikeADenseMatrix)
{
    for (const TileMatrix::Axes& axes : kSome) {
        Problem problem(few_tiles(), axes, 0.1f, 0);
        const Vector x = problem.random_vector(1);
        Vector out(x.size());
        problem.matrix.multiply(x, out);
        const Eigen::VectorXd exact =
            problem.dense() *
            Eigen::Map<const Eigen::VectorXf>(x.data(), static_cast<Eigen::Index>(x.size())).cast<double>();
        for (size_t i = 0; i < x.size(); ++i)
            ASSERT_NEAR(static_cast<double>(out[i]), exact[static_cast<Eigen::Index>(i)], 1e-5);
    }
}

TEST(TileMatrix, StepsBoundTheLargestEigenvalue)
{
    Problem problem(few_tiles(), kAll, 0.1f, 0);
    // Gershgorin: D^-1 A has no eigenvalue above 2.
    const Eigen::MatrixXd a = problem.dense();
    for (size_t i = 0; i < problem.free.size(); ++i) {
        const auto row = static_cast<Eigen::Index>(i);
        EXPECT_LE(static_cast<double>(problem.matrix.steps()[i]) * a.row(row).cwiseAbs().sum(), 1 + 1e-5);
    }
}

TEST(TileMatrix, CycleIsSymmetricPositiveAndZeroOnBoundCells)
{
    for (const TileMatrix::Axes& axes : kSome) {
        Problem problem(few_tiles(), axes, 0.01f, 0);
        Random random(3);
        for (uint8_t& f : problem.free) f = random.uniform() < 0.7f;
        const Vector a = problem.random_vector(1), b = problem.random_vector(2);
        const Vector za = problem.preconditioned(a), zb = problem.preconditioned(b);
        double ab = 0, ba = 0, aa = 0;
        for (size_t i = 0; i < a.size(); ++i) {
            ab += static_cast<double>(a[i]) * static_cast<double>(zb[i]);
            ba += static_cast<double>(b[i]) * static_cast<double>(za[i]);
            aa += static_cast<double>(a[i]) * static_cast<double>(za[i]);
            if (!problem.free[i]) {
                ASSERT_EQ(za[i], 0.0f);
            }
        }
        EXPECT_GT(aa, 0);
        EXPECT_NEAR(ab, ba, 1e-5 * aa);
    }
}

TEST(TileMatrix, PreconditionedCgConverges)
{
    for (const TileMatrix::Axes& axes : kSome) {
        Problem problem(few_tiles(), axes, 0.1f, 0.01f);
        Vector x;
        const int steps = problem.steps_to_solve(x);
        EXPECT_LT(steps, 60) << axes[0] << axes[1] << axes[2];
        const Vector b = problem.random_vector(9);
        const auto as_double = [](const Vector& v) -> Eigen::VectorXd {
            return Eigen::Map<const Eigen::VectorXf>(v.data(), static_cast<Eigen::Index>(v.size())).cast<double>();
        };
        EXPECT_LT((problem.dense() * as_double(x) - as_double(b)).norm(), 1e-5 * as_double(b).norm());
    }
}

TEST(TileMatrix, IterationsHardlyGrowWithTheGrid)
{
    const auto steps = [](int tiles, float lowest, float share) {
        Problem problem(Topology::covering(Vec3i::Zero(), Vec3i::Constant(tiles * kTileSize)), kAll, lowest, 0);
        Random random(4);
        for (uint8_t& f : problem.free) f = random.uniform() < share;
        Vector x;
        return problem.steps_to_solve(x);
    };
    for (const float lowest : {1.0f, 0.1f, 0.001f})
        for (const float share : {1.0f, 0.9f}) {
            const int small = steps(2, lowest, share), large = steps(8, lowest, share);
            EXPECT_LE(large, 2 * small);
            EXPECT_LE(large, 30);
        }
}

TEST(TileMatrix, SameBitsForAnyNumberOfThreads)
{
    const auto run = [](int threads) {
        return with_threads(threads, [] {
            Problem problem(Topology::covering(Vec3i::Zero(), Vec3i::Constant(4 * kTileSize)), kAll, 0.1f, 0);
            return problem.preconditioned(problem.random_vector(1));
        });
    };
    EXPECT_EQ(run(1), run(3));
}
