// The first bytes of a file, to refuse a large one of another kind before all of it is in memory.
#pragma once

#include <string>
#include <string_view>

namespace spindrift {

// False if it is a plain file that can be read and begins otherwise; a shorter one may be the beginning of `start`.
bool may_start_with(const std::string& path, std::string_view start);

} // namespace spindrift
