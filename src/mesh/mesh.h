// A triangle mesh with optional per-vertex normals and velocities.
#pragma once

#include "base/math.h"

#include <vector>

namespace spindrift {

struct Mesh {
    std::vector<Vec3f> positions;
    std::vector<Vec3i> triangles;  // counter-clockwise seen from outside
    std::vector<Vec3f> normals;    // empty, or one per vertex
    std::vector<Vec3f> velocities; // empty, or one per vertex [m/s]
};

Box3f bounds_of(const Mesh& mesh);
// Signed volume by the divergence theorem; meaningful for closed meshes only.
double volume_of(const Mesh& mesh);
// Angle-weighted vertex normals.
void compute_normals(Mesh& mesh);
// Every edge shared by exactly two triangles that run along it in opposite directions.
bool is_closed(const Mesh& mesh);

} // namespace spindrift
