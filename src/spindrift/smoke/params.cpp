#include "spindrift/smoke/params.h"
#include "spindrift/scene/limits.h"

#include <algorithm>
#include <set>

namespace spindrift {

void ScalarParams::visit(ParamVisitor& v)
{
    v("name", name, "What sources, expressions and files call it, e.g. \"fuel\".");
    v("dissipation", dissipation, unit::per_second, limits::rate(), "How fast it fades.");
    v.require(!name.empty(), "name", "a scalar needs a name, e.g. name = \"fuel\"");
    const std::set<std::string> taken = {"density", "temperature", "vel", "Cd"};
    v.require(!taken.contains(name), "name", "density, temperature, vel and Cd are there already");
}

void ScalarAmount::visit(ParamVisitor& v)
{
    v("name", name, "One of [[smoke.scalar]].");
    v("value", value, unit::none, between(-1e6, 1e6), "As density.");
    v.require(!name.empty(), "name", "which scalar? Name one of [[smoke.scalar]]");
}

void SourceNoiseParams::visit(ParamVisitor& v)
{
    v("amount", amount, unit::none, between(0, 1), "0: the same everywhere; 1: from nothing to twice as much.");
    v("size", size, unit::metres, limits::size(), "Of its features.");
    v("change", change, unit::per_second, between(0, 1e4), "How often it becomes another one; 0: never.");
    v("seed", seed, unit::none, limits::seed(), "Another number is another noise.");
}

void SmokeSourceParams::visit(ParamVisitor& v)
{
    ShapeParams::visit(v);
    v("particles", particles,
      "Particles instead of a shape, VDB points or PLY, e.g. \"points.####.vdb\"; the folder is relative to the "
      "scene's.");
    v("particle_size", particle_size, unit::metres, between(0, 1e6),
      "Radius in which a particle makes smoke. 0: its own, but at least a cell.");
    v("mode", mode, choices("fill", "add"),
      "What is in the source has at least these values, or gets as much a second.");
    v("density", density, unit::none, between(0, 1e4), "Of smoke. The look of 1 is up to render.smoke.density.");
    v("temperature", temperature, unit::kelvin, between(0, 1e5), "Above that of the air around.");
    v.list("scalar", scalars, "Other values that smoke carries.");
    v("color", color, unit::none, between(0, 1), "Red, green and blue of the smoke; written as Cd. By default white.");
    v("velocity", velocity, unit::metres_per_second, limits::velocity(),
      "Of the air in the source. Left out: what it is, or that of a shape that moves, or of the particles.");
    v("inherit", inherit, unit::none, between(0, 1), "Share of the velocity of a shape that moves, or of particles.");
    v.group("noise", noise, "Makes the source uneven.");
    v("first_frame", first_frame, unit::frames, limits::frame(),
      "Smokes from this frame on; by default with the shot.");
    v("last_frame", last_frame, unit::frames, limits::frame(), "Smokes up to this frame; by default with the shot.");
    v.require(first_frame <= last_frame, "last_frame", "the source ends before it starts");
}

void SmokeTurbulenceParams::visit(ParamVisitor& v)
{
    v("on", on, "Add eddies that are smaller than the grid can carry, and keep density on a grid that can show them.");
    v("two_way", two_way, "The flow itself is stirred by the eddies as well.");
    TurbulenceParams::visit(v);
    v.require(refine == 2 || refine == 4 || refine == 8, "refine", "must be 2, 4 or 8 for smoke");
}

SmokeParams::SmokeParams()
{
    for (auto* side : {&domain.x_min, &domain.x_max, &domain.y_min, &domain.y_max, &domain.z_min, &domain.z_max})
        *side = DomainParams::Side::open;
}

void SmokeParams::visit(ParamVisitor& v)
{
    v("voxel", voxel, unit::metres, limits::voxel(), "Edge of a grid cell.");
    v("advection", advection, choices("semi_lagrangian", "maccormack", "bfecc"),
      "How values are carried along: soft and cheap, sharp, or sharpest.");
    v("cfl", cfl, unit::cells, between(0.1, 6), "How far air may move in one substep.");
    v("sparse", sparse, "Compute only where smoke is; otherwise the whole domain.");
    v("threshold", threshold, unit::none, between(1e-9, 1e3),
      "Smoke thinner than this vanishes where there is nothing denser near.");
    v("padding", padding, unit::cells, between(1, 64), "How far around smoke the air is computed.");
    v("gravity", gravity, unit::metres_per_second2, limits::acceleration(), "Drives buoyancy.");
    v("ambient_temperature", ambient_temperature, unit::kelvin, between(1, 1e5), "Of the air around.");
    v("buoyancy", buoyancy, unit::none, between(-100, 100), "Of warm air, against what physics says.");
    v("weight", weight, unit::none, between(-100, 100),
      "How much heavier than air smoke of density 1 is: its share of gravity. Below 0 it rises without being warm.");
    v("dissipation", dissipation, unit::per_second, limits::rate(), "How fast density fades.");
    v("cooling", cooling, unit::per_second, limits::rate(), "How fast temperature fades.");
    v("confinement", confinement, unit::per_second, between(0, 1e3),
      "Vorticity confinement: strengthens the whirls that the grid wears down. 0: none; 10 is strong.");
    v("keep_mass", keep_mass, "Correct what advection adds to smoke or loses of it.");
    v("tolerance", tolerance, unit::none, between(1e-6, 0.1), "Relative residual at which the pressure solve ends.");
    v.group("turbulence", turbulence, "Eddies finer than the grid.");
    v.group("domain", domain, "The box that holds the smoke.");
    v.list("scalar", scalars, "Values besides density and temperature that smoke carries along.");
    v.list("source", sources, "Where smoke comes from.");
    v.list("force", forces, "Wind, noise and attraction.");
    v.list("collider", colliders, "Solids in the way of the smoke.");
    v.require(sparse || domain.bounded(), "sparse", "only a domain with min and max can be computed as a whole");
    v.require(cfl <= static_cast<float>(padding), "padding",
              "smoke could leave what is computed around it in one step; padding must be at least cfl");
    for (const SmokeSourceParams& source : sources)
        for (const ScalarAmount& amount : source.scalars)
            v.require(std::any_of(scalars.begin(), scalars.end(),
                                  [&](const ScalarParams& s) { return s.name == amount.name; }),
                      "source",
                      "a source names the scalar \"" + amount.name + "\", which no [[smoke.scalar]] is called");
}

bool SmokeParams::has_colors() const
{
    return std::any_of(sources.begin(), sources.end(), [](const SmokeSourceParams& s) { return s.color.has_value(); });
}

} // namespace spindrift
