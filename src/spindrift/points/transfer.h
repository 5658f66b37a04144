// Velocity from particles to the faces of the grid and back: PIC (Harlow 1964), FLIP (Zhu and Bridson 2005, document
// 001 chapter 3; document 003 equations 2.11, 2.20, 2.21) and APIC (Jiang et al. 2015).
//
// To the grid, particles of one cell are summed in registers and added to a block around the tile; blocks are added to
// the fields in eight colours of tiles that cannot touch each other. The order of all additions is fixed by the sorting
// of the particles, so the result has the same bits for any number of threads.
#pragma once

#include "spindrift/field/mac.h"
#include "spindrift/points/sort.h"

namespace spindrift {

enum class Transfer { pic, flip, apic };

// Names of the three attributes that hold the rows of APIC's velocity gradient [1/s].
constexpr const char* kAffine[3] = {"affine_x", "affine_y", "affine_z"};

// (2.11): the weighted mean of nearby particle velocities at each face; `weight` receives the sum of weights, zero
// where no particle is near. Particles must be sorted by `index`, and the topology reach one cell around them. With
// `sight`, here and below, particles have to do only with faces that they see.
void to_grid(const Particles& particles, const ParticleIndex& index, const Topology& topology, float voxel,
             Transfer transfer, MacField& velocity, MacField& weight, const Sight* sight = nullptr);

// (2.20): the new velocity of each particle from the grid's; `before` is the grid's velocity as to_grid() left it (used
// by FLIP), `flip` the share of FLIP in its blend with PIC.
void to_particles(const MacField& velocity, const MacField& before, Transfer transfer, float flip,
                  const ParticleIndex& index, float voxel, Particles& particles, const Sight* sight = nullptr);

// How far a particle may move in one call of advect(), in cells.
constexpr float kMaxAdvectionCells = 5;

// (2.21): moves particles through the velocity by a Runge-Kutta method of the given order (2 or 3).
void advect(Particles& particles, const ParticleIndex& index, const MacField& velocity, float voxel, float dt,
            int order, const Sight* sight = nullptr);

// Positions of eight particles in cells, relative to their tile.
inline Row3 places_in_tile(const Vec3f* position, size_t count, float inverse_voxel, const Vec3f& first_cell)
{
    const Row3 p = load_row3(position, count);
    return {p.x * inverse_voxel - first_cell.x(), p.y * inverse_voxel - first_cell.y(),
            p.z * inverse_voxel - first_cell.z()};
}

// Calls body(first, count) for the particles of a tile, up to eight at a time.
template <class Body> inline void for_each_eight(const ParticleIndex& index, int tile, const Body& body)
{
    for (size_t i = index.tile_begin(tile), end = index.tile_end(tile); i < end; i += kTileSize)
        body(i, std::min<size_t>(kTileSize, end - i));
}

} // namespace spindrift
