#include "spindrift/stages/filled_volume.h"

#include "spindrift/base/error.h"

namespace spindrift {

double filled_volume(const SceneFile& scene, const FillingOf& of, const FillingParams& source, const Shape& shape,
                     size_t number)
{
    const auto where = [&] { return scene.where(fmt::format("{}[{}]", of.source_table, number)); };
    const auto first = static_cast<float>(of.frames.first);
    const Box3f box = of.domain.clipped(shape.bounds(first));
    if (of.domain.bounded() && box.empty()) bad_input("{}: the source lies outside the domain", where());
    if (!box.size().allFinite())
        bad_input("{}: this source is infinite; give the {} a domain ({}.min and max)", where(), of.material,
                  of.domain_table);
    const double filled = volume_inside(shape, box, first);
    if (source.mode == FillingParams::Mode::initial) return filled;
    const double from = std::max(of.frames.first, source.first_frame), to = std::min(of.frames.last, source.last_frame);
    const double seconds = std::max(0.0, to - from + 1) / of.fps;
    return filled + std::pow(filled, 2.0 / 3) * static_cast<double>(source.velocity.norm()) * seconds;
}

Estimate estimate_of_particles(const SceneFile& scene, const std::string& voxel_name, float voxel, double volume,
                               FrameRange frames, const ParticleCosts& costs)
{
    const double full_cells = volume / std::pow(static_cast<double>(voxel), 3);
    const double particles = kParticlesPerCell * full_cells, cells = costs.cells_per_full_cell * full_cells;
    if (!(particles <= costs.most_particles))
        bad_input("{}: {} is {} m, which makes about {:.3g} particles; at most {:.0g} are possible; raise {}",
                  scene.where(voxel_name), voxel_name, voxel, particles, costs.most_particles, voxel_name);
    return {costs.memory(particles, cells), costs.file_bytes_per_particle * particles * frames.count(),
            fmt::format("about {:.3g} particles", particles), "raise " + voxel_name, cells};
}

} // namespace spindrift
