#include "spindrift/shaped_smoke/params.h"

#include "spindrift/scene/limits.h"

namespace spindrift {

void MarkerSourceParams::visit(ParamVisitor& v)
{
    ShapeParams::visit(v);
    v("particles", particles,
      "Points instead of a shape, each of them a marker: VDB points or PLY, relative to the scene's folder. With a "
      "pattern, e.g. \"points.####.vdb\", those of the first frame.");
    v("density", density, unit::none, between(1e-6, 1e6), "Markers per volume, relative to the other sources.");
}

void TargetParams::visit(ParamVisitor& v)
{
    ShapeParams::visit(v);
    v("frame", frame, unit::frames, limits::integer(),
      "Frame at which the smoke begins to take this shape. It leaves the shape at the frame of the next target. "
      "Default: the first frame.");
    v("let_go", let_go, unit::frames, limits::frame(),
      "Frame at which the smoke is let go; until the next target, only wind and vortices move it. By default it is "
      "not.");
    v("share", share, unit::none, between(1e-6, 1e6),
      "Share of the smoke, relative to the other targets with the same frame, which are formed at the same time. "
      "Only needed there.");
    v.require(!invert, "invert", "a target must be finite");
    v.require(shape != Kind::half_space, "shape", "a target must be finite; a half_space is not");
    v.require(!let_go || *let_go > static_cast<float>(frame), "let_go", "must be after the target's frame");
}

void AttractionParams::visit(ParamVisitor& v)
{
    v("strength", strength, unit::metres_per_second2, between(0, 1e6),
      "Acceleration of control particles to their targets. Higher: the smoke gathers faster and is less turbulent.");
    v("slowing", slowing, unit::metres, limits::size(),
      "Distance to the target within which the attraction grows linearly; beyond it is constant.");
    v("arrival", arrival, unit::metres, between(0, 1e6), "Distance to the target within which there is no attraction.");
    v("damping", damping, unit::per_second, limits::rate(), "Rate at which control particles lose velocity.");
    v("follow", follow, unit::none, between(0, 1),
      "1: damping acts against the motion of the target, so that the smoke keeps up with it; 0: against rest.");
    v("swaps", swaps, unit::none, between(1, 1e7),
      "Pairs of control particles per frame whose targets are exchanged if that shortens their paths.");
}

void VortexParams::visit(ParamVisitor& v)
{
    v("count", count, unit::none, between(0, 1e7), "Maximum number of vortex particles; 0: no turbulence.");
    v("radius", radius, unit::metres, limits::size(), "Mean radius of a vortex.");
    v("strength", strength, unit::per_second, between(0, 1e4), "Mean angular velocity at the centre of a vortex.");
    v("variation", variation, unit::none, between(0, 0.9), "Variation of radii and strengths, relative to the mean.");
    v("speed", speed, unit::metres_per_second, limits::speed(),
      "New vortices appear in smoke whose turbulent velocity is below this.");
    v("exchange", exchange, unit::per_second, limits::rate(),
      "Rate at which near vortices exchange strength, which aligns them: a viscosity.");
    v("exchange_distance", exchange_distance, unit::metres, limits::size(),
      "Distance at which vortices no longer exchange strength.");
    v("spin", spin, "Turn vortices with the velocity gradient.");
}

void RedistributionParams::visit(ParamVisitor& v)
{
    v("rate", rate, unit::none, between(0, 1),
      "Share of the markers that is tested per frame; those outside the control particles are placed back among them. "
      "0: never; higher values sharpen the shape.");
    v("threshold", threshold, unit::none, between(0, 1),
      "A marker is outside where control particles fill less than this share of its surroundings. It is 0.72 at a flat "
      "surface of the shape and less at its edges; lower values leave a margin around the shape.");
    v("even", even, unit::none, between(0, 1),
      "0: place markers anywhere among the control particles; 1: where markers are missing, and also take them from "
      "crowded places.");
}

void ShapedSmokeParams::visit(ParamVisitor& v)
{
    v("voxel", voxel, unit::metres, limits::voxel(),
      "Edge of a grid cell. Parts of a target thinner than about two cells blur.");
    v("substeps", substeps, unit::none, between(1, 100), "Steps per frame.");
    v("markers", markers, unit::none, between(1, 5e8), "Number of smoke markers, besides those of caches.");
    v("controls", controls, unit::none, between(1, 1e7), "Number of control particles, approximately.");
    v("marker_radius", marker_radius, unit::cells, between(1, kMostBlurCells),
      "Radius over which markers are blurred to a density.");
    v("control_radius", control_radius, unit::cells, between(1, kMostBlurCells),
      "Radius over which control particles are blurred to a density. Smaller: sharper shapes.");
    v("velocity_radius", velocity_radius, unit::cells, between(1, kMostVelocityCells),
      "Radius within which a control particle moves the smoke. Larger: smoother motion.");
    v("place_every_frame", place_every_frame,
      "Place control particles in every frame where smoke has few, instead of only when a shape begins.");
    v("project", project, "Make the control velocity divergence-free with a pressure solve.");
    v("tolerance", tolerance, unit::none, between(1e-7, 0.1), "Relative residual of this pressure solve.");
    v("contain", contain, "Keep smoke that has arrived within the shape, by its signed distance.");
    v.rows("wind", wind, 4, unit::none,
           "Wind where no control particle is near: keyframes [frame, x, y, z] with a velocity in m/s.");
    v("seed", seed, unit::none, limits::seed(), "Random seed.");
    v.group("attraction", attraction, "How smoke is drawn to its targets.");
    v.group("vortices", vortices, "Turbulence.");
    v.group("redistribution", redistribution, "Return of smoke that left the shape.");
    v.list("source", sources, "Where smoke comes from.");
    v.list("target", targets, "The shapes that the smoke takes, one after the other.");
    v.require(in_order(wind), "wind", "keyframes must be in ascending order of frames");
    const float largest = vortices.radius * (1 + vortices.variation) / voxel;
    v.require(vortices.count == 0 || largest <= kMostVortexCells, "vortices",
              "the radius of a vortex, with its variation, must be at most 32 cells; raise voxel, or lower "
              "vortices.radius");
}

} // namespace spindrift
