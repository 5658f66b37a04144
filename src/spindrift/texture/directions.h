// Fields of tangential directions, which turn with the flow, and the map of texels that they are carried along.
#pragma once

#include "spindrift/texture/frame_map.h"

namespace spindrift {

// A smooth field to start from.
std::vector<Vec3f> first_directions(const Mesh& mesh);
// Turns directions that were carried along a map as the surface around each vertex has turned, and makes them tangent
// and of unit length.
void turn_directions(const Mesh& before, const Mesh& now, const std::vector<SurfacePoint>& from,
                     std::vector<Vec3f>& directions);
// Turns directions towards that of the fastest stretching, or away from it if that is nearer [Narain 2011, (2.7)].
// `strain` (texture/features.h) of the vertices. With a strength of 1 the flow turns them as fast as it turns lines
// that it carries along, but for where stretching hardly depends on the direction: `strength` times as fast.
void turn_to_stretching(const std::vector<Vec3f>& normals, const std::vector<Mat3f>& strain, float strength,
                        float seconds, std::vector<Vec3f>& directions);

// From each texel of a frame to its place on the texels of the frame before: by its place on the frame's surface
// (`on_surface`), from there along the map of surfaces (`from`), and to the nearest triangle of texels.
std::vector<SurfacePoint> map_of_texels(const Mesh& texels_before, float texel, const Mesh& surface_before,
                                        const Mesh& surface, const std::vector<SurfacePoint>& from,
                                        const std::vector<SurfacePoint>& on_surface);

} // namespace spindrift
