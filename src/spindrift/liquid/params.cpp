#include "spindrift/liquid/params.h"
#include "spindrift/scene/limits.h"

#include <algorithm>

namespace spindrift {

void SourceParams::visit(ParamVisitor& v)
{
    visit_filling(v, "liquid");
    v("color", color, unit::none, between(0, 1), "Linear RGB colour that particles carry as the attribute color.");
    v("material", material, unit::none, limits::integer(), "Index that particles carry as the attribute material.");
    v("viscosity", viscosity, unit::pascal_seconds, between(0, 1e6),
      "Viscosity of the liquid from this source. Default: liquid.viscosity. Particles carry it as an attribute.");
    v("temperature", temperature, unit::celsius, limits::celsius(),
      "Temperature of the liquid from this source; viscosity then follows liquid.heat. Default, if any source has one: "
      "that of the air.");
    FrameSpan::visit(v, "the flow");
}

void SinkParams::visit(ParamVisitor& v)
{
    ShapeParams::visit(v);
    FrameSpan::visit(v, "draining");
}

void HeatParams::visit(ParamVisitor& v)
{
    v("air", air, unit::celsius, limits::celsius(), "Temperature of the air.");
    v("air_rate", air_rate, unit::per_second, limits::rate(),
      "Rate at which liquid at the surface approaches the air's temperature.");
    v("solid", solid, unit::celsius, limits::celsius(), "Temperature of solids.");
    v("solid_rate", solid_rate, unit::per_second, limits::rate(),
      "Rate at which liquid at solids approaches their temperature.");
    v("diffusivity", diffusivity, unit::metres2_per_second, between(0, 1e3), "Thermal diffusivity within the liquid.");
    v("cold", cold, unit::celsius, limits::celsius(), "Temperature of cold_viscosity.");
    v("cold_viscosity", cold_viscosity, unit::pascal_seconds, between(1e-6, 1e6),
      "Viscosity at and below the temperature cold.");
    v("hot", hot, unit::celsius, limits::celsius(), "Temperature of hot_viscosity.");
    v("hot_viscosity", hot_viscosity, unit::pascal_seconds, between(1e-6, 1e6),
      "Viscosity at and above the temperature hot.");
    v.require(cold < hot, "hot", "must be above the temperature of cold_viscosity");
}

void LiquidTurbulenceParams::visit(ParamVisitor& v)
{
    v("on", on,
      "Stir the liquid by eddies smaller than its grid resolves. [ripples] then shows the ripples that they cause "
      "here, and needs no turbulence of its own.");
    RippleParams::visit(v);
}

bool LiquidParams::has_heat() const
{
    return std::any_of(sources.begin(), sources.end(), [](const SourceParams& s) { return s.temperature.has_value(); });
}

bool LiquidParams::viscosity_varies() const
{
    return has_heat() ||
           std::any_of(sources.begin(), sources.end(), [](const SourceParams& s) { return s.viscosity.has_value(); });
}

bool LiquidParams::has_colors() const
{
    return std::any_of(sources.begin(), sources.end(), [](const SourceParams& s) { return s.color.has_value(); });
}

bool LiquidParams::has_materials() const
{
    return std::any_of(sources.begin(), sources.end(), [](const SourceParams& s) { return s.material != 0; });
}

bool LiquidParams::viscous() const
{
    return viscosity > 0 || elasticity > 0 || has_heat() ||
           std::any_of(sources.begin(), sources.end(), [](const SourceParams& s) { return s.viscosity > 0.0f; });
}

void TrackedParams::visit(ParamVisitor& v)
{
    v("voxel", voxel, unit::metres, limits::voxel(),
      "Edge of the finest cells of the surface. Default: half a voxel of the liquid.");
    TrackParams::visit(v);
}

void LiquidParams::visit(ParamVisitor& v)
{
    v("voxel", voxel, unit::metres, limits::voxel(), "Edge length of a grid cell.");
    v("transfer", transfer, choices("pic", "flip", "apic"), "Velocity transfer between particles and grid.");
    v("flip", flip, unit::none, between(0, 1), "Share of FLIP in the blend; the rest is PIC.");
    v("cfl", cfl, unit::cells, between(0.1, kMaxAdvectionCells), "Largest distance that liquid moves in one substep.");
    v("advection_order", advection_order, unit::none, between(2, 3),
      "Order of the Runge-Kutta method that moves particles.");
    v("gravity", gravity, unit::metres_per_second2, limits::acceleration(), "Gravitational acceleration.");
    v("density", density, unit::kg_per_metre3, limits::density(),
      "Density of the liquid; relevant with viscosity, surface tension or bodies.");
    v("viscosity", viscosity, unit::pascal_seconds, between(0, 1e6),
      "Dynamic viscosity: water 0.001, oil 0.1, honey 10, tar 1000. Viscous liquid sticks to solids. 0: inviscid.");
    v("surface_tension", surface_tension, unit::newtons_per_metre, between(0, 100),
      "Surface tension; water has 0.072. Visible below a centimetre; shortens the step on fine grids.");
    v("contact_angle", contact_angle, unit::degrees, between(0, 180),
      "Angle at which the surface meets solids, measured in the liquid: small for wetting liquids.");
    v("elasticity", elasticity, unit::pascals, between(0, 1e6), "Shear modulus: jelly 1000, clay 1e5. 0: not elastic.");
    v("yield_strain", yield_strain, unit::none, between(0, 1e3),
      "Elastic strain (Frobenius norm) up to which the liquid springs back; above it, it flows.");
    v("relaxation", relaxation, unit::per_second, limits::rate(),
      "Rate at which elastic strain above yield_strain relaxes: jelly 0, goo 5, clay 50.");
    v("tolerance", tolerance, unit::none, between(1e-6, 0.1), "Relative residual at which the pressure solve ends.");
    v("keep_volume", keep_volume, "Move crowded particles apart, so that the volume does not drift.");
    v("seed", seed, unit::none, limits::seed(), "Seed of the jitter of new particles.");
    v("surface", surface, choices("particles", "tracked"),
      "Where the liquid's surface comes from: found from the particles in each step, or a mesh that is carried along "
      "with the flow, keeps detail and carries colours; it is written beside the particles.");
    v.group("tracked", tracked, "The tracked surface.");
    v.group("heat", heat, "Temperature-dependent viscosity, used if a source has a temperature.");
    v.group("turbulence", turbulence, "Eddies and ripples finer than the grid.");
    v.group("domain", domain, "The simulated box.");
    v.list("source", sources, "Sources of liquid.");
    v.list("sink", sinks, "Regions that remove liquid.");
    v.list("force", forces, "Wind, noise and attraction, besides gravity.");
    v.list("collider", colliders, "Solid obstacles.");
    v.list("body", bodies, "Rigid bodies, coupled two-way with the liquid.");
}

} // namespace spindrift
