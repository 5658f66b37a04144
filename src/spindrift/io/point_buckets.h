// Particles grouped by the tile they lie in: the order in which VDB stores points. Internal to this folder.
#pragma once

#include "spindrift/base/math.h"

#include <span>
#include <vector>

namespace spindrift {

// The cell that a point lies in, and where in it: each coordinate of `within` from -0.5 to 0.5. In double precision, so
// that a point far from the origin does not lose more digits than its own coordinates have lost.
struct CellPoint {
    Vec3i cell;
    Vec3f within;
};
inline CellPoint cell_point(const Vec3f& position, double cells_per_metre)
{
    const Vec3d u = position.cast<double>() * cells_per_metre;
    const Vec3d corner(std::floor(u.x()), std::floor(u.y()), std::floor(u.z()));
    return {corner.cast<int>(), ((u - corner).array() - 0.5).cast<float>()};
}

struct TileBuckets {
    std::vector<Vec3i> tiles;
    std::vector<size_t> begin;   // tile t holds order[begin[t], begin[t + 1])
    std::vector<uint32_t> order; // indices of particles; those of one tile keep the order of the input

    std::span<const uint32_t> members(size_t tile) const
    {
        return {order.data() + begin[tile], begin[tile + 1] - begin[tile]};
    }
};
// Throws Error(failed) for positions that are not finite or out of the reach of tile coordinates.
TileBuckets bucket_by_tile(const std::vector<Vec3f>& positions, float voxel);

} // namespace spindrift
