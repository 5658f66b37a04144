#include "spindrift/mesh/links.h"

#include "spindrift/base/parallel.h"

#include <Eigen/Geometry>
#include <atomic>

namespace spindrift {

namespace {

constexpr size_t kVerticesPerChunk = 4096;

Vec3d corner(const Mesh& mesh, int triangle, int k)
{
    return mesh.positions[mesh.triangles[triangle][k]].cast<double>();
}

// Sums weight(e1, e2) * (e1 x e2) over the triangles at each vertex, e1 and e2 being the edges that leave it, and
// normalises the sum.
template <class Weight>
std::vector<Vec3f> weighted_normals(const Mesh& mesh, const MeshLinks& links, const Weight& weight)
{
    std::vector<Vec3f> normals(mesh.positions.size());
    parallel_for(
        normals.size(),
        [&](size_t i) {
            const auto vertex = static_cast<int>(i);
            const Vec3d at = mesh.positions[i].cast<double>();
            Vec3d sum = Vec3d::Zero();
            for (int t : links.triangles_at(vertex)) {
                const Vec3i& corners = mesh.triangles[t];
                const int k = corners[0] == vertex ? 0 : corners[1] == vertex ? 1 : 2;
                const Vec3d e1 = corner(mesh, t, (k + 1) % 3) - at, e2 = corner(mesh, t, (k + 2) % 3) - at;
                const Vec3d area = e1.cross(e2);
                if (area.squaredNorm() > 0) sum += weight(e1, e2, area) * area;
            }
            const double length = sum.norm();
            normals[i] = length > 0 ? Vec3f((sum / length).cast<float>()) : Vec3f::Zero();
        },
        kVerticesPerChunk);
    return normals;
}

} // namespace

MeshLinks::MeshLinks(const Mesh& mesh) : first_(mesh.positions.size() + 1, 0), triangles_(3 * mesh.triangles.size())
{
    const size_t vertices = mesh.positions.size();
    std::vector<std::atomic<int>> filled(vertices);
    parallel_for(
        mesh.triangles.size(),
        [&](size_t t) {
            for (int k = 0; k < 3; ++k) filled[mesh.triangles[t][k]].fetch_add(1, std::memory_order_relaxed);
        },
        kVerticesPerChunk);
    for (size_t i = 0; i < vertices; ++i) first_[i + 1] = first_[i] + filled[i].exchange(0);
    parallel_for(
        mesh.triangles.size(),
        [&](size_t t) {
            for (int k = 0; k < 3; ++k) {
                const int vertex = mesh.triangles[t][k];
                triangles_[first_[vertex] + filled[vertex].fetch_add(1, std::memory_order_relaxed)] =
                    static_cast<int>(t);
            }
        },
        kVerticesPerChunk);
    // The threads filled the lists in any order.
    parallel_for(
        vertices, [&](size_t i) { std::sort(triangles_.begin() + first_[i], triangles_.begin() + first_[i + 1]); },
        kVerticesPerChunk);
}

int MeshLinks::across(const Mesh& mesh, int triangle, int k) const
{
    const int from = mesh.triangles[triangle][k], to = mesh.triangles[triangle][(k + 1) % 3];
    for (int t : triangles_at(from)) {
        if (t == triangle) continue;
        const Vec3i& corners = mesh.triangles[t];
        for (int j = 0; j < 3; ++j)
            if (corners[j] == to && corners[(j + 1) % 3] == from) return t;
    }
    return -1;
}

Vec3f triangle_normal(const Mesh& mesh, int triangle)
{
    const Vec3d a = corner(mesh, triangle, 0);
    const Vec3d area = (corner(mesh, triangle, 1) - a).cross(corner(mesh, triangle, 2) - a);
    const double length = area.norm();
    return length > 0 ? Vec3f((area / length).cast<float>()) : Vec3f::Zero();
}

std::vector<Vec3f> angle_weighted_normals(const Mesh& mesh, const MeshLinks& links)
{
    return weighted_normals(mesh, links, [](const Vec3d& e1, const Vec3d& e2, const Vec3d& area) {
        const double length = area.norm();
        return std::atan2(length, e1.dot(e2)) / length;
    });
}

std::vector<Vec3f> sphere_normals(const Mesh& mesh, const MeshLinks& links)
{
    return weighted_normals(mesh, links, [](const Vec3d& e1, const Vec3d& e2, const Vec3d&) {
        return 1 / (e1.squaredNorm() * e2.squaredNorm());
    });
}

} // namespace spindrift
