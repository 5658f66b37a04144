#include "spindrift/smoke/params.h"
#include "spindrift/scene/limits.h"

#include <algorithm>
#include <set>

namespace spindrift {

void ScalarParams::visit(ParamVisitor& v)
{
    v("name", name, "Name in sources, expressions and files, e.g. \"fuel\".");
    v("dissipation", dissipation, unit::per_second, limits::rate(), "Rate at which it decays.");
    v.require(!name.empty(), "name", "a scalar needs a name, e.g. name = \"fuel\"");
    const std::set<std::string> taken = {"density", "temperature", "vel", "Cd"};
    v.require(!taken.contains(name), "name", "density, temperature, vel and Cd are reserved names");
}

void ScalarAmount::visit(ParamVisitor& v)
{
    v("name", name, "One of [[smoke.scalar]].");
    v("value", value, unit::none, between(-1e6, 1e6), "Amount that the source emits, as for density.");
    v.require(!name.empty(), "name", "must be the name of one of [[smoke.scalar]]");
}

void SourceNoiseParams::visit(ParamVisitor& v)
{
    v("amount", amount, unit::none, between(0, 1), "0: uniform emission; 1: from zero to twice as much.");
    v("size", size, unit::metres, limits::size(), "Feature size of the noise.");
    v("change", change, unit::per_second, between(0, 1e4), "Rate at which the noise changes; 0 keeps it constant.");
    v("seed", seed, unit::none, limits::seed(), "Random seed of the noise.");
}

void SmokeSourceParams::visit(ParamVisitor& v)
{
    ShapeParams::visit(v);
    v("particles", particles,
      "Particles instead of a shape: VDB points or PLY, e.g. \"points.####.vdb\", relative to the scene's folder.");
    v("particle_size", particle_size, unit::metres, between(0, 1e6),
      "Radius within which a particle emits smoke. 0: the particle's own, but at least a cell.");
    v("mode", mode, choices("fill", "add"),
      "fill: values in the source are at least these; add: these amounts are added per second.");
    v("density", density, unit::none, between(0, 1e4),
      "Density of the smoke. render.smoke.density sets how opaque a density of 1 is.");
    v("temperature", temperature, unit::kelvin, between(0, 1e5), "Temperature above that of the ambient air.");
    v.list("scalar", scalars, "Amounts of other scalars.");
    v("color", color, unit::none, between(0, 1), "Red, green and blue of the smoke; written as Cd. By default white.");
    v("velocity", velocity, unit::metres_per_second, limits::velocity(),
      "Velocity of the air in the source. By default it is not set, except by a moving shape or by particles.");
    v("inherit", inherit, unit::none, between(0, 1),
      "Share of the velocity of a moving shape or of particles that the air takes on.");
    v.group("noise", noise, "Noise on the emission.");
    FrameSpan::visit(v, "the emission");
}

void SmokeTurbulenceParams::visit(ParamVisitor& v)
{
    v("on", on, "Adds eddies below the grid's resolution, and moves density to a finer grid that resolves them.");
    v("two_way", two_way, "Eddies also advect the flow itself.");
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
      "Advection scheme: cheap and diffusive, sharp, or sharpest.");
    v("cfl", cfl, unit::cells, between(0.1, 6), "Largest distance that air moves in a substep.");
    v("sparse", sparse, "Simulate only around smoke; otherwise the whole domain.");
    v("threshold", threshold, unit::none, between(1e-9, 1e3),
      "Smoke thinner than this is removed if nothing denser is near.");
    v("padding", padding, unit::cells, between(1, 64), "Width of the simulated air around smoke.");
    v("gravity", gravity, unit::metres_per_second2, limits::acceleration(), "Drives buoyancy.");
    v("ambient_temperature", ambient_temperature, unit::kelvin, between(1, 1e5), "Temperature of the ambient air.");
    v("buoyancy", buoyancy, unit::none, between(-100, 100), "Factor on the physical buoyancy of warm air.");
    v("weight", weight, unit::none, between(-100, 100),
      "Downward acceleration of smoke of density 1, as a fraction of gravity. Negative values make it rise.");
    v("dissipation", dissipation, unit::per_second, limits::rate(), "Rate at which density decays.");
    v("cooling", cooling, unit::per_second, limits::rate(), "Rate at which temperature decays.");
    v("confinement", confinement, unit::per_second, between(0, 1e3),
      "Vorticity confinement: amplifies vortices that the grid damps. 0: none; 10 is strong.");
    v("keep_mass", keep_mass, "Correct advection errors in the total of each scalar.");
    v("tolerance", tolerance, unit::none, between(1e-6, 0.1), "Relative residual at which the pressure solve ends.");
    v.group("turbulence", turbulence, "Eddies below the grid's resolution.");
    v.group("domain", domain, "The simulation box.");
    v.list("scalar", scalars, "Scalars advected besides density and temperature.");
    v.list("source", sources, "Sources of smoke.");
    v.list("force", forces, "Wind, noise and attraction.");
    v.list("collider", colliders, "Solids in the way of the smoke.");
    v.require(sparse || domain.bounded(), "sparse", "sparse = false needs a domain with min and max");
    v.require(cfl <= static_cast<float>(padding), "padding",
              "must be at least cfl, or smoke could leave the simulated air in one substep");
    for (const SmokeSourceParams& source : sources)
        for (const ScalarAmount& amount : source.scalars)
            v.require(std::any_of(scalars.begin(), scalars.end(),
                                  [&](const ScalarParams& s) { return s.name == amount.name; }),
                      "source",
                      "a source names the scalar \"" + amount.name +
                          "\", which is not declared in any [[smoke.scalar]]");
}

bool SmokeParams::has_colors() const
{
    return std::any_of(sources.begin(), sources.end(), [](const SmokeSourceParams& s) { return s.color.has_value(); });
}

} // namespace spindrift
