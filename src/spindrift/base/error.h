// The one exception type. Library code throws it and never ends the process; `main` catches it, prints it and exits
// with its code. A message names what is wrong, where, and what to do about it.
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

// What the user wrote cannot be done: nothing has been computed or written yet.
template <class... Args> [[noreturn]] void bad_input(fmt::format_string<Args...> format, Args&&... args)
{
    throw Error(ExitCode::bad_input, fmt::format(format, std::forward<Args>(args)...));
}

// Something went wrong while working: a full disk, a damaged cache file.
template <class... Args> [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args)
{
    throw Error(ExitCode::failed, fmt::format(format, std::forward<Args>(args)...));
}

} // namespace spindrift
