// Closed procedural meshes with known distance and volume.
#pragma once

#include "spindrift/base/random.h"
#include "spindrift/mesh/mesh.h"

#include <map>

namespace spindrift {

inline Mesh box_mesh(const Vec3f& min, const Vec3f& max)
{
    Mesh mesh;
    for (int i = 0; i < 8; ++i)
        mesh.positions.emplace_back(i & 1 ? max.x() : min.x(), i & 2 ? max.y() : min.y(), i & 4 ? max.z() : min.z());
    mesh.triangles = {{0, 2, 3}, {0, 3, 1}, {4, 5, 7}, {4, 7, 6}, {0, 1, 5}, {0, 5, 4},
                      {2, 6, 7}, {2, 7, 3}, {0, 4, 6}, {0, 6, 2}, {1, 3, 7}, {1, 7, 5}};
    return mesh;
}

// An octahedron subdivided onto the sphere `levels` times: 8 * 4^levels triangles.
inline Mesh sphere_mesh(const Vec3f& center, float radius, int levels)
{
    Mesh mesh;
    mesh.positions = {{1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, -1, 0}, {0, 0, 1}, {0, 0, -1}};
    mesh.triangles = {{0, 2, 4}, {2, 1, 4}, {1, 3, 4}, {3, 0, 4}, {2, 0, 5}, {1, 2, 5}, {3, 1, 5}, {0, 3, 5}};
    for (int level = 0; level < levels; ++level) {
        std::map<std::pair<int, int>, int> middles;
        const auto middle = [&](int i, int j) {
            const auto [found, added] = middles.try_emplace(std::minmax(i, j), static_cast<int>(mesh.positions.size()));
            if (added) mesh.positions.push_back((mesh.positions[i] + mesh.positions[j]).normalized());
            return found->second;
        };
        std::vector<Vec3i> finer;
        for (const Vec3i& t : mesh.triangles) {
            const int a = middle(t[0], t[1]), b = middle(t[1], t[2]), c = middle(t[2], t[0]);
            finer.insert(finer.end(), {{t[0], a, c}, {a, t[1], b}, {c, b, t[2]}, {a, b, c}});
        }
        mesh.triangles = std::move(finer);
    }
    for (Vec3f& x : mesh.positions) x = center + radius * x;
    return mesh;
}

// A ball of radius 1 whose vertices are pushed around along the surface, by up to `push` edges of a square as large as
// a triangle: triangles of all shapes.
inline Mesh rough_ball(int levels, float push = 0.45f)
{
    Mesh mesh = sphere_mesh({0, 0, 0}, 1, levels);
    const float most = push * std::sqrt(12.6f / static_cast<float>(mesh.triangles.size()));
    Random random(1);
    for (Vec3f& x : mesh.positions) {
        for (float& c : x) c += random.uniform(-most, most);
        x.normalize();
    }
    return mesh;
}

// Both meshes in one; they may overlap.
inline Mesh joined(Mesh a, const Mesh& b)
{
    const int first = static_cast<int>(a.positions.size());
    a.positions.insert(a.positions.end(), b.positions.begin(), b.positions.end());
    for (const Vec3i& t : b.triangles) a.triangles.push_back(t.array() + first);
    return a;
}

inline Mesh inside_out(Mesh mesh)
{
    for (Vec3i& t : mesh.triangles) std::swap(t[0], t[1]);
    return mesh;
}

} // namespace spindrift
