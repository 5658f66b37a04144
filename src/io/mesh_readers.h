// The two mesh formats behind read_mesh(); internal to this folder. `path` is for messages, `bytes` the whole file.
#pragma once

#include "mesh/mesh.h"

#include <string>
#include <string_view>

namespace spindrift {

Mesh read_ply(const std::string& path, std::string_view bytes);
Mesh read_obj(const std::string& path, std::string_view bytes);

} // namespace spindrift
