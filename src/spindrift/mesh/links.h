// Which triangles meet at each vertex of a mesh, and the normals that follow from them.
#pragma once

#include "spindrift/mesh/mesh.h"

#include <span>

namespace spindrift {

class MeshLinks {
  public:
    explicit MeshLinks(const Mesh& mesh);

    // In ascending order.
    std::span<const int> triangles_at(int vertex) const
    {
        return {triangles_.data() + first_[vertex], triangles_.data() + first_[vertex + 1]};
    }
    // The other triangle of the edge that triangle t has between its corners k and k + 1; -1 if there is none.
    int across(const Mesh& mesh, int triangle, int k) const;
    size_t bytes() const { return (first_.capacity() + triangles_.capacity()) * sizeof(int); }

  private:
    std::vector<int> first_, triangles_;
};

// Unit normal of a triangle; zero if it is degenerate.
Vec3f triangle_normal(const Mesh& mesh, int triangle);
// Vertex normals weighted with angles: the sign of their product with the offset of a point whose nearest point is the
// vertex tells the side of the surface [Baerentzen 2005].
std::vector<Vec3f> angle_weighted_normals(const Mesh& mesh, const MeshLinks& links);
// Vertex normals weighted as in [Max 1999]: exact for vertices on a sphere, and hardly disturbed by slivers.
std::vector<Vec3f> sphere_normals(const Mesh& mesh, const MeshLinks& links);

} // namespace spindrift
