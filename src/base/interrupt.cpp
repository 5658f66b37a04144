#include "base/interrupt.h"

#include "base/error.h"

#include <csignal>

namespace spindrift {

namespace {

volatile std::sig_atomic_t interrupted = 0;

extern "C" void on_signal(int number)
{
    interrupted = 1;
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
