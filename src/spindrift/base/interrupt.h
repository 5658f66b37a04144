// Ctrl-C: a signal only raises a flag; long computations look at it where they can stop cleanly.
#pragma once

namespace spindrift {

// From now on SIGINT and SIGTERM raise the flag instead of ending the process; a second one ends it. A file-size
// limit no longer ends the process either: writing fails instead.
void catch_interrupts();
// Throws Error(interrupted) if the flag is up. Cheap, and may be called in parallel loops.
void check_interrupt();

} // namespace spindrift
