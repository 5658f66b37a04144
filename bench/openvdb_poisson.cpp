#include "bench.h"

#include "spindrift/base/random.h"

#include <openvdb/openvdb.h>
#include <openvdb/tools/PoissonSolver.h>

namespace spindrift {

double openvdb_poisson_seconds(int size, int runs)
{
    openvdb::initialize();
    openvdb::FloatTree source(0.0f);
    for (int x = 0; x < size; ++x)
        for (int y = 0; y < size; ++y)
            for (int z = 0; z < size; ++z)
                source.setValue({x, y, z},
                                Random(1, static_cast<uint64_t>((x * size + y) * size + z)).uniform() - 0.5f);
    return best_seconds(runs, [&] {
        auto state = openvdb::math::pcg::terminationDefaults<double>();
        state.iterations = 1000;
        state.relativeError = 1e-6;
        state.absoluteError = 0;
        const auto result = openvdb::tools::poisson::solve(source, state, true);
        if (result->activeVoxelCount() == 0) std::abort();
    });
}

} // namespace spindrift
