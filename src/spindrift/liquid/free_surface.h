// A signed distance to the liquid's surface at cell centres, in cells, from the particles.
//
// The share of the volume around a point that particles fill, weighted with the kernel of [Zhu 2005, (4.5)], depends
// for a flat surface only on the point's distance from it. Inverting this relation turns the share into a distance that
// is exact for a flat surface. Only volume outside solids counts, so that a wall does not look like a free surface, and
// the contribution of a cell is limited to its fill, so that clumps of particles do not matter.
#pragma once

#include "spindrift/points/sort.h"
#include "spindrift/world/solids.h"

namespace spindrift {

// Distances are known up to this many cells to either side; beyond, they are clamped to this value.
constexpr float kSurfaceBand = 1.5f;

// `counts`, if not null and there are sheets, receives the number of particles that belong to each cell of the tiles
// near one (Sight::home).
void distance_to_surface(const Particles& particles, const ParticleIndex& index, const Topology& topology, float voxel,
                         const SolidCells& solids, Field<float>& phi, Field<float>* counts = nullptr);

} // namespace spindrift
