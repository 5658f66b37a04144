// A velocity on the faces of cells (Harlow and Welch 1965): component a of cell (i, j, k) lies at the centre of the cell's
// lower face along axis a. Positions in this room are in cells: world position divided by the edge of a cell.
#pragma once

#include "field/block.h"

namespace spindrift {

struct MacField {
    Field<float> u[3];

    void reset(const Topology& topology, float value)
    {
        for (auto& component : u) component.reset(topology, value);
    }
    void copy_from(const MacField& other)
    {
        for (int a = 0; a < 3; ++a) u[a].copy_from(other.u[a]);
    }
    size_t bytes() const { return u[0].bytes() + u[1].bytes() + u[2].bytes(); }
};

// The eight faces around a point and their trilinear weights, for one component; positions relative to a tile.
struct FaceWeights {
    int x, y, z;       // lower corner
    float fx, fy, fz;  // share of the upper side

    FaceWeights(const Vec3f& position, int axis)
    {
        const float px = position.x() - (axis == 0 ? 0.0f : 0.5f);
        const float py = position.y() - (axis == 1 ? 0.0f : 0.5f);
        const float pz = position.z() - (axis == 2 ? 0.0f : 0.5f);
        x = floor_int(px), y = floor_int(py), z = floor_int(pz);
        fx = px - static_cast<float>(x), fy = py - static_cast<float>(y), fz = pz - static_cast<float>(z);
    }
};

template <int H> struct MacBlock {
    Block<float, H> u[3];

    void gather(const MacField& field, int tile, Margin margin)
    {
        for (int a = 0; a < 3; ++a) u[a].gather(field.u[a], tile, margin);
    }

    float sample(int axis, const FaceWeights& w) const
    {
        using B = Block<float, H>;
        const float* p = u[axis].data + B::index(w.x, w.y, w.z);
        const auto row = [&](const float* q) { return mix(q[0], q[1], w.fz); };
        const float low = mix(row(p), row(p + B::kStrideY), w.fy);
        const float high = mix(row(p + B::kStrideX), row(p + B::kStrideX + B::kStrideY), w.fy);
        return mix(low, high, w.fx);
    }
    // Trilinear velocity at a position relative to the tile, which must lie within the block less one cell.
    Vec3f sample(const Vec3f& position) const
    {
        return {sample(0, FaceWeights(position, 0)), sample(1, FaceWeights(position, 1)),
                sample(2, FaceWeights(position, 2))};
    }
};

// Gives every face a velocity that lies within `layers` cells of a known one: the mean of its known neighbours, layer by
// layer. `known` holds a positive number at known faces and zero elsewhere; faces that get a value become known.
void extrapolate(MacField& velocity, MacField& known, int layers);

} // namespace spindrift
