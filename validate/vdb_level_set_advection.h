// OpenVDB's own level-set advection, for comparison with tracked surfaces.
#pragma once

#include "spindrift/mesh/mesh.h"

// A ball of radius 0.15 at (0.35, 0.35, 0.35), forth and back in the deformation field of [LeVeque 1996]: the mesh that
// OpenVDB makes of it. `steps` is the number of steps that it took.
spindrift::Mesh vdb_deformed_ball(float voxel, size_t& steps);
