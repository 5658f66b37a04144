// A sparse set of grid cells, as flags on tiles: the levels of an octree are made of these.
#pragma once

#include "spindrift/field/tiles.h"

namespace spindrift {

// The cell of 2^levels times the edge that contains a cell.
inline Vec3i coarser(const Vec3i& cell, int levels = 1)
{
    return {cell.x() >> levels, cell.y() >> levels, cell.z() >> levels};
}

struct CellSet {
    std::unique_ptr<Topology> topology = std::make_unique<Topology>();
    Field<uint8_t> has; // 1 for cells of the set

    bool contains(const Vec3i& cell) const { return has.at(cell) != 0; }
    // The cells' bounds: first cell, and one past the last.
    std::pair<Vec3i, Vec3i> bounds() const;
};

// Sorted by tile and then by place in the tile; identifies a cell.
struct CellKey {
    uint64_t tile; // Morton code
    int offset;
    explicit CellKey(const Vec3i& cell) : tile(morton_of_tile(tile_of_cell(cell))), offset(offset_of_cell(cell)) {}
    bool operator==(const CellKey&) const = default;
    bool operator<(const CellKey& o) const { return tile < o.tile || (tile == o.tile && offset < o.offset); }
};

// From keys that are sorted by tile; duplicates are allowed.
CellSet cells_of(const std::vector<CellKey>& keys);
// All cells of a box, `last` not included; with tiles for the corners of each.
CellSet cells_of_box(const Vec3i& first, const Vec3i& last);
// The cells of twice the edge that contain them.
CellSet parents_of(const CellSet& cells);
// The cells of half the edge that they contain; with tiles for the corners of each.
CellSet children_of(const CellSet& cells);
// The cells and those next to them, across faces, edges and corners.
CellSet grown(const CellSet& cells);

} // namespace spindrift
