// FLIP velocities at walls.
#pragma once

#include "spindrift/points/transfer.h"
#include "spindrift/world/solids.h"

namespace spindrift {

// Gives particles within a cell of a solid the grid's velocity towards it, blended to their own over that cell.
//
// FLIP lets a particle keep its deviation from the grid's velocity. At a wall the deviation cannot decay: the grid
// stops the particle, so it neither moves nor hits the wall, and inflowing liquid changes the grid's velocity in every
// step, which accumulates on the particles there. Tangential velocity stays the particle's own.
void meet_walls(const MacField& velocity, const ParticleIndex& index, const SolidCells& solids, float voxel,
                Particles& particles);

} // namespace spindrift
