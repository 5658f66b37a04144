// The scene that `spindrift new` writes.
#pragma once

#include <string>

namespace spindrift {

std::string scene_template(const std::string& name);

} // namespace spindrift
