// Mesh files: PLY (binary or text) and OBJ.
//
//     Mesh mesh = read_mesh("ship.obj");
//     write_mesh("ship.ply", mesh);
#pragma once

#include "spindrift/mesh/mesh.h"

#include <string>
#include <string_view>

namespace spindrift {

// Names under which an attribute of three numbers is a colour (linear RGB).
inline bool is_color_name(std::string_view name) { return name == "color" || name == "Cd"; }

// Format by extension. Additional vertex properties of a PLY become attributes; byte properties red, green and blue
// become the attribute "color" unless the file also has it in full precision. Polygons are triangulated. Throws
// Error(bad_input) naming the file, and the line or byte where possible, if the file is missing, truncated or not a
// valid mesh: an index out of range, NaN.
Mesh read_mesh(const std::string& path);
// Writes binary little-endian PLY with normals (nx ny nz), velocities (vx vy vz) and attributes (a vector "c" as c_x
// c_y c_z) if the mesh has them; or OBJ, with normals only. A colour is also written as sRGB bytes red, green, blue,
// the only colours that Blender and MeshLab read. Atomic.
void write_mesh(const std::string& path, const Mesh& mesh);
// Writes an OBJ whose material shows a picture, and the material to an MTL file beside it. `picture` is a name in the
// same folder; corner k of triangle t is at places[triangles[t][k]] of it, (0, 0) being the lower left. Each is atomic.
void write_textured_mesh(const std::string& path, const Mesh& mesh, const std::vector<Vec2f>& places,
                         const std::vector<Vec3i>& triangles, const std::string& picture);

} // namespace spindrift
