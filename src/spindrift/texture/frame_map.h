// From each vertex of a surface to its place on the surface of the frame before, along which textures are carried.
//
// Tracked surfaces bring this map along (`origin_triangle`, `origin_weights`, see track/tracker.h). Any other surface
// needs velocities: each vertex steps back along them to where it was, and takes the nearest point of the earlier
// surface. Meshes whose triangles stay the same need neither.
//
// The two sides of a thin sheet are told apart by their normals.
//
// Limits: the nearest point may be on another part of the surface that faces the same way, if that is nearer than the
// error of the path.
#pragma once

#include "spindrift/mesh/distance.h"
#include "spindrift/track/properties.h"

#include <optional>

namespace spindrift {

enum class MapSource {
    best,       // origins, or else velocities, or else vertices
    origins,    // of a tracked surface
    velocities, // stepping back
    vertices    // the same triangles in all frames
};

struct FrameMapSettings {
    MapSource source = MapSource::best;
    // Velocities are the motion since the frame before, as in our own files. Otherwise they are those of the moment,
    // and paths are curved by those of both frames.
    bool motion = true;
    // A vertex farther than this from the earlier surface is new [m]. Default: four of its edges in the mean.
    std::optional<float> reach = {};
};

// Triangle -1 for vertices that are new, as all are after a frame without triangles. Throws Error(failed) if there is
// no map, or if it does not fit `before`.
std::vector<SurfacePoint> frame_map(const Mesh& before, const Mesh& now, float seconds,
                                    const FrameMapSettings& settings);

double mean_edge(const Mesh& mesh); // [m]; 0 without triangles

} // namespace spindrift
