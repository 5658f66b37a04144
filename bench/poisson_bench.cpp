// The pressure solver against hypre's PFMG-PCG, Eigen's CG and OpenVDB's Poisson solver: the 7-point Laplacian on a
// cube with zero Dirichlet values, a random right-hand side, to a relative residual of 1e-6, set-up included. And its
// iteration counts on domains as liquids have them.
#include "bench.h"

#include "solvers/liquid_boxes.h"
#include "spindrift/base/error.h"

#include <Eigen/IterativeLinearSolvers>
#include <Eigen/SparseCore>
#include <cstdio>
#include <fmt/format.h>

namespace spindrift {

// In openvdb_poisson.cpp: seconds of the fastest of `runs`.
double openvdb_poisson_seconds(int size, int runs);

namespace {

constexpr double kTolerance = 1e-6;

double eigen_seconds(int n, int runs)
{
    using Matrix = Eigen::SparseMatrix<double, Eigen::RowMajor>;
    const auto index = [n](int x, int y, int z) { return (x * n + y) * n + z; };
    Eigen::VectorXd b(n * n * n);
    for (int i = 0; i < n * n * n; ++i) b[i] = Random(1, static_cast<uint64_t>(i)).uniform() - 0.5;
    Eigen::initParallel();
    return best_seconds(runs, [&] {
        Matrix a(n * n * n, n * n * n);
        a.reserve(Eigen::VectorXi::Constant(n * n * n, 7));
        for (int x = 0; x < n; ++x)
            for (int y = 0; y < n; ++y)
                for (int z = 0; z < n; ++z) {
                    const int i = index(x, y, z);
                    if (x > 0) a.insert(i, index(x - 1, y, z)) = -1;
                    if (y > 0) a.insert(i, index(x, y - 1, z)) = -1;
                    if (z > 0) a.insert(i, index(x, y, z - 1)) = -1;
                    a.insert(i, i) = 6;
                    if (z < n - 1) a.insert(i, index(x, y, z + 1)) = -1;
                    if (y < n - 1) a.insert(i, index(x, y + 1, z)) = -1;
                    if (x < n - 1) a.insert(i, index(x + 1, y, z)) = -1;
                }
        a.makeCompressed();
        Eigen::ConjugateGradient<Matrix, Eigen::Lower | Eigen::Upper> cg; // Jacobi-preconditioned
        cg.setTolerance(kTolerance);
        cg.compute(a);
        const Eigen::VectorXd x = cg.solve(b);
        if (!(x.norm() > 0)) fmt::print("Eigen failed\n");
    });
}

double spindrift_seconds(int n, int runs)
{
    PoissonProblem cube(Topology::covering(Vec3i::Zero(), Vec3i::Constant(n)));
    for_each_cell(Vec3i::Zero(), Vec3i::Constant(n), [&](const Vec3i& c) {
        for (int a = 0; a < 3; ++a) {
            if (c[a] > 0) cube.set_face(c, a, 1);
            if (c[a] == 0 || c[a] == n - 1) cube.add_tie(c, 1);
        }
    });
    cube.finish();
    for_each_value(cube.b, [&](const Vec3i& c, float& b) {
        b = Random(1, static_cast<uint64_t>((c.x() * n + c.y()) * n + c.z())).uniform() - 0.5f;
    });
    PoissonSolver solver;
    Field<double> x;
    return best_seconds(runs, [&] {
        solver.set_matrix(cube.matrix);
        const PoissonResult r = solver.solve(cube.b, x, kTolerance);
        if (!r.converged) fail("the solver stopped at a relative residual of {}", r.relative_residual);
    });
}

struct Kind {
    const char* title;
    int allowed;
    void (*build)(LiquidBox&);
};

double hypre_seconds(const std::string& folder, int n, int runs)
{
    const std::string command = fmt::format(
        "mpirun --allow-run-as-root --oversubscribe -np 2 {}/hypre_poisson {} {} 2>/dev/null", folder, n, runs);
    double seconds = -1;
    if (FILE* pipe = ::popen(command.c_str(), "r")) {
        if (std::fscanf(pipe, "%lf", &seconds) != 1) seconds = -1;
        ::pclose(pipe);
    }
    return seconds;
}

} // namespace

void bench_poisson(BenchTable& table, const std::string& program_folder)
{
    constexpr int n = 96, runs = 5;
    const double ours = spindrift_seconds(n, 2 * runs);
    table.add("Poisson 96x96x96 to 1e-6, set-up included", fmt::format("{:.1f} ms", 1e3 * ours));
    const double hypre = hypre_seconds(program_folder, n, runs);
    table.add("  hypre PFMG-PCG on two ranks", fmt::format("{:.0f} ms, {:.1f}x ours", 1e3 * hypre, hypre / ours),
              hypre / ours, at_least(3, "x ours"));
    const double eigen = eigen_seconds(n, 2);
    table.add("  Eigen CG", fmt::format("{:.0f} ms, {:.1f}x ours", 1e3 * eigen, eigen / ours), eigen / ours,
              at_least(20, "x ours"));
    const double vdb = openvdb_poisson_seconds(n, 2);
    table.add("  OpenVDB's Poisson solver", fmt::format("{:.0f} ms, {:.1f}x ours", 1e3 * vdb, vdb / ours), vdb / ours,
              at_least(10, "x ours"));

    const Kind kinds[] = {
        {"full tank", 15, fill_up},
        {"half-full tank", 15, fill_half},
        {"thousands of blobs", 30, [](LiquidBox& box) { scatter_blobs(box, 1); }},
        {"maze of thin solids", 30, [](LiquidBox& box) { fill_up(box), build_maze(box, box.max.x() / 8, 2); }}};
    for (const Kind& kind : kinds) {
        std::string counts;
        int most = 0;
        for (const int size : {32, 64, 128, 256}) {
            LiquidBox box(Vec3i::Zero(), Vec3i::Constant(size));
            kind.build(box);
            const auto problem = box.problem();
            set_random_b(*problem, 5);
            PoissonSolver solver;
            Field<double> x;
            solver.set_matrix(problem->matrix);
            const PoissonResult r = solver.solve(problem->b, x, kTolerance);
            counts += fmt::format("{}{}", counts.empty() ? "" : ", ", r.iterations);
            most = std::max(most, r.iterations);
        }
        table.add(fmt::format("iterations to 1e-6, {}, at 32, 64, 128, 256", kind.title), counts, most,
                  at_most(kind.allowed));
    }
}

} // namespace spindrift
