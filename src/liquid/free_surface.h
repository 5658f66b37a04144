// Where the liquid is: a signed distance at cell centres, in cells, from the particles.
//
// The centre of mass of the particles around a point, weighted as in document 001 (4.5), lies below a flat surface by an
// amount that depends only on the point's distance from it. Inverting that relation turns the centre's offset into a
// distance that is exact for a flat surface and does not depend on how densely the particles lie. Near solids, where the
// missing particles behind the wall would look like a free surface, the distance is continued from farther inside.
#pragma once

#include "liquid/solids.h"
#include "points/sort.h"

namespace spindrift {

// Distances are known up to this many cells to either side; farther in or out it is this value.
constexpr float kSurfaceBand = 1.5f;

void distance_to_surface(const Particles& particles, const ParticleIndex& index, const Topology& topology, float voxel,
                         const SolidCells& solids, Field<float>& phi);

} // namespace spindrift
