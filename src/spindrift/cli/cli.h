// The command line.
#pragma once

namespace spindrift {

// Parses and carries out a command; returns the exit code. The one place where errors are caught and printed.
int run_command_line(int argc, char** argv);

} // namespace spindrift
