// Inner loop of the synthesis: weighted sums of the noise particles' eddies at the 512 samples of a tile.
#pragma once

#include "spindrift/turbulence/waves.h"

namespace spindrift {

// Sample positions of a tile.
struct SampleGrid {
    Vec3f first;             // [m]
    float voxel;             // [m]
    int averaged_along = -1; // axis along which velocity is averaged over a voxel; -1: none

    // `place` is the position of a sample within its cell.
    SampleGrid(const Vec3i& tile, float edge, const Vec3f& place)
        : first(edge * ((tile * kTileSize).cast<float>() + place)), voxel(edge)
    {
    }
    Vec3f last() const { return first.array() + (kTileSize - 1) * voxel; }
};

struct Eddy {
    Vec3f center;
    float presence, reach; // [m]
};

// w = presence (1 - r^2 / reach^2)^2; V is the vector potential, summed over octaves.
struct EddySums {
    alignas(64) float curl[3][kTileCells];      // w curl V + grad w x V
    alignas(64) float potential[3][kTileCells]; // w V
    alignas(64) float slope[3][kTileCells];     // w grad w
    alignas(64) float square[kTileCells];       // w^2

    void clear() { std::memset(static_cast<void*>(this), 0, sizeof *this); }
    void add(const Eddy& eddy, std::span<const Waves> octaves, const SampleGrid& grid);
};

} // namespace spindrift
