// The command line.
#pragma once

namespace spindrift {

// Parses and runs a command; returns the exit code. The only place where errors are caught and printed.
int run_command_line(int argc, char** argv);

} // namespace spindrift
