// The one exception type. Library code throws it and never ends the process; `main` catches it, prints the message and
// exits with its code. A message says what is wrong, where, and how to fix it.
#pragma once

#include <fmt/format.h>
#include <stdexcept>
#include <string>

namespace spindrift {

enum class ExitCode { ok = 0, failed = 1, bad_input = 2, interrupted = 130 };

class Error : public std::runtime_error {
  public:
    Error(ExitCode exit_code, const std::string& message) : std::runtime_error(message), code(exit_code) {}
    ExitCode code;
};

// The user's input cannot be processed; thrown before anything is computed or written.
template <class... Args> [[noreturn]] void bad_input(fmt::format_string<Args...> format, Args&&... args)
{
    throw Error(ExitCode::bad_input, fmt::format(format, std::forward<Args>(args)...));
}

// A failure at run time, such as a full disk or a damaged cache file.
template <class... Args> [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args)
{
    throw Error(ExitCode::failed, fmt::format(format, std::forward<Args>(args)...));
}

} // namespace spindrift
