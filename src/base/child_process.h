// Work on files that may be damaged on purpose, in a child process: libraries that were written for honest files
// corrupt memory, ask for gigabytes or never end, and the child takes that with it.
#pragma once

#include <functional>
#include <string>

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

} // namespace spindrift
