// Which vertices of a mesh are connected by triangles.
#pragma once

#include "spindrift/mesh/mesh.h"

namespace spindrift {

class MeshParts {
  public:
    explicit MeshParts(const Mesh& mesh);
    // The same index for all vertices of a part: that of its first vertex.
    size_t of(int vertex) { return static_cast<size_t>(root(vertex)); }
    // The part of each vertex, counted from 0 in the order of their first vertices.
    std::vector<int32_t> numbers();

  private:
    int root(int i);
    std::vector<int> parent_; // union-find
};

} // namespace spindrift
