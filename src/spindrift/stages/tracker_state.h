// The state of a tracked surface in a state file.
#pragma once

#include "spindrift/io/state_file.h"
#include "spindrift/track/tracker.h"

namespace spindrift {

void save_tracker(const SurfaceTracker::State& state, StateFile& file);
// With the surface of the start if `reference`. Throws StateError if something is missing or out of range.
SurfaceTracker::State load_tracker(StateFile& file, bool reference);

} // namespace spindrift
