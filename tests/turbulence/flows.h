// Analytic flows and measurements on them.
#pragma once

#include "field/dense.h"
#include "spindrift/turbulence/turbulence.h"

#include <functional>
#include <gtest/gtest.h>

namespace spindrift {

struct FormulaFlow {
    Topology topology;
    float voxel;
    MacField velocity;
    Field<float> solids;
    bool has_solids = false;

    FormulaFlow(const Vec3i& low, const Vec3i& high, float edge) : topology(Topology::covering(low, high)), voxel(edge)
    {
        velocity.reset(topology, 0);
    }
    FormulaFlow(const FormulaFlow&) = delete;

    Vec3f center(const Vec3i& cell) const { return voxel * (cell.cast<float>().array() + 0.5f).matrix(); }
    // Velocity [m/s] at a position [m].
    void set_velocity(const std::function<Vec3f(const Vec3f&)>& formula)
    {
        for (int a = 0; a < 3; ++a)
            for_each_value(velocity.u[a], [&](const Vec3i& cell, float& u) {
                u = formula(center(cell) - 0.5f * voxel * Vec3f::Unit(a))[a];
            });
    }
    void set_solids(const std::function<float(const Vec3f&)>& distance)
    {
        solids.reset(topology, 0), has_solids = true;
        for_each_value(solids, [&](const Vec3i& cell, float& d) { d = distance(center(cell)); });
    }
    Flow flow() const { return {velocity, voxel, has_solids ? &solids : nullptr, nullptr, nullptr}; }
    Vec3f random_point(Random& random, const Vec3f& low, const Vec3f& high) const
    {
        Vec3f x;
        for (int a = 0; a < 3; ++a) x[a] = random.uniform(low[a], high[a]);
        return x;
    }
};

inline double total(const Field<float>& field)
{
    double sum = 0;
    for (const float v : field.values()) sum += static_cast<double>(v);
    return sum;
}

} // namespace spindrift
