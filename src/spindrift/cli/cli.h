// The command line.
#pragma once

namespace spindrift {

// Parses and runs a command; returns the exit code. Throws whatever stops it.
int run_command_line(int argc, char** argv);

} // namespace spindrift
