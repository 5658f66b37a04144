// Error for a saved state that cannot be resumed from: it is damaged, or its solver did not write it. Thrown before the
// solver changes anything.
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
