#include "spindrift/surface/parts.h"

#include "spindrift/mesh/parts.h"

#include <Eigen/Geometry>

namespace spindrift {

namespace {

// Six times the volume that each part encloses, at the part's index; negative for air.
std::vector<double> six_volumes(const Mesh& mesh, MeshParts& parts)
{
    std::vector<double> volumes(mesh.positions.size(), 0);
    for (const Vec3i& t : mesh.triangles) {
        // Relative to a corner of the part: a small part far from the origin would be lost in rounding.
        const size_t part = parts.of(t[0]);
        const Vec3d origin = mesh.positions[part].cast<double>();
        const auto at = [&](int k) { return Vec3d(mesh.positions[t[k]].cast<double>() - origin); };
        volumes[part] += at(0).dot(at(1).cross(at(2)));
    }
    return volumes;
}

} // namespace

void remove_parts(Mesh& mesh, double low, double high)
{
    MeshParts parts(mesh);
    const std::vector<double> volumes = six_volumes(mesh, parts);
    std::vector<uint8_t> keep(volumes.size());
    for (size_t i = 0; i < keep.size(); ++i) {
        const double volume = volumes[parts.of(static_cast<int>(i))] / 6;
        keep[i] = !(volume > low && volume < high);
    }
    if (std::ranges::find(keep, 0) != keep.end()) keep_vertices(mesh, keep);
}

} // namespace spindrift
