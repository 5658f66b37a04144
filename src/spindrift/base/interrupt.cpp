#include "spindrift/base/interrupt.h"

#include "spindrift/base/error.h"

#include <atomic>
#include <csignal>

namespace spindrift {

namespace {

std::atomic<bool> interrupted = false; // read by all threads
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may not wait");

extern "C" void on_signal(int number)
{
    interrupted = true;
    std::signal(number, SIG_DFL);
}

} // namespace

void catch_interrupts()
{
    std::signal(SIGINT, on_signal);
    std::signal(SIGTERM, on_signal);
    // A file that grows beyond a limit of the system is then an error of write(), not the end of the process.
    std::signal(SIGXFSZ, SIG_IGN);
}

void check_interrupt()
{
    if (interrupted) throw Error(ExitCode::interrupted, "interrupted");
}

} // namespace spindrift
