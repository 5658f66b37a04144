// OpenVDB's two functions from points to a level set, on the same points. Building the point grid is not timed.
#include "bench.h"

#include <openvdb/openvdb.h>
#include <openvdb/points/PointConversion.h>
#include <openvdb/points/PointRasterizeSDF.h>

namespace spindrift {

OpenvdbSurfaceSeconds openvdb_surface_seconds(const std::vector<Vec3f>& positions, float spacing, float voxel,
                                              float radius, int runs)
{
    openvdb::initialize();
    std::vector<openvdb::Vec3f> points;
    points.reserve(positions.size());
    for (const Vec3f& p : positions) points.emplace_back(p.x(), p.y(), p.z());
    // Eight particles a voxel of the point grid, as the simulation writes them.
    const auto source = openvdb::math::Transform::createLinearTransform(2 * static_cast<double>(spacing));
    const auto target = openvdb::math::Transform::createLinearTransform(static_cast<double>(voxel));
    const auto grid = openvdb::points::createPointDataGrid<openvdb::points::NullCodec, openvdb::points::PointDataGrid>(
        points, *source);
    const double size = 0.72 * static_cast<double>(spacing), reach = static_cast<double>(radius);
    OpenvdbSurfaceSeconds seconds;
    seconds.smooth_spheres = best_seconds(runs, [&] {
        const auto sdf =
            openvdb::points::rasterizeSmoothSpheres(*grid, size, reach, openvdb::LEVEL_SET_HALF_WIDTH, target);
        if (sdf->activeVoxelCount() == 0) std::abort();
    });
    seconds.spheres = best_seconds(runs, [&] {
        const auto sdf = openvdb::points::rasterizeSpheres(*grid, size, openvdb::LEVEL_SET_HALF_WIDTH, target);
        if (sdf->activeVoxelCount() == 0) std::abort();
    });
    return seconds;
}

} // namespace spindrift
