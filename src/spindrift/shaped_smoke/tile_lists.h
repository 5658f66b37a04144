// For each tile, the particles whose boxes of cells overlap it, in order of their indices. A kernel of any size is then
// splatted without conflicts: each tile adds up the contributions of its own list, in an order that does not depend on
// threads.
#pragma once

#include "spindrift/points/sort.h"

#include <span>

namespace spindrift {

class TileLists {
  public:
    // Spheres around `centers` [m] of a radius each [m].
    void build(const Topology& topology, float voxel, std::span<const Vec3f> centers, std::span<const float> radii);
    // All of one radius.
    void build(const Topology& topology, float voxel, std::span<const Vec3f> centers, float radius);

    std::span<const uint32_t> of(int tile) const
    {
        return {entries_.data() + first_[tile], first_[tile + 1] - first_[tile]};
    }

  private:
    template <class Radius>
    void build_with(const Topology& topology, float voxel, std::span<const Vec3f> centers, const Radius& radius);

    std::vector<size_t> first_; // per tile, followed by the total
    std::vector<uint32_t> entries_;
    std::vector<uint32_t> counts_; // per chunk of particles and tile
};

} // namespace spindrift
