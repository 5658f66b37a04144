// The two formats behind read_mesh(), one of which also holds points; internal to this folder. `path` is for messages,
// `bytes` the whole file.
#pragma once

#include "spindrift/mesh/mesh.h"

#include <string>
#include <string_view>

namespace spindrift {

Mesh read_ply(const std::string& path, std::string_view bytes);
Mesh read_ply_vertices(const std::string& path, std::string_view bytes); // whatever faces there are or not
Mesh read_obj(const std::string& path, std::string_view bytes);

} // namespace spindrift
