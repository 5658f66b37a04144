// Meshes in the states of stages.
#pragma once

#include "spindrift/io/state_file.h"
#include "spindrift/mesh/mesh.h"

namespace spindrift {

// Rows of three integers and three floats as the arrays of a state. Throws StateError if a value is out of range.
void put_rows(std::vector<uint64_t>& out, const std::vector<Vec3i>& rows);
std::vector<Vec3i> rows_of(const std::vector<uint64_t>& from, int64_t least, int64_t most);
std::vector<float> flat(const std::vector<Vec3f>& vectors);
std::vector<Vec3f> vectors_from(const std::vector<float>& all);

// Positions, normals, velocities, triangles and attributes under names that begin with a prefix. Throws StateError if
// they do not fit together.
void save_mesh(const Mesh& mesh, const std::string& prefix, StateFile& file);
Mesh load_mesh(const StateFile& file, const std::string& prefix);

} // namespace spindrift
