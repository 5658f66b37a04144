// Points and goals for tests of the correspondence between control particles and targets.
#pragma once

#include "shaped_smoke/assignment.h"
#include "spindrift/base/random.h"
#include "spindrift/shaped_smoke/correspondence.h"

namespace spindrift {

// Points in the unit cube, goals in the same one shifted along x, assigned at random.
struct RandomMatching {
    std::vector<Vec3f> P, goals;
    std::vector<int32_t> target;

    RandomMatching(size_t count, float shift, uint64_t seed) : target(count)
    {
        Random random(seed);
        const auto point = [&] {
            const float x = random.uniform(), y = random.uniform(), z = random.uniform();
            return Vec3f(x, y, z);
        };
        for (size_t i = 0; i < count; ++i) P.push_back(point()), goals.push_back(point() + shift * Vec3f::UnitX());
        assign_randomly(target, hash64(seed));
    }
    double energy() const { return matching_energy(P, goals, target); }
    // Of the best assignment. Cubic in the number of points.
    double optimum() const
    {
        std::vector<std::vector<double>> cost(P.size(), std::vector<double>(P.size()));
        for (size_t i = 0; i < P.size(); ++i)
            for (size_t j = 0; j < P.size(); ++j) cost[i][j] = static_cast<double>((P[i] - goals[j]).squaredNorm());
        return least_assignment_cost(cost);
    }
};

} // namespace spindrift
