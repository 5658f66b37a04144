#include "spindrift/track/params.h"

#include "spindrift/scene/limits.h"

namespace spindrift {

void TrackParams::visit(ParamVisitor& v)
{
    v("keep_volume", keep_volume,
      "Move the surface evenly to make up for lost volume, such as that of sheets thinner than a voxel. Sources add to "
      "the volume that is kept.");
    v("reference", reference,
      "Carry \"reference\": where each vertex was on the first surface, and \"reference_piece\": on which connected "
      "part of "
      "it, or from which source it came later. Other attributes are then taken from there, and stay sharp.");
    v("labels", labels,
      "Attributes that are copied from the nearest vertex in each step; all others but integers are blended.");
    v("directions", directions,
      "Attributes that turn with the flow, and stay tangent to the surface and of unit length.");
    v("curved", curved,
      "Take the surface between vertices as curved. Flat triangles cut off what bulges, and the surface shrinks.");
    v("jitter", jitter, "Move the grid from step to step, so that its pattern does not add up to creases.");
    v("smoothing", smoothing, unit::none, between(0, 1),
      "Share of a smoother surface, interpolated on the grid, in the place of vertices. Wears down bumps of a few "
      "voxels, "
      "as jitter does too: with both on, it changes little.");
    v("seed", seed, unit::none, limits::seed(), "Seed of the jitter.");
}

TrackSettings TrackParams::settings(float voxel, float flow_voxel, const std::optional<Box3f>& walls) const
{
    TrackSettings settings;
    settings.voxel = voxel, settings.walls = walls;
    settings.cells_per_part *= std::max(1.0f, flow_voxel / voxel); // a flow has no detail finer than its grid
    settings.curved = curved, settings.jitter = jitter, settings.smoothing = smoothing;
    settings.keep_volume = keep_volume, settings.reference = reference;
    settings.labels = labels, settings.directions = directions;
    settings.seed = static_cast<uint64_t>(seed);
    return settings;
}

} // namespace spindrift
