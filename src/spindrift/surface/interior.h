// Finds cells so deep in the liquid that their particles can be skipped.
//
// Particles are counted in bins as large as the simulation's cells. A bin counts as liquid when it holds a quarter of
// its nominal number, because FLIP leaves particles uneven; a cell is deep when all bins up to one or two bins away are
// liquid. This closes gaps smaller than a bin.
#pragma once

#include "spindrift/points/sort.h"

namespace spindrift {

// The deep cells of one tile, one bit per cell: row (x, y) is byte y of word x.
class InteriorMask {
  public:
    bool at(int offset) const { return words_[offset >> 6] >> (offset & 63) & 1; }
    uint32_t row(int x, int y) const { return words_[x] >> (8 * y) & 0xff; }
    bool any() const
    {
        return std::any_of(words_.begin(), words_.end(), [](uint64_t w) { return w != 0; });
    }
    bool all() const
    {
        return std::all_of(words_.begin(), words_.end(), [](uint64_t w) { return w == ~uint64_t(0); });
    }
    void set(int x, int y, int z) { words_[x] |= uint64_t(1) << (8 * y + z); }

  private:
    std::array<uint64_t, kTileSize> words_{};
};

class Interior {
  public:
    // `spacing` is the mean distance of particles in cells. Particles of mixed sizes count by their volumes, in cubes
    // of the spacing, but each for at most one bin.
    Interior(const ParticleIndex& index, const Topology& topology, float spacing,
             const std::vector<float>* volumes = nullptr);
    InteriorMask mask(int tile, int bins_away = 2) const;

  private:
    bool liquid(int tile, int x, int y, int z) const; // by bin, up to one tile beyond the tile
    const Topology* topology_;
    int bin_ = 1;                                         // edge in cells: 1, 2, 4 or 8
    std::vector<std::array<uint64_t, kTileSize>> liquid_; // as in the mask, with one bit per bin
};

} // namespace spindrift
