// Stores the state of Ripples in a stage's state file, in addition to the stage's own particles.
#pragma once

#include "spindrift/io/state_file.h"
#include "spindrift/ripples/ripples.h"

namespace spindrift {

void save_ripples(Ripples::State state, StateFile& file);
Ripples::State load_ripples(StateFile& file);

} // namespace spindrift
