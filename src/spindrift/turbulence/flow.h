// What turbulence needs to know of a flow, whoever computed it.
#pragma once

#include "spindrift/field/mac.h"

namespace spindrift {

// All fields stand on one topology, which may differ from step to step. They must exist during the step only.
struct Flow {
    const MacField& velocity;                     // [m/s]; faces inside solids have the velocity of the solid
    float voxel;                                  // [m]
    const Field<float>* solid_distance = nullptr; // [m] at cell centres, negative inside; none: no solids
    const Field<float>* fluid_distance = nullptr; // [m] at cell centres, negative inside; none: fluid everywhere
    const Field<float>* extra_energy = nullptr;   // [m2/s2] (3.14): where it is larger it counts as turbulent energy

    const Topology& topology() const { return velocity.u[0].topology(); }
    bool open(int tile, int offset) const
    {
        return (!solid_distance || solid_distance->tile(tile)[offset] > 0) &&
               (!fluid_distance || fluid_distance->tile(tile)[offset] <= 0);
    }
};

} // namespace spindrift
