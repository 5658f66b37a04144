#include "pipeline/surface_stage.h"

#include "io/mesh_file.h"
#include "io/vdb.h"
#include "pipeline/liquid_stage.h"

#include <filesystem>

namespace spindrift {

void SurfaceStage::prepare(const SceneFile& scene, const ShotParams& shot, const ShotPaths&)
{
    if (!scene.has("liquid")) return;
    const LiquidParams liquid = liquid_of(scene);
    if (liquid.domain.bounded()) {
        // An open side is no wall: the surface may close before it.
        container_ = Box3f{*liquid.domain.min, *liquid.domain.max};
        for (int axis = 0; axis < 3; ++axis) {
            if (!liquid.domain.closed(axis, 0)) container_->min[axis] = -kInfinity;
            if (!liquid.domain.closed(axis, 1)) container_->max[axis] = kInfinity;
        }
    }
    const Vec3f size = liquid.domain.bounded() ? Vec3f(*liquid.domain.max - *liquid.domain.min) : Vec3f::Ones();
    const float voxel = params_.voxel.value_or(0.5f * liquid.voxel);
    // A splash has about four times the surface of the box that holds it.
    const double area = 8.0 * (size.x() * size.y() + size.y() * size.z() + size.z() * size.x());
    const double triangles = 2 * area / (static_cast<double>(voxel) * voxel);
    estimate_ = {triangles * 200 + 1e8, triangles * 0.4 * (0.5 * 36 + 13) * shot.range().count(), fmt::format("up to {:.2g} triangles", triangles)};
}

FrameReport SurfaceStage::make(int, const std::string& input, const std::string& output)
{
    FrameReport report;
    ParticleFile file;
    report.times.measure("read", [&] { file = read_particles(input); });
    const size_t count = file.particles.size();
    // Eight particles fill a cell of the grid they were written with.
    const Surface surface = make_surface(std::move(file.particles), 0.5f * file.voxel, params_, container_);
    for (const auto& [phase, seconds] : surface.times.phases()) report.times.add(phase, seconds);
    report.times.measure("write", [&] {
        write_mesh(output, surface.mesh);
        if (params_.sdf) {
            const std::string vdb = std::filesystem::path(output).replace_extension(".vdb").string();
            write_fields(vdb, {{"surface", &surface.phi, true}}, surface.voxel, file.metadata);
        }
    });
    report.numbers = {{"particles", static_cast<double>(count)}, {"triangles", static_cast<double>(surface.mesh.triangles.size())}};
    return report;
}

} // namespace spindrift
