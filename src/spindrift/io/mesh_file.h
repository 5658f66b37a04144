// Meshes as PLY (binary or text) and OBJ.
#pragma once

#include "spindrift/mesh/mesh.h"

#include <string>
#include <string_view>

namespace spindrift {

// The names that an attribute of three numbers has if it is a colour, linear RGB.
inline bool is_color_name(std::string_view name) { return name == "color" || name == "Cd"; }

// By the ending of the name. Other numbers that a PLY has for each vertex become attributes, bytes red, green and blue
// the attribute "color" unless the file has that in full precision as well. Polygons are cut into
// triangles. Throws Error(bad_input) naming the file, and the line or byte where it can, for anything that is not a
// sound mesh: a missing or truncated file, an index out of range, NaN.
Mesh read_mesh(const std::string& path);
// Binary little-endian PLY with normals (nx ny nz) and velocities (vx vy vz) if the mesh has them and its attributes
// (a vector "c" as c_x c_y c_z), or OBJ, which has normals only. A colour is also written as bytes red, green, blue in
// sRGB, the only colours that Blender and MeshLab read. Atomic.
void write_mesh(const std::string& path, const Mesh& mesh);

} // namespace spindrift
