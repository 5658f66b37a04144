// The state of ripples within that of a stage, beside particles that the stage may have of its own.
#pragma once

#include "spindrift/io/state_file.h"
#include "spindrift/ripples/ripples.h"

namespace spindrift {

void save_ripples(Ripples::State state, StateFile& file);
Ripples::State load_ripples(StateFile& file);

} // namespace spindrift
