// Mesh simplification by edge collapse, cheapest first, with quadric error metrics [Garland 1997]. An edge collapses
// onto one of its ends, which keeps its position, normal, velocity and attributes. The mesh stays closed and manifold
// and keeps its topology: an edge is kept if its ends have common neighbours other than the two opposite it [Dey 1999],
// or if a triangle would flip.
//
// Limits: single-threaded, a million triangles take several seconds; velocities and attributes do not influence what
// counts as flat.
#pragma once

#include "spindrift/mesh/mesh.h"

#include <optional>

namespace spindrift {

// No vertex represents triangles whose planes are farther than `tolerance` [m] from it. The mesh then deviates by less
// than that, except in a few places by up to twice as much if the tolerance is small compared to the triangles.
// Vertices exactly on a wall of the container stay on it.
void simplify(Mesh& mesh, float tolerance, const std::optional<Box3f>& container = {});

} // namespace spindrift
