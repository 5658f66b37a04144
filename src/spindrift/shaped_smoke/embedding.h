// Points inside a mesh that move with it as it bends [Madill 2013, 4.2].
//
// Each point has barycentric coordinates in a tetrahedron whose corners are fixed to the surface. The paper takes the
// Delaunay tetrahedralization of the vertices, whose tetrahedra also span the gap between two legs, so that a point in
// one leg is pulled along by the other. Here each point has a tetrahedron of its own: rays from the point in four
// directions meet the surface at its corners. Rays end where they first meet the surface, so the corners belong to the
// same part of the mesh, and of several orientations the one with the shortest rays is taken, so they are near. All
// coordinates are positive: the point stays within the hull of four nearby surface points.
#pragma once

#include "spindrift/mesh/mesh.h"

#include <span>

namespace spindrift {

class Embedding {
  public:
    // Binds points to the mesh at rest, in parallel. Points must be inside.
    Embedding(const Mesh& rest, std::span<const Vec3f> points);
    // The points as the mesh moves its vertices; triangles must be those of the rest mesh.
    void place(const Mesh& mesh, std::span<Vec3f> points) const;
    size_t size() const { return bound_.size(); }

  private:
    // Three vertices for each of four corners.
    struct Bound {
        std::array<int32_t, 12> vertex;
        std::array<float, 12> weight;
    };
    std::vector<Bound> bound_;
};

} // namespace spindrift
