// Splatting of particle contributions to the grid, in parallel and in an order that does not depend on threads.
#pragma once

#include "spindrift/field/row.h"
#include "spindrift/points/sort.h"

namespace spindrift {

// Sums for one tile: cells -1 to 8 along x and y, and along z rows long enough to add four values at any of them.
struct SplatBlock {
    static constexpr int kRow = 12, kSlab = 10 * kRow;
    alignas(64) float values[10 * kSlab];

    static int index(int x, int y, int z) { return (x + 1) * kSlab + (y + 1) * kRow + z + 1; }
    void clear() { std::memset(values, 0, sizeof values); }
    void add_to(Field<float>& field, int tile) const;
};

// Calls body(tile) for tiles with particles, one colour of the 2x2x2 chequerboard after the other: tiles of one colour
// are at least a tile apart, so their SplatBlocks never overlap.
template <class Body>
void for_each_tile_by_colour(const ParticleIndex& index, const Topology& topology, const Body& body)
{
    std::array<std::vector<int>, 8> colours;
    for (int t = 0; t < topology.tile_count(); ++t) {
        if (index.tile_empty(t)) continue;
        const Vec3i c = topology.tile(t);
        colours[(c.x() & 1) << 2 | (c.y() & 1) << 1 | (c.z() & 1)].push_back(t);
    }
    for (const auto& tiles : colours) parallel_for(tiles.size(), [&](size_t k) { body(tiles[k]); });
}

} // namespace spindrift
