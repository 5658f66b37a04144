#include "spindrift/solvers/poisson.h"

#include "base/determinism.h"
#include "solvers/liquid_boxes.h"

#include <gtest/gtest.h>

namespace spindrift {
namespace {

constexpr int kSizes[3] = {32, 64, 96};

struct RandomProblem {
    Vec3i min, max;
    float cells = 0.8f; // probability that a cell is active
    float faces = 0.8f; // ... that a face between two active cells is open
    float ties = 0.05f; // ... that a cell touches the free surface
};

std::unique_ptr<PoissonProblem> make_random(const RandomProblem& r, uint64_t seed)
{
    // Some tiles of the box are missing, and some inactive ones lie around it.
    std::vector<Vec3i> tiles =
        random_tiles(tile_of_cell(r.min), tile_of_cell((r.max.array() - 1).matrix()).array() + 1, 0.85f, seed);
    tiles.push_back(Vec3i(-9, 4, 3));
    auto made = std::make_unique<PoissonProblem>(topology_of(tiles));
    Random random(seed, 7);
    Dense<uint8_t> used(r.min, r.max, 0);
    for_each_cell(r.min, r.max, [&](const Vec3i& c) {
        used.at(c) = made->topology.find(tile_of_cell(c)) != made->topology.tile_count() && random.uniform() < r.cells;
    });
    for_each_cell(r.min, r.max, [&](const Vec3i& c) {
        if (!used.get(c)) return;
        for (int a = 0; a < 3; ++a)
            if (used.get(c - Vec3i(Vec3i::Unit(a))) && random.uniform() < r.faces)
                made->set_face(c, a, random.uniform(0.05f, 1));
        if (random.uniform() < r.ties) made->add_tie(c, random.uniform(0.1f, 4));
    });
    made->finish();
    set_random_b(*made, seed + 1);
    return made;
}

PoissonResult solve(const PoissonProblem& problem, Field<double>& x, double tolerance)
{
    PoissonSolver solver;
    solver.set_matrix(problem.matrix);
    return solver.solve(problem.b, x, tolerance);
}

// Compares with a direct solve, up to a constant in each body without a free surface.
void expect_exact(const PoissonProblem& problem)
{
    const PlainSystem system(problem);
    Field<double> x;
    const PoissonResult result = solve(problem, x, 1e-7);
    EXPECT_TRUE(result.converged) << result.iterations << " iterations, residual " << result.relative_residual;
    Eigen::VectorXd got = system.gather(x);
    system.make_compatible(got);
    const Eigen::VectorXd want = system.solve();
    EXPECT_LT((got - want).cwiseAbs().maxCoeff(), 2e-6 * want.cwiseAbs().maxCoeff())
        << system.cells.size() << " cells, " << system.body_count() << " bodies, " << system.closed_count()
        << " closed";
    // Inactive cells must stay untouched.
    for_each_value(x, [&](const Vec3i& cell, double& value) {
        if (!(problem.matrix.diagonal.at(cell) > 0)) {
            ASSERT_EQ(value, 0) << cell.transpose();
        }
    });
}

TEST(Poisson, RandomSparseSystemsAgreeWithADirectSolve)
{
    for (uint64_t seed = 1; seed <= 6; ++seed) {
        SCOPED_TRACE(seed);
        expect_exact(*make_random({Vec3i(-5, -6, -4), Vec3i(5, 4, 6)}, seed));
    }
}

TEST(Poisson, DisconnectedBodiesAndClosedPocketsAgreeWithADirectSolve)
{
    for (uint64_t seed = 11; seed <= 16; ++seed) {
        SCOPED_TRACE(seed);
        const auto problem = make_random({Vec3i(-6, -6, -6), Vec3i(6, 6, 6), 0.6f, 0.5f, 0.02f}, seed);
        const PlainSystem system(*problem);
        ASSERT_GT(system.body_count(), 30u);
        ASSERT_GT(system.closed_count(), 20u);
        ASSERT_LT(system.closed_count(), system.body_count());
        expect_exact(*problem);
    }
}

TEST(Poisson, SystemsWithoutAnyFreeSurfaceAgreeWithADirectSolveUpToAConstant)
{
    for (uint64_t seed = 21; seed <= 23; ++seed) {
        SCOPED_TRACE(seed);
        expect_exact(*make_random({Vec3i(-5, -5, -5), Vec3i(5, 5, 5), 0.9f, 0.9f, 0}, seed));
    }
}

TEST(Poisson, GridsOneCellDeepAgreeWithADirectSolve)
{
    for (int axis = 0; axis < 3; ++axis)
        for (uint64_t seed = 31; seed <= 32; ++seed) {
            SCOPED_TRACE(axis);
            RandomProblem r{Vec3i(-14, -13, -15), Vec3i(13, 14, 12), 0.9f, 0.9f, 0.03f};
            r.min[axis] = 0, r.max[axis] = 1;
            expect_exact(*make_random(r, seed));
        }
}

TEST(Poisson, IsolatedCellsAreSolvedExactly)
{
    expect_exact(*make_random({Vec3i(-8, -8, -8), Vec3i(8, 8, 0), 0.6f, 0, 0.5f}, 41));
}

TEST(Poisson, PairsOfCellsInClosedPocketsAreSolvedExactly)
{
    // Pairs within a block, across blocks and across tiles, all without a free surface.
    PoissonProblem problem(Topology::covering(Vec3i(-8, -8, -8), Vec3i(8, 8, 8)));
    for (const int x : {-7, -6, -4, 0, 3, 5}) problem.set_face(Vec3i(x, 2 * x % 7, 1), 0, 0.7f);
    problem.finish();
    set_random_b(problem, 3);
    ASSERT_GE(PlainSystem(problem).closed_count(), 5u);
    expect_exact(problem);
}

TEST(Poisson, EmptySystemsHaveZeroSolution)
{
    PoissonSolver solver;
    Field<double> x;
    const Topology nothing;
    PoissonMatrix matrix;
    matrix.reset(nothing);
    solver.set_matrix(matrix);
    EXPECT_TRUE(solver.solve(Field<float>(nothing, 0), x, 1e-6).converged);

    const Topology tiles = Topology::covering(Vec3i(-8, -8, -8), Vec3i(8, 8, 8));
    matrix.reset(tiles);
    solver.set_matrix(matrix);
    const PoissonResult result = solver.solve(Field<float>(tiles, 1), x, 1e-6);
    EXPECT_TRUE(result.converged);
    EXPECT_EQ(result.iterations, 0);
    for (const double value : x.values()) ASSERT_EQ(value, 0);
}

TEST(Poisson, ZeroRightHandSideNeedsNoIteration)
{
    LiquidBox box(Vec3i(-8, -8, -8), Vec3i(8, 8, 8));
    box.fill_below([](const Vec3f&) { return 9.3f; });
    const auto problem = box.problem();
    Field<double> x;
    const PoissonResult result = solve(*problem, x, 1e-6);
    EXPECT_TRUE(result.converged);
    EXPECT_EQ(result.iterations, 0);
    for (const double value : x.values()) ASSERT_EQ(value, 0);
}

TEST(Poisson, SolverCanBeReusedForAnotherSystem)
{
    // The second system is smaller, has fewer levels, and must not see data of the first.
    const auto large = make_random({Vec3i(-20, -20, -20), Vec3i(20, 20, 20)}, 51);
    const auto small = make_random({Vec3i(1, 1, 1), Vec3i(7, 7, 7), 0.9f, 0.8f, 0.1f}, 52);
    Field<double> fresh, again, x;
    solve(*small, fresh, 1e-6);
    PoissonSolver solver;
    solver.set_matrix(large->matrix);
    solver.solve(large->b, x, 1e-6);
    solver.set_matrix(small->matrix);
    solver.solve(small->b, again, 1e-6);
    EXPECT_TRUE(same_bits(fresh, again));
}

// Largest error against a smooth solution on a grid of n cells per side: zero at y = 0, no flow through the other
// sides.
double manufactured_error(int n)
{
    const Vec3i min(-n / 2, -n / 2, -n / 2), max = min.array() + n;
    PoissonProblem problem(Topology::covering(min, max));
    const double h = 1.0 / n;
    const auto exact = [&](const Vec3i& c) {
        const Vec3d x = ((c - min).cast<double>().array() + 0.5) * h;
        return std::cos(kPi * x.x()) * std::sin(0.5 * kPi * x.y()) * std::cos(2 * kPi * x.z());
    };
    for_each_cell(min, max, [&](const Vec3i& c) {
        for (int a = 0; a < 3; ++a)
            if (c[a] > min[a]) problem.set_face(c, a, 1);
        if (c.y() == min.y()) problem.add_tie(c, 2); // the boundary is half a cell away
        value_at(problem.b, c) = static_cast<float>(h * h * (1 + 0.25 + 4) * kPi * kPi * exact(c));
    });
    problem.finish();
    Field<double> x;
    EXPECT_TRUE(solve(problem, x, 1e-7).converged);
    double worst = 0;
    for_each_cell(min, max, [&](const Vec3i& c) { worst = std::max(worst, std::abs(x.at(c) - exact(c))); });
    return worst;
}

TEST(Poisson, ErrorConvergesAtSecondOrder)
{
    const double coarse = manufactured_error(12), middle = manufactured_error(24), fine = manufactured_error(48);
    std::printf("largest error at 12, 24, 48 cells: %.3e %.3e %.3e\n", coarse, middle, fine);
    EXPECT_LT(coarse, 0.03);
    EXPECT_NEAR(std::log2(coarse / middle), 2, 0.15);
    EXPECT_NEAR(std::log2(middle / fine), 2, 0.1);
}

// Iterations to 1e-6 at the three sizes; also verifies each solution.
template <class Build> std::array<int, 3> count_iterations(const char* name, const Build& build)
{
    std::array<int, 3> counts{};
    for (size_t k = 0; k < counts.size(); ++k) {
        LiquidBox box(Vec3i(0, 0, 0), Vec3i::Constant(kSizes[k]));
        build(box);
        const auto problem = box.problem();
        set_random_b(*problem, 5);
        Field<double> x;
        const PoissonResult result = solve(*problem, x, 1e-6);
        EXPECT_TRUE(result.converged);
        counts[k] = result.iterations;
        if (k < 2) {
            EXPECT_LT(PlainSystem(*problem).relative_residual(x), 1.2e-6);
        }
    }
    std::printf("iterations at 32, 64, 96: %2d %2d %2d  %s\n", counts[0], counts[1], counts[2], name);
    return counts;
}

void expect_few(const std::array<int, 3>& counts, int most)
{
    for (const int n : counts) EXPECT_LE(n, most);
    EXPECT_LE(*std::max_element(counts.begin(), counts.end()), counts[0] + 2);
}

TEST(Poisson, FullTankTakesFewIterationsAtAnySize)
{
    expect_few(count_iterations("full, closed", [](LiquidBox&) {}), 15);
    expect_few(count_iterations("full, open at the top", fill_up), 15);
}

TEST(Poisson, HalfFullTankTakesFewIterationsAtAnySize) { expect_few(count_iterations("half full", fill_half), 15); }

TEST(Poisson, ThousandsOfBlobsTakeFewIterationsAtAnySize)
{
    expect_few(count_iterations("blobs", [](LiquidBox& box) { scatter_blobs(box, 1); }), 30);
}

TEST(Poisson, MazeOfThinWallsTakesFewIterationsAtAnySize)
{
    expect_few(count_iterations("maze of 8^3 rooms",
                                [](LiquidBox& box) {
                                    fill_up(box);
                                    build_maze(box, box.max.x() / 8, 2);
                                }),
               30);
    // More rooms make a longer maze, not a refined one.
    const auto more_rooms = [](LiquidBox& box) {
        fill_up(box);
        build_maze(box, 8, 2);
    };
    for (const int n : count_iterations("maze of rooms of 8 cells", more_rooms)) EXPECT_LE(n, 30);
}

TEST(Poisson, IterationsDoNotDependOnGridPosition)
{
    std::array<int, 3> iterations{}, levels{};
    const int corners[3] = {0, -16, 1024};
    for (size_t k = 0; k < 3; ++k) {
        const Vec3i min = Vec3i::Constant(corners[k]);
        LiquidBox box(min, min.array() + 32);
        box.fill_below([](const Vec3f&) { return 20.3f; });
        const auto problem = box.problem();
        Random random(5);
        for_each_cell(min, min.array() + 32, [&](const Vec3i& c) { value_at(problem->b, c) = random.uniform(-1, 1); });
        PoissonSolver solver;
        solver.set_matrix(problem->matrix);
        Field<double> x;
        iterations[k] = solver.solve(problem->b, x, 1e-6).iterations;
        levels[k] = solver.level_count();
    }
    for (size_t k = 1; k < 3; ++k) {
        EXPECT_NEAR(iterations[k], iterations[0], 1) << "from cell " << corners[k];
        EXPECT_NEAR(levels[k], levels[0], 2) << "from cell " << corners[k];
    }
}

TEST(Poisson, ReportedResidualIsTheTrueResidual)
{
    LiquidBox half(Vec3i::Constant(-16), Vec3i::Constant(16)), blobs(Vec3i::Zero(), Vec3i::Constant(48));
    half.fill_below([](const Vec3f& x) { return 16 + 3 * std::sin(0.3f * x.x()); });
    scatter_blobs(blobs, 4);
    std::vector<std::unique_ptr<PoissonProblem>> problems;
    problems.push_back(half.problem()), problems.push_back(blobs.problem());
    for (const auto& p : problems) set_random_b(*p, 9);
    problems.push_back(make_random({Vec3i(-12, -12, -12), Vec3i(12, 12, 12), 0.7f, 0.7f, 0.02f}, 61));
    for (const auto& p : problems) {
        const PlainSystem system(*p);
        for (const double tolerance : {1e-2, 1e-4, 1e-6}) {
            Field<double> x;
            const PoissonResult result = solve(*p, x, tolerance);
            EXPECT_LE(result.relative_residual, tolerance);
            EXPECT_NEAR(system.relative_residual(x) / result.relative_residual, 1, 0.2) << tolerance;
        }
    }
}

TEST(Poisson, RunningOutOfIterationsIsReported)
{
    const auto problem = make_random({Vec3i(-12, -12, -12), Vec3i(12, 12, 12)}, 71);
    PoissonSolver solver;
    solver.set_matrix(problem->matrix);
    Field<double> x;
    const PoissonResult result = solver.solve(problem->b, x, 1e-6, 3);
    EXPECT_FALSE(result.converged);
    EXPECT_EQ(result.iterations, 3);
    EXPECT_GT(result.relative_residual, 1e-6);
    EXPECT_NEAR(PlainSystem(*problem).relative_residual(x) / result.relative_residual, 1, 0.2);
}

TEST(Poisson, SameBitsForAnyNumberOfThreads)
{
    LiquidBox box(Vec3i::Constant(-24), Vec3i::Constant(24));
    scatter_blobs(box, 6);
    const auto problem = box.problem();
    set_random_b(*problem, 8);
    Field<double> reference;
    with_threads(1, [&] { solve(*problem, reference, 1e-5); });
    for (const int threads : {2, 7}) {
        Field<double> x;
        with_threads(threads, [&] { solve(*problem, x, 1e-5); });
        EXPECT_TRUE(same_bits(reference, x)) << threads << " threads";
    }
}

} // namespace
} // namespace spindrift
