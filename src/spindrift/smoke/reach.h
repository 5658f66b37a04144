// How far smoke gets that no domain holds, before anything is computed: what the automatic camera frames. An estimate
// by the laws of plumes and jets, meant to be a little too large; it knows nothing of colliders, noise and attraction.
#pragma once

#include "spindrift/smoke/params.h"

namespace spindrift {

// All that the smoke of these sources covers up to the last frame. `sources` are in the order of the parameters; those
// that are particles are left out.
Box3f reach_of_smoke(const SmokeParams& params, std::vector<Shape> sources, int first_frame, int last_frame, float fps);

} // namespace spindrift
