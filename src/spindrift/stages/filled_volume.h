// The volume that the sources of a liquid or of sand fill, and what its particles need, for forecasts.
#pragma once

#include "spindrift/engine/stage.h"
#include "spindrift/stages/scene_shapes.h"
#include "spindrift/world/params.h"

namespace spindrift {

struct FillingOf {
    const char* material;                   // "liquid"
    std::string source_table, domain_table; // their names in the scene
    const DomainParams& domain;
    Box3f extent; // of the material
    FrameRange frames;
    double fps;
};

// The volume of one source at its largest [m3]. Throws bad_input for a source that cannot be filled.
double filled_volume(const SceneFile& scene, const FillingOf& of, const FillingParams& source, const Shape& shape,
                     size_t number);

// That of all sources, at most that of the domain.
template <class Source> double filled_volume(const SceneFile& scene, const FillingOf& of,
                                             const std::vector<Source>& sources, const std::vector<Shape>& shapes)
{
    double volume = 0;
    for (size_t i = 0; i < sources.size(); ++i) volume += filled_volume(scene, of, sources[i], shapes[i], i);
    return of.domain.bounded() ? std::min(volume, volume_of(of.extent.size())) : volume;
}

// What particles and the grid around them need, measured.
struct ParticleCosts {
    double bytes_per_particle, bytes_per_cell;
    double cells_per_full_cell; // cells of the grid for each that is full of particles
    double file_bytes_per_particle;
    double most_particles;

    double memory(double particles, double cells) const
    {
        return bytes_per_particle * particles + bytes_per_cell * cells;
    }
};

constexpr double kParticlesPerCell = 8;

// Of particles that fill this volume [m3]; `voxel_name` is "liquid.voxel". Throws bad_input if there are too many.
Estimate estimate_of_particles(const SceneFile& scene, const std::string& voxel_name, float voxel, double volume,
                               FrameRange frames, const ParticleCosts& costs);

} // namespace spindrift
