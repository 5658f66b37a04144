// Input of the turbulence model: any flow on a staggered grid.
#pragma once

#include "spindrift/field/mac.h"

namespace spindrift {

// All fields are on one topology, which may change between steps. They are only used during the step.
struct Flow {
    const MacField& velocity;                     // [m/s]; faces inside solids hold the velocity of the solid
    float voxel;                                  // [m]
    const Field<float>* solid_distance = nullptr; // [m] at cell centres, negative inside; null: no solids
    const Field<float>* fluid_distance = nullptr; // [m] at cell centres, negative inside; null: fluid everywhere
    const Field<float>* extra_energy =
        nullptr; // [m2/s2] [Narain 2011, (3.14)]: replaces the turbulent energy where larger

    const Topology& topology() const { return velocity.u[0].topology(); }
    bool open(int tile, int offset) const
    {
        return (!solid_distance || solid_distance->tile(tile)[offset] > 0) &&
               (!fluid_distance || fluid_distance->tile(tile)[offset] <= 0);
    }
};

} // namespace spindrift
