// Velocity transfer between particles and grid: PIC [Harlow 1964], FLIP [Zhu 2005, chapter 3] in the formulation of
// [Jones 2018, (2.11), (2.20), (2.21)], and APIC [Jiang 2015].
//
// To the grid, the particles of one cell are summed in registers and added to a block around the tile; blocks are added
// to the fields in eight colours of tiles that cannot overlap. The order of all additions follows from the sort order
// of the particles, so results have the same bits for any number of threads.
//
//     to_grid(particles, index, topology, voxel, Transfer::flip, u, weight);
//     ... // change u, keeping a copy of the old one
//     to_particles(u, before, Transfer::flip, 0.97f, index, voxel, particles);
//     advect(particles, index, u, voxel, dt, 3);
#pragma once

#include "spindrift/field/mac.h"
#include "spindrift/points/sort.h"

namespace spindrift {

enum class Transfer { pic, flip, apic };

// Attributes that hold the three rows of APIC's velocity gradient [1/s].
constexpr const char* kAffine[3] = {"affine_x", "affine_y", "affine_z"};

// (2.11): velocity at each face as the weighted mean of nearby particles; `weight` receives the sum of weights, zero
// where no particle is near. Particles must be sorted by `index`, and the topology must extend one cell beyond them.
// With `sight`, here and below, particles interact only with faces that they see.
void to_grid(const Particles& particles, const ParticleIndex& index, const Topology& topology, float voxel,
             Transfer transfer, MacField& velocity, MacField& weight, const Sight* sight = nullptr);

// (2.20): new particle velocities. `before` is the grid velocity as to_grid() left it (used by FLIP); `flip` is the
// FLIP fraction of the PIC/FLIP blend.
void to_particles(const MacField& velocity, const MacField& before, Transfer transfer, float flip,
                  const ParticleIndex& index, float voxel, Particles& particles, const Sight* sight = nullptr);

// Maximum displacement of a particle in one call of advect() [cells].
constexpr float kMaxAdvectionCells = 5;

// (2.21): moves particles with a Runge-Kutta method of the given order (2 or 3).
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
