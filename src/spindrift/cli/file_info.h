// Describes a file that a stage or another program has written.
#pragma once

#include <string>

namespace spindrift {

// Returns lines for people. A frame pattern lists the frames on disk and describes the first. Throws Error.
std::string describe_file(const std::string& path_or_pattern);

} // namespace spindrift
