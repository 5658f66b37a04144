// What is in a file that a stage, or another program, has written.
#pragma once

#include <string>

namespace spindrift {

// Lines for people. A frame pattern describes the first frame on disk and says which frames there are. Throws Error.
std::string describe_file(const std::string& path_or_pattern);

} // namespace spindrift
