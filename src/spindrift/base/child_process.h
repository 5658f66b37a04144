// Child processes.
// run_in_child() isolates work on files that may be malicious: libraries written for well-formed files may corrupt
// memory, allocate gigabytes or never return on others, and then only the child dies.
// run_this_program() starts this program again, to measure the memory that a run needs.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace spindrift {

struct ChildLimits {
    size_t memory = 0;        // bytes beyond the current size of this process
    unsigned cpu_seconds = 0; // the wall-clock limit is four times this plus 60 s
};

enum class ChildEnd { done, out_of_memory, out_of_time, crashed };

struct ChildResult {
    ChildEnd end = ChildEnd::crashed;
    std::string bytes; // returned by `body`; set if end is `done`
};

// Forks, runs body() in the child (which has one thread) and returns the bytes that it returns. Changes that body()
// makes to memory are lost. An exception in body() is rethrown here as an Error with the same message; std::bad_alloc
// gives out_of_memory. Throws Error(failed) if the fork fails.
// No other thread may hold a lock that body() needs at the time of the fork: the caller locks them and releases them in
// started(), which runs in the parent right after the fork.
ChildResult run_in_child(const ChildLimits& limits, const std::function<std::string()>& body,
                         const std::function<void()>& started);

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
