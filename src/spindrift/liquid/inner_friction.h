// Friction within a material that otherwise flows like a liquid: what a solver of such a material adds to the liquid's
// step.
#pragma once

#include "spindrift/liquid/projection.h"

namespace spindrift {

// The flow of a step. The velocity of closed faces is anybody's: the liquid does not look at it again.
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
    // Before pressure is found: what is known of friction already, so that pressure takes it into account.
    virtual void start(const InnerFlow& flow) = 0;
    // With the pressure that there is. Friction at solids is part of it.
    virtual void apply(const InnerFlow& flow) = 0;
};

} // namespace spindrift
