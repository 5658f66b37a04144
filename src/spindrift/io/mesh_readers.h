// Parsers behind read_mesh(); internal to this folder. `path` is used in messages, `bytes` is the whole file.
#pragma once

#include "spindrift/mesh/mesh.h"

#include <string>
#include <string_view>

namespace spindrift {

Mesh read_ply(const std::string& path, std::string_view bytes);
Mesh read_ply_vertices(const std::string& path, std::string_view bytes); // ignores faces
Mesh read_obj(const std::string& path, std::string_view bytes);

} // namespace spindrift
