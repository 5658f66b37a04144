// Remeshing into triangles of nearly equal size and angles [Botsch 2004]: edges that are too long are split, those that
// are too short collapse, edges flip until six meet at most vertices, and vertices move along the surface towards the
// middle of their neighbours. All vertices are on the surface that was given.
//
// Edges on a boundary are split, but neither moved nor removed, so that the boundary keeps its shape. Where more than
// two triangles share an edge, the mesh is cut apart.
//
// Limits: splits, collapses and flips use one thread: about a million vertices a second. Creases are cut off by up to
// an edge of the new mesh.
#pragma once

#include "spindrift/mesh/mesh.h"

namespace spindrift {

struct Remeshed {
    Mesh mesh; // positions, triangles and normals
    // Of each vertex on the mesh that was given: a triangle and barycentric weights.
    std::vector<int> triangle;
    std::vector<Vec3f> weights;
};

// `edge`: the length of edges in the new mesh, in the mean [m].
Remeshed remeshed(const Mesh& mesh, float edge, int passes = 5);

} // namespace spindrift
