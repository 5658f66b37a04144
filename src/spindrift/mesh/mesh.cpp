#include "spindrift/mesh/mesh.h"

#include <Eigen/Geometry>

namespace spindrift {

namespace {

// Corners of a triangle in double, for accurate areas and volumes of small triangles far from the origin.
struct Corners {
    Vec3d a, b, c;
    Corners(const Mesh& mesh, const Vec3i& t)
        : a(mesh.positions[t[0]].cast<double>()), b(mesh.positions[t[1]].cast<double>()),
          c(mesh.positions[t[2]].cast<double>())
    {
    }
};

double angle_between(const Vec3d& u, const Vec3d& v) { return std::atan2(u.cross(v).norm(), u.dot(v)); }

} // namespace

Box3f bounds_of(const Mesh& mesh)
{
    Box3f box;
    for (const Vec3f& x : mesh.positions) box.add(x);
    return box;
}

double volume_of(const Mesh& mesh)
{
    if (mesh.triangles.empty()) return 0;
    // Any apex gives the same volume; one near the mesh reduces cancellation.
    const Vec3d apex = bounds_of(mesh).center().cast<double>();
    double six_volumes = 0;
    for (const Vec3i& t : mesh.triangles) {
        const Corners at(mesh, t);
        six_volumes += (at.a - apex).dot((at.b - apex).cross(at.c - apex));
    }
    return six_volumes / 6;
}

void compute_normals(Mesh& mesh)
{
    std::vector<Vec3d> sums(mesh.positions.size(), Vec3d::Zero());
    for (const Vec3i& t : mesh.triangles) {
        const Corners at(mesh, t);
        const Vec3d ab = at.b - at.a, bc = at.c - at.b, ca = at.a - at.c;
        const Vec3d area = ab.cross(-ca);
        const double length = area.norm();
        if (length == 0) continue; // degenerate triangles have no normal
        const Vec3d normal = area / length;
        sums[t[0]] += angle_between(ab, -ca) * normal;
        sums[t[1]] += angle_between(bc, -ab) * normal;
        sums[t[2]] += angle_between(ca, -bc) * normal;
    }
    mesh.normals.resize(sums.size());
    for (size_t i = 0; i < sums.size(); ++i) mesh.normals[i] = sums[i].normalized().cast<float>();
}

void keep_vertices(Mesh& mesh, const std::vector<uint8_t>& keep)
{
    std::vector<uint32_t> number(keep.size() + 1, 0);
    for (size_t i = 0; i < keep.size(); ++i) number[i + 1] = number[i] + (keep[i] != 0);
    const auto compact = [&](auto& values) {
        if (values.empty()) return;
        for (size_t i = 0; i < keep.size(); ++i)
            if (keep[i]) values[number[i]] = values[i];
        values.resize(number.back());
    };
    compact(mesh.positions), compact(mesh.normals), compact(mesh.velocities);
    for (auto& [name, array] : mesh.attributes) std::visit(compact, array);
    std::erase_if(mesh.triangles, [&](const Vec3i& t) { return !keep[t[0]] || !keep[t[1]] || !keep[t[2]]; });
    for (Vec3i& t : mesh.triangles)
        for (int k = 0; k < 3; ++k) t[k] = static_cast<int>(number[t[k]]);
}

bool is_closed(const Mesh& mesh)
{
    // One key per directed edge: the undirected edge in the high bits, the direction in the lowest, so that sorting
    // places the two sides of a valid edge next to each other in a fixed order.
    std::vector<uint64_t> edges;
    edges.reserve(3 * mesh.triangles.size());
    for (const Vec3i& t : mesh.triangles) {
        for (int k = 0; k < 3; ++k) {
            const auto from = static_cast<uint64_t>(t[k]), to = static_cast<uint64_t>(t[(k + 1) % 3]);
            if (from == to) return false;
            edges.push_back(std::min(from, to) << 32 | std::max(from, to) << 1 | (from > to ? 1u : 0u));
        }
    }
    if (edges.size() % 2 != 0) return false;
    std::sort(edges.begin(), edges.end());
    for (size_t i = 0; i < edges.size(); i += 2) {
        const bool two_directions = edges[i] % 2 == 0 && edges[i + 1] == edges[i] + 1;
        const bool more_follow = i + 2 < edges.size() && edges[i + 2] / 2 == edges[i] / 2;
        if (!two_directions || more_follow) return false;
    }
    return true;
}

} // namespace spindrift
