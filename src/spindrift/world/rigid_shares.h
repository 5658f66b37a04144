// Volume fractions of rigid solids on the grid: of each cell, and of the cell-sized box around each face centre [Batty
// 2007]. The force of a linear pressure is then exact for the body's volume at any position relative to the grid. With
// area fractions of faces instead, a box ten cells high would float half a cell too deep or too high, and jump as it
// moves.
//
// A fraction is the mean over up to 64 parts of a cell; each part's fraction varies linearly with distance across its
// width. This is exact for faces along the grid, and within two thousandths of the volume for balls and rotated boxes
// of ten cells.
#pragma once

#include "spindrift/field/tiles.h"
#include "spindrift/world/rigid_solid.h"

namespace spindrift {

class RigidShares {
  public:
    // A tile of which a solid covers a part.
    struct Tile {
        int tile;
        alignas(64) float cell[kTileCells];    // fraction of each cell, 0 to 1
        alignas(64) float face[3][kTileCells]; // fraction of the box around each lower face
    };
    // Where solids overlap, their fractions are scaled to add up to 1.
    void update(const Topology& topology, const std::vector<RigidSolid>& solids, float voxel);

    // The tiles that a solid touches, ascending.
    const std::vector<Tile>& tiles(size_t solid) const { return tiles_[solid]; }
    // The tiles that any solid touches, ascending.
    const std::vector<int>& touched() const { return touched_; }
    // A solid's fractions in a tile; nullptr if it does not touch it.
    const Tile* find(size_t solid, int tile) const;
    // The fractions of all solids that touch a tile, in the order of the solids.
    std::vector<Tile*> at(int tile);
    size_t bytes() const;

  private:
    std::vector<std::vector<Tile>> tiles_; // per solid
    std::vector<int> touched_;
};

} // namespace spindrift
