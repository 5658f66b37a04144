// Whether a mesh is a surface at its vertices too.
#pragma once

#include "spindrift/mesh/links.h"

namespace spindrift {

// Closed and consistently oriented (is_closed), and the triangles at each vertex are one fan: two sheets that share
// only a vertex have two.
inline bool is_manifold(const Mesh& mesh)
{
    if (!is_closed(mesh)) return false;
    const MeshLinks links(mesh);
    for (int v = 0; v < static_cast<int>(mesh.positions.size()); ++v) {
        const auto around = links.triangles_at(v);
        if (around.empty()) continue;
        size_t fan = 0;
        int t = around.front();
        do { // to the triangle across the edge that leaves v
            const Vec3i& corners = mesh.triangles[t];
            t = links.across(mesh, t, corners[0] == v ? 0 : corners[1] == v ? 1 : 2);
        } while (++fan <= around.size() && t >= 0 && t != around.front());
        if (fan != around.size()) return false;
    }
    return true;
}

} // namespace spindrift
