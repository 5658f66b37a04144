#include "spindrift/base/interrupt.h"

#include "spindrift/base/error.h"

#include <atomic>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <poll.h>
#include <sys/time.h>

namespace spindrift {

namespace {

std::atomic<bool> interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free, "signal handlers must not block");

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
    // With SIGXFSZ ignored, write() returns an error when a file exceeds the size limit.
    std::signal(SIGXFSZ, SIG_IGN);
}

void check_interrupt()
{
    if (interrupted) throw Error(ExitCode::interrupted, "interrupted");
}

void interrupt_after(double seconds)
{
    std::signal(SIGPROF, on_signal);
    const double whole = std::floor(seconds);
    const itimerval timer = {{0, 0}, {static_cast<time_t>(whole), static_cast<suseconds_t>(1e6 * (seconds - whole))}};
    ::setitimer(ITIMER_PROF, &timer, nullptr);
}

void wait_for_input(int descriptor)
{
    constexpr int milliseconds = 250; // a signal may arrive between the check and the wait
    pollfd ready = {descriptor, POLLIN, 0};
    for (int count = 0; count == 0 || (count < 0 && errno == EINTR); count = ::poll(&ready, 1, milliseconds))
        check_interrupt();
}

} // namespace spindrift
