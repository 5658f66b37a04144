// Bakes a texture into the picture of an atlas (mesh/atlas.h), for programs that show meshes with pictures, and for
// textures finer than the mesh.
//
// Each pixel whose centre lies in a triangle of the atlas gets the colour of that place on the surface, and so do those
// that only an edge passes through. The gutter continues them, so that filters find no seam; the rest has the mean
// colour.
//
// Results are bit-identical for any number of threads. Time is linear in pixels and triangles.
#pragma once

#include "spindrift/mesh/atlas.h"

#include <functional>

namespace spindrift {

// The colour at a place on the surface: a triangle and barycentric weights. Called by many threads.
using ColorAt = std::function<Vec3f(int triangle, const Vec3f& weights)>;

// Row by row from the top, atlas.size pixels each.
std::vector<Vec3f> baked(const Atlas& atlas, const ColorAt& color_at);
// The colours of a mesh with the same triangles as the surface, and of another one, at its nearest points.
std::vector<Vec3f> baked_from_vertices(const Atlas& atlas, const Mesh& surface, const std::vector<Vec3f>& colors);
std::vector<Vec3f> baked_from_nearest(const Atlas& atlas, const Mesh& surface, const Mesh& colored,
                                      const std::vector<Vec3f>& colors);

} // namespace spindrift
