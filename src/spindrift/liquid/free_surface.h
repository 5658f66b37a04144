// Where the liquid is: a signed distance at cell centres, in cells, from the particles.
//
// The share of the space around a point that particles fill, weighted with the kernel of document 001 (4.5), depends
// for a flat surface only on the point's distance from it. Inverting that relation turns the share into a distance that
// is exact for a flat surface. Only space outside solids counts, so that a wall does not look like a free surface, and
// a cell counts for no more than its fill, so that clumps of particles do not matter.
#pragma once

#include "spindrift/points/sort.h"
#include "spindrift/world/solids.h"

namespace spindrift {

// Distances are known up to this many cells to either side; farther in or out it is this value.
constexpr float kSurfaceBand = 1.5f;

// `counts`, if asked for and there are sheets, receives how many particles belong to each cell of the tiles near one
// (Sight::home).
void distance_to_surface(const Particles& particles, const ParticleIndex& index, const Topology& topology, float voxel,
                         const SolidCells& solids, Field<float>& phi, Field<float>* counts = nullptr);

} // namespace spindrift
