// What is wrong with a mesh of another program, for messages. Triangles are counted from zero in the order of the file,
// polygons as they are split on reading.
#pragma once

#include "spindrift/mesh/mesh.h"

#include <optional>
#include <string>

namespace spindrift {

// A copy in which vertices at the same place are one: many programs write one vertex per normal or texture coordinate.
// Triangles keep their numbers; some may have lost their area.
Mesh with_joined_vertices(const Mesh& mesh);

// Why the mesh has no inside: the first triangle with an edge that is not shared by exactly two triangles in opposite
// directions, in words. Nothing if there is none. Triangles with fewer than three corners do not count.
std::optional<std::string> open_edge(const Mesh& mesh);

// What a closed mesh is used in spite of, in words: it is inside out, or a part of it that is no cavity is; it has
// triangles without area, or passes through itself (not looked for in meshes of more than 300 thousand triangles).
std::vector<std::string> oddities(const Mesh& mesh);

} // namespace spindrift
