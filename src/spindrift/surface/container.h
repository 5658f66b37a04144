// The box that holds a liquid, for surface reconstruction.
#pragma once

#include "spindrift/field/tiles.h"
#include "spindrift/points/particles.h"

namespace spindrift {

// Adds the mirror images of the particles within `reach` of a wall, also in edges and corners, so that for every sample
// near a wall the liquid continues behind it. A side at infinity has no wall.
void add_mirror_images(Particles& particles, const Box3f& container, float reach);

// Fills gaps narrower than `width` (at most 4) between a wall and liquid that lies at least `depth` below its surface.
// Particles are sparse at walls, where their mirror images would double every gap and leave dents. All lengths in
// cells, including phi.
void fill_against_walls(Field<float>& phi, const Box3f& container, float voxel, float width, float depth);

// Positive outside; exact inside and along the faces.
inline float distance_to_box(const Vec3f& x, const Box3f& box)
{
    return std::max((box.min - x).maxCoeff(), (x - box.max).maxCoeff());
}

} // namespace spindrift
