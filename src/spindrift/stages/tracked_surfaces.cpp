#include "spindrift/stages/tracked_surfaces.h"

#include "spindrift/base/error.h"
#include "spindrift/track/properties.h"

namespace spindrift {

namespace {

// Of the surface and its tree, with those of the last frame; of a triangle in the file.
constexpr double kBytesPerTriangle = 700, kFileBytesPerTriangle = 60;

} // namespace

Box3f extent_of_surface(std::vector<Shape>& sources, float frame, const std::optional<Box3f>& walls)
{
    Box3f extent;
    for (Shape& shape : sources) {
        shape.prepare(frame);
        const Box3f box = shape.bounds(frame);
        extent.add(walls ? Box3f{box.min.cwiseMax(walls->min), box.max.cwiseMin(walls->max)} : box);
    }
    return extent;
}

Estimate estimate_of_surface(const SceneFile& scene, const std::string& voxel_name, float voxel, const Box3f& extent,
                             FrameRange frames)
{
    const Vec3d size = extent.empty() ? Vec3d(Vec3d::Zero()) : Vec3d(extent.size().cast<double>());
    const auto h = static_cast<double>(voxel);
    constexpr double kMostCells = 1e6; // across
    if (size.maxCoeff() / h > kMostCells)
        bad_input("{}: {:.3g} voxels across; at most {:.0e} are possible; raise {}", scene.where(voxel_name),
                  size.maxCoeff() / h, kMostCells, voxel_name);
    // A liquid in motion has about twice the surface of its box, and two triangles a cell.
    const double triangles = 2 * 2 * 2 * (size.x() * size.y() + size.y() * size.z() + size.z() * size.x()) / (h * h);
    return {kBytesPerTriangle * triangles, kFileBytesPerTriangle * triangles * frames.count(),
            fmt::format("about {:.2g} triangles", triangles), fmt::format("raise {}", voxel_name), triangles};
}

double memory_of_surface(const Foreseen& foreseen) { return kBytesPerTriangle * foreseen.number("triangles"); }

std::map<std::string, AttributeArray> attributes_after_advection(Mesh surface, StageExpressions& expressions,
                                                                 const std::vector<std::string>& directions, int frame,
                                                                 const std::string& stage)
{
    expressions.run_on_vertices(ExpressionParams::At::after_advection, surface, frame, stage);
    for (const std::string& name : directions)
        if (const auto found = surface.attributes.find(name); found != surface.attributes.end())
            if (auto* values = std::get_if<std::vector<Vec3f>>(&found->second)) make_tangent(surface.normals, *values);
    surface.attributes.erase(kOriginTriangle), surface.attributes.erase(kOriginWeights); // found anew for each frame
    return std::move(surface.attributes);
}

} // namespace spindrift
