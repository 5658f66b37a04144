#include "spindrift/liquid/params.h"
#include "spindrift/scene/limits.h"

#include <algorithm>

namespace spindrift {

void SourceParams::visit(ParamVisitor& v)
{
    ShapeParams::visit(v);
    v("mode", mode, choices("initial", "flow"),
      "Filled once at the start, or kept filled from first_frame to last_frame.");
    v("velocity", velocity, unit::metres_per_second, limits::velocity(), "Velocity of the liquid where it appears.");
    v("inherit", inherit, unit::none, between(0, 1),
      "Share of the shape's own motion, where it has any, that is added to that velocity.");
    v("color", color, unit::none, between(0, 1), "Red, green and blue that particles carry as the attribute color.");
    v("material", material, unit::none, limits::integer(), "A number that particles carry as the attribute material.");
    v("viscosity", viscosity, unit::pascal_seconds, between(0, 1e6),
      "Of the liquid from this source; by default liquid.viscosity. Particles then carry it as an attribute.");
    v("temperature", temperature, unit::celsius, limits::celsius(),
      "Of the liquid from this source; viscosity then follows liquid.heat. If one source has it, by default air's.");
    v("first_frame", first_frame, unit::frames, limits::frame(),
      "Flow starts at this frame; by default with the shot.");
    v("last_frame", last_frame, unit::frames, limits::frame(), "Flow ends after this frame; by default with the shot.");
    v.require(first_frame <= last_frame, "last_frame",
              "the flow ends before it starts; last_frame must not be before first_frame");
}

void SinkParams::visit(ParamVisitor& v)
{
    ShapeParams::visit(v);
    v("first_frame", first_frame, unit::frames, limits::frame(),
      "Drains from this frame on; by default with the shot.");
    v("last_frame", last_frame, unit::frames, limits::frame(), "Drains up to this frame; by default with the shot.");
    v.require(first_frame <= last_frame, "last_frame", "the sink ends before it starts");
}

void HeatParams::visit(ParamVisitor& v)
{
    v("air", air, unit::celsius, limits::celsius(), "Temperature of the air.");
    v("air_rate", air_rate, unit::per_second, limits::rate(),
      "How fast liquid at the surface takes on air's temperature.");
    v("solid", solid, unit::celsius, limits::celsius(), "Temperature of solids.");
    v("solid_rate", solid_rate, unit::per_second, limits::rate(),
      "How fast liquid at solids takes on their temperature.");
    v("diffusivity", diffusivity, unit::metres2_per_second, between(0, 1e3), "Conduction within the liquid.");
    v("cold", cold, unit::celsius, limits::celsius(), "The temperature of cold_viscosity.");
    v("cold_viscosity", cold_viscosity, unit::pascal_seconds, between(1e-6, 1e6), "Viscosity when cold, and colder.");
    v("hot", hot, unit::celsius, limits::celsius(), "The temperature of hot_viscosity.");
    v("hot_viscosity", hot_viscosity, unit::pascal_seconds, between(1e-6, 1e6), "Viscosity when hot, and hotter.");
    v.require(cold < hot, "hot", "must be above the temperature of cold_viscosity");
}

void LiquidTurbulenceParams::visit(ParamVisitor& v)
{
    v("on", on,
      "Stir the liquid by eddies that are smaller than its grid can carry. [ripples] then shows the ripples that they "
      "make here, and its own turbulence is not needed.");
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

void LiquidParams::visit(ParamVisitor& v)
{
    v("voxel", voxel, unit::metres, limits::voxel(), "Edge of a grid cell.");
    v("transfer", transfer, choices("pic", "flip", "apic"), "How velocity moves between particles and grid.");
    v("flip", flip, unit::none, between(0, 1), "Share of FLIP in the blend; the rest is PIC.");
    v("cfl", cfl, unit::cells, between(0.1, kMaxAdvectionCells), "How far liquid may move in one substep.");
    v("advection_order", advection_order, unit::none, between(2, 3),
      "Order of the Runge-Kutta method that moves particles.");
    v("gravity", gravity, unit::metres_per_second2, limits::acceleration(), "Acceleration of everything.");
    v("density", density, unit::kg_per_metre3, limits::density(),
      "Of the liquid; matters beside viscosity, tension and bodies.");
    v("viscosity", viscosity, unit::pascal_seconds, between(0, 1e6),
      "How thick the liquid is: water 0.001, oil 0.1, honey 10, tar 1000. It then sticks to solids. 0: not at all.");
    v("surface_tension", surface_tension, unit::newtons_per_metre, between(0, 100),
      "Draws the surface together; water has 0.072. Felt below a centimetre, and it shortens the step on fine grids.");
    v("contact_angle", contact_angle, unit::degrees, between(0, 180),
      "At which the surface meets solids, measured in the liquid: small where they are wetted.");
    v("elasticity", elasticity, unit::pascals, between(0, 1e6),
      "Shear modulus of a liquid that springs back: jelly 1000, clay 1e5. 0: none.");
    v("yield_strain", yield_strain, unit::none, between(0, 1e3),
      "Elastic strain (root of the sum of squares) up to which the liquid springs back for good; above it, it flows.");
    v("relaxation", relaxation, unit::per_second, limits::rate(),
      "How fast elastic strain above yield_strain flows away: jelly 0, goo 5, clay 50.");
    v("tolerance", tolerance, unit::none, between(1e-6, 0.1), "Relative residual at which the pressure solve ends.");
    v("keep_volume", keep_volume, "Move crowded particles apart, so that the volume does not drift.");
    v("seed", seed, unit::none, limits::seed(), "Changes the jitter of new particles.");
    v.group("heat", heat, "What temperature does to the liquid, if a source has one.");
    v.group("turbulence", turbulence, "Eddies and ripples finer than the grid.");
    v.group("domain", domain, "The box that holds the liquid.");
    v.list("source", sources, "Where liquid comes from.");
    v.list("sink", sinks, "Where liquid disappears.");
    v.list("force", forces, "Wind, noise and attraction, besides gravity.");
    v.list("collider", colliders, "Solids in the way of the liquid.");
    v.list("body", bodies, "Rigid bodies that float, sink and turn in the liquid.");
}

} // namespace spindrift
