// Ctrl-C handling: the signal handler only sets a flag, which long computations poll where they can stop cleanly.
#pragma once

namespace spindrift {

// Installs handlers for SIGINT and SIGTERM that set the flag; a second signal ends the process. Also ignores SIGXFSZ,
// so that exceeding the file-size limit makes write() fail instead of ending the process.
void catch_interrupts();
// Throws Error(interrupted) if the flag is set. Cheap; may be called in parallel loops.
void check_interrupt();
// Sets the flag when this process has used this much CPU time, all threads together [s].
void interrupt_after(double seconds);
// Waits until a pipe or socket can be read, or has been closed; throws as check_interrupt() does. Reading alone would
// not end on an interrupt: the system restarts it after the handler.
void wait_for_input(int descriptor);

} // namespace spindrift
