// How much of the grid rigid solids fill: the share of each cell, and of the box of a cell's size around the centre of
// each face (Batty et al. 2007). A body's force from a pressure that grows linearly is then that of its exact volume,
// wherever it stands between the cells; with the covered part of faces alone it would be off by half a layer of cells.
//
// Shares are means of up to 64 parts of a cell, in each of which the distance passes through zero over the part's
// width: exact for faces along the grid, and within two thousandths of the volume for balls and turned boxes of ten
// cells.
#pragma once

#include "spindrift/field/tiles.h"
#include "spindrift/world/rigid_solid.h"

namespace spindrift {

class RigidShares {
  public:
    // A tile of the topology that a solid has a share of.
    struct Tile {
        int tile;
        alignas(64) float cell[kTileCells];    // share of each cell, 0 to 1
        alignas(64) float face[3][kTileCells]; // share around each lower face
    };
    // Solids that touch share what they both fill: together they never fill more than all.
    void update(const Topology& topology, const std::vector<RigidSolid>& solids, float voxel);

    // The tiles of a solid, ascending.
    const std::vector<Tile>& tiles(size_t solid) const { return tiles_[solid]; }
    // The tiles that any solid has a share of, ascending.
    const std::vector<int>& touched() const { return touched_; }
    // A solid's share of a tile; nullptr if it has none.
    const Tile* find(size_t solid, int tile) const;
    // The shares of all solids that have one of a tile, in their order.
    std::vector<Tile*> at(int tile);
    size_t bytes() const;

  private:
    std::vector<std::vector<Tile>> tiles_; // of each solid
    std::vector<int> touched_;
};

} // namespace spindrift
