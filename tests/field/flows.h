// Flows with known solutions, for tests of advection.
#pragma once

#include "spindrift/field/advection.h"

namespace spindrift {

// Sets each face from a function of its position in cells.
template <class Velocity> void set_velocity(MacField& field, const Topology& topology, const Velocity& velocity)
{
    field.reset(topology, 0);
    for_each_tile(topology, [&](int tile) {
        const Vec3f first = topology.first_cell(tile).cast<float>();
        for (int a = 0; a < 3; ++a)
            for (int c = 0; c < kTileCells; ++c) {
                Vec3f x = first + cell_in_tile(c).cast<float>() + Vec3f::Constant(0.5f);
                x[a] -= 0.5f;
                field.u[a].tile(tile)[c] = velocity(x)[a];
            }
    });
}

// Sets each cell from a function of its centre in cells.
template <class Value> void set_values(Field<float>& field, const Topology& topology, const Value& value)
{
    field.reset(topology, 0);
    for_each_tile(topology, [&](int tile) {
        const Vec3f first = topology.first_cell(tile).cast<float>();
        for (int c = 0; c < kTileCells; ++c)
            field.tile(tile)[c] = value(first + cell_in_tile(c).cast<float>() + Vec3f::Constant(0.5f));
    });
}

// Rigid rotation in the xy plane about the middle of a square of `cells`; speed in radians per unit time.
struct Turning {
    float center, speed;
    Vec3f operator()(const Vec3f& x) const { return speed * Vec3f(center - x.y(), x.x() - center, 0); }
};

// Advects one cell-centred field by unit time steps.
inline void advect_steps(const MacField& velocity, Advection scheme, int steps, Field<float>& value)
{
    Carrier carrier;
    carrier.velocity = &velocity;
    carrier.cells = 1;
    Field<float> next;
    AdvectionScratch scratch;
    for (int step = 0; step < steps; ++step) {
        const AdvectedField field[] = {{Location::center, &value, &next}};
        advect(carrier, scheme, field, scratch);
        std::swap(value, next);
    }
}

// Slotted disc [Zalesak 1979] in the paper's proportions, on a square of `cells`: 1 inside.
inline float zalesak_disc(const Vec3f& x, float cells)
{
    const float u = x.x() / cells, v = x.y() / cells;
    const bool disc = (u - 0.5f) * (u - 0.5f) + (v - 0.75f) * (v - 0.75f) <= 0.15f * 0.15f;
    return disc && !(std::abs(u - 0.5f) < 0.025f && v < 0.85f) ? 1 : 0;
}

// Mean |difference| over one layer of cells of a square, relative to the mean of the exact values.
template <class Value> double relative_error(const Field<float>& value, int cells, const Value& exact)
{
    double off = 0, sum = 0;
    for (int x = 0; x < cells; ++x)
        for (int y = 0; y < cells; ++y) {
            const float there = exact(Vec3f(static_cast<float>(x) + 0.5f, static_cast<float>(y) + 0.5f, 0.5f));
            off += std::abs(value.at(Vec3i(x, y, 0)) - there), sum += std::abs(there);
        }
    return off / sum;
}

} // namespace spindrift
