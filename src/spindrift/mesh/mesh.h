// A triangle mesh with optional per-vertex normals, velocities and named attributes.
#pragma once

#include "spindrift/points/particles.h"

namespace spindrift {

struct Mesh {
    std::vector<Vec3f> positions;
    std::vector<Vec3i> triangles;                     // counter-clockwise seen from outside
    std::vector<Vec3f> normals;                       // empty, or one per vertex
    std::vector<Vec3f> velocities;                    // empty, or one per vertex [m/s]
    std::map<std::string, AttributeArray> attributes; // one value per vertex each
};

Box3f bounds_of(const Mesh& mesh);
// Signed volume by the divergence theorem; valid for closed meshes only.
double volume_of(const Mesh& mesh);
// Angle-weighted vertex normals.
void compute_normals(Mesh& mesh);
// Removes vertices whose entry is zero, and the triangles that use one; the others keep their order.
void keep_vertices(Mesh& mesh, const std::vector<uint8_t>& keep);
// True if every edge is shared by exactly two triangles that traverse it in opposite directions.
bool is_closed(const Mesh& mesh);

} // namespace spindrift
