// Helpers that set up shaped smoke.
#pragma once

#include "shaped_smoke/target_meshes.h"
#include "spindrift/io/mesh_file.h"
#include "spindrift/shaped_smoke/shaped_smoke.h"

#include <fmt/format.h>

namespace spindrift {

inline MarkerSourceParams marker_ball(const Vec3f& center, float radius)
{
    MarkerSourceParams source;
    source.shape = ShapeParams::Kind::sphere;
    source.center = center, source.radius = radius;
    return source;
}

inline TargetParams target_ball(const Vec3f& center, float radius)
{
    TargetParams target;
    target.shape = ShapeParams::Kind::sphere;
    target.center = center, target.radius = radius;
    return target;
}

inline TargetParams target_mesh(const std::string& file)
{
    TargetParams target;
    target.shape = ShapeParams::Kind::mesh, target.file = file;
    return target;
}

// Smoke in a ball of 0.35 m, with cells of 2 cm: for targets of about a metre.
inline ShapedSmokeParams smoke_of_a_metre()
{
    ShapedSmokeParams params;
    params.voxel = 0.02f, params.markers = 100000, params.controls = 10000;
    params.vortices.radius = 0.1f, params.vortices.speed = 0.2f, params.vortices.exchange_distance = 0.05f;
    params.sources = {marker_ball(Vec3f(0, 0.6f, 0), 0.35f)};
    return params;
}

// The creature stands until `stands` and walks from then on; one file per frame. Returns the pattern.
inline std::string write_walk(const std::string& folder, int frames, int stands)
{
    for (int f = 1; f <= frames; ++f)
        write_mesh(fmt::format("{}/walk.{:04}.obj", folder, f),
                   creature_mesh(static_cast<float>(std::max(0, f - stands)) / 24));
    return folder + "/walk.####.obj";
}

} // namespace spindrift
