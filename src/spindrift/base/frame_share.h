// The share of the current frame that a solver has computed, for progress reports: a frame can take minutes, and before
// the first is done nothing else tells how long a shot takes.
#pragma once

namespace spindrift {

// 0 to 1. Solvers set it between substeps; it is one number for the whole process, like the stage that is running.
void set_frame_share(float share);
float frame_share();

} // namespace spindrift
