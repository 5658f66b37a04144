// Sorting particles into the tiles and cells of a grid.
#pragma once

#include "spindrift/field/tiles.h"
#include "spindrift/points/particles.h"

namespace spindrift {

// Cell that contains a position [m].
inline Vec3i cell_of(const Vec3f& position, float inverse_voxel)
{
    const Vec3f p = position * inverse_voxel;
    return {floor_int(p.x()), floor_int(p.y()), floor_int(p.z())};
}

// Tiles that contain a particle or come within `reach` cells (at most 8) of a cell with one.
Topology tiles_around(const Particles& particles, float voxel, int reach);

// Particle ranges per tile and cell after sort_by_tile(), which orders particles by tile, then by cell within the tile.
class ParticleIndex {
  public:
    size_t tile_begin(int tile) const { return first_[tile]; }
    size_t tile_end(int tile) const { return first_[tile + 1]; }
    bool tile_empty(int tile) const { return tile_begin(tile) == tile_end(tile); }
    size_t cell_begin(int tile, int offset) const { return cell_first_.tile(tile)[offset]; }
    size_t cell_end(int tile, int offset) const { return cell_first_.tile(tile)[offset + 1]; }
    // Index of the first particle of each cell of a tile, with one entry more: a cell ends where the next one begins. A
    // missing tile has no particles.
    const uint32_t* cell_first(int tile) const { return cell_first_.tile(tile); }
    // Memory of a vector for each particle that only sorting uses; its values are unspecified.
    std::vector<Vec3f>& spare() { return spare_; }
    size_t bytes() const;

  private:
    friend void sort_by_tile(Particles&, const Topology&, float, ParticleIndex&);
    std::vector<uint32_t> first_; // per tile, followed by the total
    Field<uint32_t> cell_first_;
    std::vector<uint32_t> order_; // working memory
    std::vector<Vec3f> spare_;
};

// Stable, parallel, and the same for any number of threads. Every particle must lie in a tile of the topology.
void sort_by_tile(Particles& particles, const Topology& topology, float voxel, ParticleIndex& index);

} // namespace spindrift
