// Meshes for tests, made in code.
#pragma once

#include "spindrift/mesh/mesh.h"

namespace spindrift {

// Latitudes and longitudes, closed, counter-clockwise from outside, with the normals of the sphere.
inline Mesh sphere_of_rows(const Vec3f& center, float radius, int rows = 48)
{
    Mesh mesh;
    const int columns = 2 * rows;
    const auto vertex = [&](int row, int column) {
        if (row == 0) return 0;
        if (row == rows) return 1;
        return 2 + (row - 1) * columns + column % columns;
    };
    const auto add = [&](const Vec3f& normal) {
        mesh.positions.push_back(center + radius * normal);
        mesh.normals.push_back(normal);
    };
    add({0, 1, 0}), add({0, -1, 0});
    for (int row = 1; row < rows; ++row)
        for (int column = 0; column < columns; ++column) {
            const float polar = static_cast<float>(kPi) * static_cast<float>(row) / static_cast<float>(rows);
            const float turn = static_cast<float>(2 * kPi) * static_cast<float>(column) / static_cast<float>(columns);
            add({std::sin(polar) * std::cos(turn), std::cos(polar), std::sin(polar) * std::sin(turn)});
        }
    for (int row = 0; row < rows; ++row)
        for (int column = 0; column < columns; ++column) {
            const int a = vertex(row, column), b = vertex(row, column + 1);
            const int c = vertex(row + 1, column + 1), d = vertex(row + 1, column);
            if (row > 0) mesh.triangles.push_back({a, b, c});
            if (row < rows - 1) mesh.triangles.push_back({a, c, d});
        }
    return mesh;
}

// Every side with vertices and normals of its own, so that it is optically flat.
inline Mesh box_mesh(const Box3f& box)
{
    Mesh mesh;
    for (int axis = 0; axis < 3; ++axis)
        for (const int side : {0, 1}) {
            const int first = static_cast<int>(mesh.positions.size());
            const int u = (axis + 1) % 3, v = (axis + 2) % 3;
            for (int i = 0; i < 4; ++i) {
                Vec3f p;
                p[axis] = side ? box.max[axis] : box.min[axis];
                p[u] = i == 1 || i == 2 ? box.max[u] : box.min[u];
                p[v] = i >= 2 ? box.max[v] : box.min[v];
                mesh.positions.push_back(p);
                Vec3f normal = Vec3f::Zero();
                normal[axis] = side ? 1.0f : -1.0f;
                mesh.normals.push_back(normal);
            }
            for (const Vec3i& t : {Vec3i(0, 1, 2), Vec3i(0, 2, 3)})
                mesh.triangles.push_back(side ? Vec3i(t.array() + first)
                                              : Vec3i(Vec3i(t[0], t[2], t[1]).array() + first));
        }
    return mesh;
}

} // namespace spindrift
