// The flow of a liquid from its particles alone, for stages that read a liquid's files: the velocity on a grid around
// them, and the distances to the surface and to solids.
//
// Limits: there is no pressure solve. Relative motion of the particles of a cell, which it would have removed, is only
// smoothed.
#pragma once

#include "spindrift/liquid/free_surface.h"
#include "spindrift/turbulence/flow.h"

namespace spindrift {

// Interpolates particles between two frames that are `seconds` apart, at a share (0 to 1) of the time between them, in
// the order of their ids. Particles that exist in one frame only are extrapolated by their velocity.
Particles particles_between(const Particles& before, const Particles& after, float share, float seconds);

class ParticleFlow {
  public:
    ParticleFlow(const DomainParams& domain, std::vector<Shape> colliders, float fps, float voxel)
        : solids_(domain, std::move(colliders), fps), voxel_(voxel)
    {
    }

    // `frame` is the time of the particles [frames].
    void set(Particles particles, float frame);

    // Faces in solids hold the velocity of the solid; the distance to the surface is extrapolated a few cells into
    // solids.
    Flow flow() const { return {velocity_, voxel_, solids_.none() ? nullptr : &solid_distance_, &surface_distance_}; }

    size_t bytes() const;
    // For adding bodies, and for finding sheets, which then part the flow.
    Solids& solids() { return solids_; }
    const SolidCells& solid_cells() const { return solid_cells_; }
    const Topology& topology() const { return topology_; }
    // In the order of the index, which is that of the flow's cells.
    const Particles& particles() const { return particles_; }
    const ParticleIndex& index() const { return index_; }

  private:
    void find_velocity();
    void smooth_velocity();
    void smooth_component(const Block<float, 1>& u, int tile, int a, int axis);
    void find_solid_distance();
    void find_surface_distance();

    Solids solids_;
    float voxel_;
    Particles particles_;
    Topology topology_;
    ParticleIndex index_;
    SolidCells solid_cells_;
    MacField velocity_, weight_, smoothed_;
    Field<float> solid_distance_, surface_distance_; // [m]
};

// Sets cells in solids (distance not above 0) to the mean of their neighbours farther out, `layers` cells deep.
void extend_into_solids(const Field<float>& solid_distance, int layers, Field<float>& value);

} // namespace spindrift
