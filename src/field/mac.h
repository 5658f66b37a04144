// A velocity on the faces of cells (Harlow and Welch 1965): component a of cell (i, j, k) lies at the centre of the
// cell's lower face along axis a. Positions in this room are in cells: world position divided by the edge of a cell.
#pragma once

#include "field/block.h"
#include "field/row.h"

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

// The faces around a point, for all three components at once: where in a block with margin H the lowest of the eight
// faces is, and the share of the upper side along each axis. The position is relative to the tile.
template <int H> struct FacesAround {
    int first[3];
    Quad fx, fy, fz; // one entry for each component

    explicit FacesAround(const Vec3f& position)
    {
        const Quad px = position.x() - Quad{0, 0.5f, 0.5f, 0}, py = position.y() - Quad{0.5f, 0, 0.5f, 0},
                   pz = position.z() - Quad{0.5f, 0.5f, 0, 0};
        const QuadInt x = floor(px), y = floor(py), z = floor(pz);
        fx = px - __builtin_convertvector(x, Quad), fy = py - __builtin_convertvector(y, Quad);
        fz = pz - __builtin_convertvector(z, Quad);
        constexpr int size = Block<float, H>::kSize;
        const QuadInt at = ((x + H) * size + (y + H)) * size + (z + H);
        first[0] = at[0], first[1] = at[1], first[2] = at[2];
    }

  private:
    static QuadInt floor(Quad x)
    {
        const QuadInt i = __builtin_convertvector(x, QuadInt);
        return i + (x < __builtin_convertvector(i, Quad)); // a true comparison is -1
    }
};

template <int H> struct MacBlock {
    Block<float, H> u[3];

    void gather(const MacField& field, int tile, Margin margin)
    {
        for (int a = 0; a < 3; ++a) u[a].gather(field.u[a], tile, margin);
    }

    // Trilinear velocity at a point, which must lie within the block less one cell.
    Vec3f sample(const FacesAround<H>& faces) const
    {
        // Along x for each component: (y0 z0, y0 z1, y1 z0, y1 z1); then, turned, along y and z for all components.
        const Quad a = along_x(0, faces), b = along_x(1, faces), c = along_x(2, faces);
        const Quad ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5),
                   ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
        const Quad y0z0 = __builtin_shufflevector(ab_low, c, 0, 1, 4, 4),
                   y0z1 = __builtin_shufflevector(ab_low, c, 2, 3, 5, 5);
        const Quad y1z0 = __builtin_shufflevector(ab_high, c, 0, 1, 6, 6),
                   y1z1 = __builtin_shufflevector(ab_high, c, 2, 3, 7, 7);
        const Quad value = mix(mix(y0z0, y1z0, faces.fy), mix(y0z1, y1z1, faces.fy), faces.fz);
        return {value[0], value[1], value[2]};
    }
    Vec3f sample(const Vec3f& position) const { return sample(FacesAround<H>(position)); }

  private:
    Quad along_x(int axis, const FacesAround<H>& faces) const
    {
        using B = Block<float, H>;
        const float* p = u[axis].data + faces.first[axis];
        const Quad low = load_pairs(p, p + B::kStrideY);
        const Quad high = load_pairs(p + B::kStrideX, p + B::kStrideX + B::kStrideY);
        return mix(low, high, splat_quad(faces.fx[axis]));
    }
};

// Gives every face a velocity that lies within `layers` cells of a known one: the mean of its known neighbours, layer
// by layer. `known` holds a positive number at known faces and zero elsewhere; faces that get a value become known.
void extrapolate(MacField& velocity, MacField& known, int layers);

} // namespace spindrift
