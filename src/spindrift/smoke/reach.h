// Estimates the extent of smoke without a domain before the simulation, for the automatic camera. Uses plume and jet
// laws, is meant to be slightly too large, and ignores colliders, noise and attraction.
#pragma once

#include "spindrift/smoke/params.h"

namespace spindrift {

// Bounds of the smoke of these sources up to the last frame. `sources` are in the order of the parameters; particle
// sources are skipped.
Box3f reach_of_smoke(const SmokeParams& params, std::vector<Shape> sources, int first_frame, int last_frame, float fps);

} // namespace spindrift
