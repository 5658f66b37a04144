// Advection next to thin walls. What advect() finds there may come through a wall or mix its two sides; here it is
// found once more, from what can be seen. First order: the error that MacCormack takes off is not known across a wall.
#pragma once

#include "spindrift/field/advection.h"

#include <functional>

namespace spindrift {

// What advect_in_sight() needs besides the carrier. All of it is about the moment at which the step begins.
struct SeenCarrier {
    const Sight& flow;   // on the grid of the velocity
    const Sight& values; // on the grid of the values
    float voxel;         // of the values' grid [m]
    // Where a place [m] was that goes with the wall next to it and is where it is when the step ends: that of a wall
    // which moves over a cell brings the cell values from its own side.
    std::function<Vec3f(const Vec3f&)> before;
};

// After advect() with the same arguments: puts right the values next to walls, and the lowest and highest in `scratch`.
void advect_in_sight(const Carrier& carrier, const SeenCarrier& seen, std::span<const AdvectedField> fields,
                     AdvectionScratch& scratch);

} // namespace spindrift
