// Advection next to thin walls. There, advect() may trace through a wall or mix values of both sides; this pass
// recomputes such values from visible samples only. First order: the MacCormack and BFECC error estimates do not hold
// across a wall.
#pragma once

#include "spindrift/field/advection.h"

#include <functional>

namespace spindrift {

// Additional input of advect_in_sight(). All visibility refers to the start of the step.
struct SeenCarrier {
    const Sight& flow;   // on the velocity grid
    const Sight& values; // on the grid of the values
    float voxel;         // voxel of the values' grid [m]
    // Maps a position [m] at the end of the step, moving with the wall next to it, to its position at the start. A cell
    // that a moving wall sweeps over thus gets values from its own side of the wall.
    std::function<Vec3f(const Vec3f&)> before;
};

// Call after advect() with the same arguments: corrects values next to walls, and their bounds in `scratch`.
void advect_in_sight(const Carrier& carrier, const SeenCarrier& seen, std::span<const AdvectedField> fields,
                     AdvectionScratch& scratch);

} // namespace spindrift
