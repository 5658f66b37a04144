#include "pipeline/surface_stage.h"

#include "io/mesh_file.h"
#include "io/vdb.h"

#include <fmt/format.h>

namespace spindrift {

std::vector<std::string> SurfaceStage::endings() const
{
    std::vector<std::string> endings = {"ply"};
    if (params_.sdf) endings.push_back("vdb");
    if (params_.obj) endings.push_back("obj");
    return endings;
}

void SurfaceStage::prepare(const SceneFile&, const ShotParams& shot)
{
    const DomainParams& domain = liquid_->params.domain;
    if (domain.bounded()) {
        // An open side is no wall: the surface may close before it.
        container_ = liquid_->extent;
        for (int axis = 0; axis < 3; ++axis) {
            if (!domain.closed(axis, 0)) container_->min[axis] = -kInfinity;
            if (!domain.closed(axis, 1)) container_->max[axis] = kInfinity;
        }
    }
    if (liquid_->extent.empty()) return; // the particles are another program's
    const Vec3f size = liquid_->extent.size();
    const double voxel = params_.voxel.value_or(0.5f * liquid_->params.voxel);
    // A splash has about four times the surface of the box that holds it.
    const double area = 8.0 * (size.x() * size.y() + size.y() * size.z() + size.z() * size.x());
    const double triangles = 2 * area / (voxel * voxel);
    // Half a vertex a triangle, each of 36 bytes.
    const double frame_bytes = triangles * 0.4 * (0.5 * 36 + 13) + (params_.sdf ? 10 * triangles : 0);
    estimate_ = {triangles * 200 + 1e8, frame_bytes * shot.range().count(),
                 fmt::format("up to {:.2g} triangles", triangles), "raise surface.voxel"};
}

FrameReport SurfaceStage::make(int, const std::string& input, const std::vector<std::string>& outputs)
{
    FrameReport report;
    ParticleFile file;
    report.times.measure("read", [&] { file = read_particles(input); });
    const size_t count = file.particles.size();
    // Eight particles fill a cell of the grid they were written with.
    const Surface surface = make_surface(std::move(file.particles), 0.5f * file.voxel, params_, container_);
    for (const auto& [phase, seconds] : surface.times.phases()) report.times.add(phase, seconds);
    report.times.measure("write", [&] {
        write_mesh(outputs[0], surface.mesh);
        if (params_.obj) write_mesh(outputs.back(), surface.mesh);
        if (params_.sdf) write_fields(outputs[1], {{"surface", &surface.phi, true}}, surface.voxel, file.metadata);
    });
    report.numbers = {{"particles", static_cast<double>(count)},
                      {"triangles", static_cast<double>(surface.mesh.triangles.size())}};
    return report;
}

} // namespace spindrift
