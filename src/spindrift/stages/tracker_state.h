// The state of a tracked surface in a state file.
#pragma once

#include "spindrift/io/state_file.h"
#include "spindrift/track/tracker.h"

namespace spindrift {

// All but the surface of the start, which is made again from its sources.
void save_tracker(SurfaceTracker::State state, StateFile& file);
// Throws StateError if something is missing or out of range.
SurfaceTracker::State load_tracker(StateFile& file);

} // namespace spindrift
