#include "turbulence/solid_distance.h"

namespace spindrift {

void SolidDistance::set(const Field<float>* distance, const Topology& topology, float voxel)
{
    any_ = distance != nullptr && topology.tile_count() > 0;
    voxel_ = voxel;
    if (!any_) return;
    field_.reset_uninitialized(topology, distance->background());
    for_each_tile(topology, [&](int t) { std::copy_n(distance->tile(t), kTileCells, field_.tile(t)); });
}

float SolidDistance::at_cell(const Vec3i& cell, const Vec3i& home, Sampler& sampler) const
{
    const Topology& topology = field_.topology();
    Topology::Cell found = sampler.cell_at(cell.cast<float>().array() + 0.5f);
    if (found.tile == topology.tile_count()) {
        const Vec3i low = home * kTileSize, high = low.array() + (kTileSize - 1);
        found = sampler.cell_at(cell.cwiseMax(low).cwiseMin(high).cast<float>().array() + 0.5f);
    }
    return found.tile == topology.tile_count() ? kInfinity : field_.tile(found.tile)[found.offset];
}

Distance SolidDistance::at(const Vec3f& x, float near, Sampler& sampler) const
{
    const Vec3i home = tile_of_cell(cell_of(x));
    return spline_distance(x / voxel_, voxel_,
                           [&](const Vec3i& cell) { return std::min(at_cell(cell, home, sampler), far(near)); });
}

bool SolidDistance::Patch::gather(const SolidDistance& solids, const Vec3f& low, const Vec3f& high, float near)
{
    if (!solids.any_) return false;
    voxel_ = solids.voxel_;
    first_ = solids.cell_of(low).array() - 2, size_ = solids.cell_of(high).array() + 3 - first_.array();
    values_.clear();
    Sampler sampler = solids.sampler();
    const Vec3i home = tile_of_cell(solids.cell_of(0.5f * (low + high)));
    float least = kInfinity;
    for (int x = 0; x < size_.x(); ++x)
        for (int y = 0; y < size_.y(); ++y)
            for (int z = 0; z < size_.z(); ++z) {
                values_.push_back(std::min(solids.at_cell(first_ + Vec3i(x, y, z), home, sampler), solids.far(near)));
                least = std::min(least, values_.back());
            }
    return least < near;
}

Distance SolidDistance::Patch::at(const Vec3f& x) const
{
    return spline_distance(x / voxel_, voxel_, [&](const Vec3i& cell) { return get(cell); });
}

} // namespace spindrift
