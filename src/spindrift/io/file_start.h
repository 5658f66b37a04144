// Checks the first bytes of a file, to reject a large file of another format before reading all of it.
#pragma once

#include <string>
#include <string_view>

namespace spindrift {

// False if `path` is a readable plain file that begins with other bytes. A file shorter than `start` passes if it
// matches as far as it goes.
bool may_start_with(const std::string& path, std::string_view start);

} // namespace spindrift
