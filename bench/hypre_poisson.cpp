// hypre's PFMG-preconditioned CG on the same cube, split between two MPI ranks. Prints the seconds of the fastest run.
#include <HYPRE_struct_ls.h>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <mpi.h>
#include <vector>

namespace {

double solve_once(int n, int rank, int ranks)
{
    HYPRE_Int lower[3] = {0, 0, rank * n / ranks}, upper[3] = {n - 1, n - 1, (rank + 1) * n / ranks - 1};
    const size_t count = static_cast<size_t>(n) * n * (upper[2] - lower[2] + 1);
    std::vector<double> b(count), zero(count, 0.0), values(count * 7);
    unsigned seed = 1u + static_cast<unsigned>(rank);
    for (double& v : b) v = (seed = seed * 1664525u + 1013904223u, seed / 4294967296.0 - 0.5);
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();

    HYPRE_StructGrid grid;
    HYPRE_StructGridCreate(MPI_COMM_WORLD, 3, &grid);
    HYPRE_StructGridSetExtents(grid, lower, upper);
    HYPRE_StructGridAssemble(grid);
    HYPRE_StructStencil stencil;
    HYPRE_StructStencilCreate(3, 7, &stencil);
    HYPRE_Int offsets[7][3] = {{0, 0, 0}, {-1, 0, 0}, {1, 0, 0}, {0, -1, 0}, {0, 1, 0}, {0, 0, -1}, {0, 0, 1}};
    for (int e = 0; e < 7; ++e) HYPRE_StructStencilSetElement(stencil, e, offsets[e]);
    HYPRE_StructMatrix matrix;
    HYPRE_StructMatrixCreate(MPI_COMM_WORLD, grid, stencil, &matrix);
    HYPRE_StructMatrixInitialize(matrix);
    size_t k = 0;
    for (int z = lower[2]; z <= upper[2]; ++z)
        for (int y = 0; y < n; ++y)
            for (int x = 0; x < n; ++x) {
                values[k++] = 6;
                values[k++] = x > 0 ? -1 : 0, values[k++] = x < n - 1 ? -1 : 0;
                values[k++] = y > 0 ? -1 : 0, values[k++] = y < n - 1 ? -1 : 0;
                values[k++] = z > 0 ? -1 : 0, values[k++] = z < n - 1 ? -1 : 0;
            }
    HYPRE_Int entries[7] = {0, 1, 2, 3, 4, 5, 6};
    HYPRE_StructMatrixSetBoxValues(matrix, lower, upper, 7, entries, values.data());
    HYPRE_StructMatrixAssemble(matrix);
    HYPRE_StructVector rhs, x;
    HYPRE_StructVectorCreate(MPI_COMM_WORLD, grid, &rhs);
    HYPRE_StructVectorCreate(MPI_COMM_WORLD, grid, &x);
    HYPRE_StructVectorInitialize(rhs);
    HYPRE_StructVectorInitialize(x);
    HYPRE_StructVectorSetBoxValues(rhs, lower, upper, b.data());
    HYPRE_StructVectorSetBoxValues(x, lower, upper, zero.data());
    HYPRE_StructVectorAssemble(rhs);
    HYPRE_StructVectorAssemble(x);

    HYPRE_StructSolver pcg, pfmg;
    HYPRE_StructPCGCreate(MPI_COMM_WORLD, &pcg);
    HYPRE_StructPCGSetTol(pcg, 1e-6);
    HYPRE_StructPCGSetMaxIter(pcg, 200);
    HYPRE_StructPCGSetTwoNorm(pcg, 1);
    HYPRE_StructPFMGCreate(MPI_COMM_WORLD, &pfmg);
    HYPRE_StructPFMGSetMaxIter(pfmg, 1);
    HYPRE_StructPFMGSetTol(pfmg, 0);
    HYPRE_StructPFMGSetZeroGuess(pfmg);
    HYPRE_StructPFMGSetRelaxType(pfmg, 2); // red-black Gauss-Seidel, the fastest here
    HYPRE_StructPFMGSetNumPreRelax(pfmg, 1);
    HYPRE_StructPFMGSetNumPostRelax(pfmg, 1);
    HYPRE_StructPCGSetPrecond(pcg, HYPRE_StructPFMGSolve, HYPRE_StructPFMGSetup, pfmg);
    HYPRE_StructPCGSetup(pcg, matrix, rhs, x);
    HYPRE_StructPCGSolve(pcg, matrix, rhs, x);
    MPI_Barrier(MPI_COMM_WORLD);
    const double seconds = MPI_Wtime() - start;

    HYPRE_StructPFMGDestroy(pfmg);
    HYPRE_StructPCGDestroy(pcg);
    HYPRE_StructVectorDestroy(x);
    HYPRE_StructVectorDestroy(rhs);
    HYPRE_StructMatrixDestroy(matrix);
    HYPRE_StructStencilDestroy(stencil);
    HYPRE_StructGridDestroy(grid);
    return seconds;
}

} // namespace

int main(int argc, char** argv)
{
    MPI_Init(&argc, &argv);
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int n = argc > 1 ? std::atoi(argv[1]) : 96, runs = argc > 2 ? std::atoi(argv[2]) : 3;
    double best = 1e9;
    for (int i = 0; i < runs; ++i) best = std::min(best, solve_once(n, rank, ranks));
    if (rank == 0) std::printf("%.6f\n", best);
    MPI_Finalize();
    return 0;
}
