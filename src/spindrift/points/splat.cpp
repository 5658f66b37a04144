#include "spindrift/points/splat.h"

namespace spindrift {

void SplatBlock::add_to(Field<float>& field, int tile) const
{
    const Topology& topology = field.topology();
    const int none = topology.tile_count();
    for (int x = -1; x <= kTileSize; ++x)
        for (int y = -1; y <= kTileSize; ++y) {
            const int dx = x < 0 ? -1 : x / kTileSize, dy = y < 0 ? -1 : y / kTileSize;
            const float* row = values + index(x, y, 0);
            const int offset = offset_in_tile(x & 7, y & 7, 0);
            if (const int t = topology.neighbour(tile, dx, dy, 0); t != none) {
                float* out = field.tile(t) + offset;
                store_row(out, load_row(out) + load_row_unaligned(row));
            }
            if (const int t = topology.neighbour(tile, dx, dy, -1); t != none) field.tile(t)[offset + 7] += row[-1];
            if (const int t = topology.neighbour(tile, dx, dy, 1); t != none) field.tile(t)[offset] += row[8];
        }
}

} // namespace spindrift
