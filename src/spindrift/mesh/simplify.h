// Fewer, larger triangles where a closed mesh is flat: edges are collapsed, the cheapest first (Garland and Heckbert
// 1997). An edge collapses onto one of its ends, which keeps its position, normal, velocity and attributes. The mesh
// stays closed and manifold and keeps its topology: an edge stays if its ends have neighbours in common other than the
// two across it (Dey et al. 1999), or if a triangle would turn over.
//
// Where it is weak: one thread, a million triangles in several seconds; velocities and attributes have no say in what
// counts as flat.
#pragma once

#include "spindrift/mesh/mesh.h"

#include <optional>

namespace spindrift {

// No vertex stands for triangles whose planes are farther than `tolerance` [m] from it. The mesh then deviates by less
// than that, but for a few places by up to twice as much where the tolerance is small beside the triangles. What lies
// exactly on a wall of the container stays there.
void simplify(Mesh& mesh, float tolerance, const std::optional<Box3f>& container = {});

} // namespace spindrift
