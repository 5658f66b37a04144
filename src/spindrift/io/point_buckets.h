// Groups particles by tile, the order in which VDB stores points. Internal to this folder.
#pragma once

#include "spindrift/base/math.h"

#include <span>
#include <vector>

namespace spindrift {

// The cell of a point and the position within it, each coordinate of `within` from -0.5 to 0.5. Computed in double, so
// that points far from the origin lose no more digits than their coordinates already have.
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
    std::vector<uint32_t> order; // particle indices; those of one tile keep the input order

    std::span<const uint32_t> members(size_t tile) const
    {
        return {order.data() + begin[tile], begin[tile + 1] - begin[tile]};
    }
};
// Throws Error(failed) for positions that are not finite or beyond the range of tile coordinates.
TileBuckets bucket_by_tile(const std::vector<Vec3f>& positions, float voxel);

} // namespace spindrift
