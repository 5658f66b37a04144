// Starting this program again, to measure the memory that a run needs.
#pragma once

#include <string>
#include <vector>

namespace spindrift {

struct ProgramResult {
    std::string output;
    double memory = 0; // peak of the child, or of this process if that is larger [bytes]
};

// Runs this program with these arguments and returns its standard output; empty if it cannot start or fails. Its
// standard error is discarded. On an interrupt, kills the child and throws Error(interrupted).
ProgramResult run_this_program(const std::vector<std::string>& arguments);
// Called by a program that run_this_program() started: the kernel kills it when its parent exits.
void end_with_parent();

} // namespace spindrift
