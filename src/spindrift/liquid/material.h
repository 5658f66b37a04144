// The extension point of Liquid for materials that flow on the same particles and grid, but resist in their own way:
// Liquid::set_material(). A liquid without one has the material SlidingFriction.
#pragma once

#include "spindrift/liquid/projection.h"
#include "spindrift/points/sort.h"

namespace spindrift {

// The flow in a substep. Closed-face velocities are unspecified on return: the liquid does not read them again.
struct FlowStep {
    const Field<float>& phi; // distance to the surface [cells], negative inside
    const Solids& solids;
    const SolidCells& solid_cells;
    const Projection& projection;
    const ParticleIndex& index;
    Vec3f gravity;
    float voxel, dt;
    MacField& velocity;
};

class Material {
  public:
    virtual ~Material() = default;
    // Before the pressure solve: applies the stress known so far, so that pressure takes it into account.
    virtual void before_pressure(const FlowStep&) {}
    // After the pressure solve. Includes friction at solids.
    virtual void after_pressure(const FlowStep&) {}
    // After the velocity has been extrapolated beyond the surface, before particles take it.
    virtual void after_extrapolation(const FlowStep&) {}
};

} // namespace spindrift
