// The solids that a liquid meets: colliders and the closed sides of the domain, as one signed distance (positive where
// liquid may be), and their share of the grid: how much of each cell face is open (Batty et al. 2007, Ng et al. 2009).
#pragma once

#include "field/tiles.h"
#include "liquid/params.h"

#include <unordered_map>

namespace spindrift {

class Solids {
  public:
    Solids(const DomainParams& domain, std::vector<Shape> colliders, float fps);

    void set_frame(float frame) { frame_ = frame; }
    // Distance [m] to the nearest solid, negative inside.
    float distance(const Vec3f& x) const;
    // Points away from the nearest solid.
    Vec3f normal(const Vec3f& x, float step) const;
    // Velocity [m/s] of the nearest solid.
    Vec3f velocity(const Vec3f& x) const;
    // The largest component of the velocity of any collider [m/s]; one that is unbounded takes the liquid along, and
    // does not count.
    float speed() const;
    bool moving() const { return moving_; }
    bool none() const { return walls_.empty() && colliders_.empty(); }
    // True where a particle has left through an open side.
    bool outside_open_side(const Vec3f& x) const;

  private:
    struct Side {
        int axis;
        float sign, at; // sign * (x[axis] - at) is positive inside the domain
    };
    std::vector<Side> walls_, open_sides_;
    std::vector<Shape> colliders_;
    float fps_, frame_ = 0;
    bool moving_ = false;
};

// What the solids leave open in one tile.
struct SolidTile {
    alignas(64) float open[3][kTileCells];  // area fraction of each lower face, 0 to 1
    alignas(64) float volume[kTileCells];   // open share of each cell
    alignas(64) float distance[kTileCells]; // at cell centres, in cells
};

// Place of a cell in the array that gather_volumes() fills; coordinates within the tile, from -1 to 8.
inline int volume_index(int x, int y, int z) { return ((x + 1) * 10 + y + 1) * 10 + z + 1; }

class SolidCells {
  public:
    // Finds the tiles near solids. Still solids are evaluated once per tile and remembered.
    void update(const Topology& topology, const Solids& solids, float voxel);

    // nullptr where no solid is near: every face is open.
    const SolidTile* tile(int index) const { return tiles_[static_cast<size_t>(index)]; }
    // Open fractions of the lower faces of a tile; closed where there is no tile.
    const float* open(int index, int axis) const
    {
        const SolidTile* t = tiles_[static_cast<size_t>(index)];
        return t ? t->open[axis] : all_open_;
    }
    // The open share of every cell of a tile and of one cell around it; false if all of it is open. See volume_index().
    bool gather_volumes(const Topology& topology, int tile, float volumes[1000]) const;
    size_t bytes() const { return stored_.size() * sizeof(SolidTile) + tiles_.capacity() * sizeof(void*); }

  private:
    SolidCells(const SolidCells&) = delete;
    std::vector<const SolidTile*> tiles_; // of each tile of the topology, and one for missing tiles
    std::unordered_map<uint64_t, std::unique_ptr<SolidTile>> stored_; // by Morton code; nullptr: no solid near
    std::unique_ptr<SolidTile> closed_;
    alignas(64) float all_open_[kTileCells];

  public:
    SolidCells();
};

} // namespace spindrift
