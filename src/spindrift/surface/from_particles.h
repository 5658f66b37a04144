// The two ways from particles to a surface, and what they share. make_surface() chooses one of them.
#pragma once

#include "spindrift/surface/blobs.h"
#include "spindrift/surface/fairing.h"
#include "spindrift/surface/surface.h"
#include "spindrift/surface/thin_walls.h"

#include <functional>

namespace spindrift {

// Gaps at walls that are filled, and their least depth below the surface, in spacings.
constexpr float kWallGap = 1.5f, kWallDepth = 0.6f;
// The facets of a drop in the mesh lie inside its ball, so the ball is enlarged by this [cells].
constexpr float kFacets = 0.11f;
constexpr size_t kSurfaceVerticesPerTask = 4096; // minimum per thread

// Each computes phi [cells] and the mesh, with velocities: from weighted means of the particles' centres, or from a
// blob for each particle.
void surface_from_centres(Particles& particles, float spacing, const SurfaceParams& params,
                          const std::optional<Box3f>& container, const ThinWalls* walls, Surface& surface);
void surface_from_blobs(Particles& particles, float spacing, const SurfaceParams& params,
                        const std::optional<Box3f>& container, const ThinWalls* walls, Surface& surface);

Fairing fairing_of(float spacing, const SurfaceParams& params); // `spacing` in cells
// Filters phi if requested. `particle` finds the particle next to each cell, which is expensive.
void filter_distance(const SurfaceParams& params, const Particles& particles,
                     const std::function<Field<uint32_t>()>& particle, Field<float>& phi, Surface& surface);
// The radius [m] of a drop after dilating and eroding; where one is left, it does not shrink to a point.
float filtered_drop(float radius, const SurfaceParams& params, float voxel);

} // namespace spindrift
