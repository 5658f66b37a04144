// Internal friction of a material that otherwise flows like a liquid: the extension of the liquid's step for such a
// material.
#pragma once

#include "spindrift/liquid/projection.h"

namespace spindrift {

// The flow of a step. Closed-face velocities are unspecified on return: the liquid does not read them again.
struct InnerFlow {
    const Field<float>& phi;
    const Solids& solids;
    const SolidCells& solid_cells;
    const Projection& projection;
    Vec3f gravity;
    float voxel, dt;
    MacField& velocity;
};

class InnerFriction {
  public:
    virtual ~InnerFriction() = default;
    // Before the pressure solve: applies the friction known so far, so that pressure takes it into account.
    virtual void start(const InnerFlow& flow) = 0;
    // After the pressure solve, including friction at solids.
    virtual void apply(const InnerFlow& flow) = 0;
};

} // namespace spindrift
