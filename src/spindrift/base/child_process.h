// Work on files that may be damaged on purpose, in a child process: libraries that were written for honest files
// corrupt memory, ask for gigabytes or never end, and the child takes that with it. And this program once more, to
// measure what it takes.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace spindrift {

struct ChildLimits {
    size_t memory = 0;        // bytes beyond what this process has now
    unsigned cpu_seconds = 0; // the wall clock may take four times as long, and a minute more
};

enum class ChildEnd { done, out_of_memory, out_of_time, crashed };

struct ChildResult {
    ChildEnd end = ChildEnd::crashed;
    std::string bytes; // of `body`, if it is done
};

// Runs body() in a copy of this process that has one thread, and returns its bytes. What `body` throws is thrown here,
// as an Error with the same message; std::bad_alloc gives out_of_memory. What `body` does to memory is lost. Throws
// Error(failed) if no process can be made.
// No other thread may hold a lock that `body` needs until started() is called, here, once the child is there.
ChildResult run_in_child(const ChildLimits& limits, const std::function<std::string()>& body,
                         const std::function<void()>& started);

struct ProgramResult {
    std::string output;
    double memory = 0; // at the peak, or what this process has held if that is more [bytes]
};

// Runs this program anew with these arguments and returns what it writes to its standard output; nothing if it cannot
// be started or fails. What it says on standard error is dropped. Throws Error(interrupted), and then ends it.
ProgramResult run_this_program(const std::vector<std::string>& arguments);
// For a program that was started so: it ends when the one that started it does.
void end_with_parent();

} // namespace spindrift
