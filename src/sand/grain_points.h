// Grains to look at (document 000, section 5.6): points in the ellipsoids of sand particles. Where a grain lies in its
// ellipsoid follows from the particle's id alone, so that it moves and is stretched with it from frame to frame, in any
// order of particles. Particles that dense sand surrounds on all sides cannot be seen and get no grains.
//
// Weak where particles split or merge: one of the two keeps its grains, the others are drawn anew.
#pragma once

#include "sand/params.h"
#include "sand/sand_grid.h"

namespace spindrift {

struct GrainPoints {
    std::vector<Vec3f> positions, colors;
    std::vector<Vec3f> normals; // outwards by the gradient of density, and some at random; shorter in thin clouds
    float radius = 0;           // of a grain [m]
};

// `each` is how many grains a particle of full mass has. Particles need what Grains gives them.
GrainPoints sample_grains(Particles particles, const std::vector<SandMaterialParams>& materials, float voxel, int each,
                          uint64_t seed);

} // namespace spindrift
