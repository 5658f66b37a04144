// A saved state that cannot be gone on from, because it is damaged or not what its solver wrote. Thrown before the
// solver takes any of it.
#pragma once

#include "spindrift/base/error.h"

namespace spindrift {

class StateError : public Error {
  public:
    explicit StateError(const std::string& message) : Error(ExitCode::failed, message) {}
};

template <class... Args> [[noreturn]] void bad_state(fmt::format_string<Args...> format, Args&&... args)
{
    throw StateError(fmt::format(format, std::forward<Args>(args)...));
}

} // namespace spindrift
