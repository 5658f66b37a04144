#include "spindrift/sand/params.h"
#include "spindrift/scene/limits.h"

#include <fmt/format.h>

namespace spindrift {

void SandMaterialParams::visit(ParamVisitor& v)
{
    v("density", density, unit::kg_per_metre3, limits::density(), "Of grains at rest, with the air between them.");
    v("friction", friction, unit::none, between(0, 100),
      "Friction among grains, alpha: piles are as steep as arcsin(1.22 alpha), 0.3 is 22, 0.5 is 38 degrees.");
    v("color", color, unit::none, between(0, 1), "Red, green and blue of its grains in pictures (linear).");
}

void SandSourceParams::visit(ParamVisitor& v)
{
    ShapeParams::visit(v);
    v("mode", mode, choices("initial", "flow"),
      "Filled once at the start, or kept filled from first_frame to last_frame.");
    v("velocity", velocity, unit::metres_per_second, limits::velocity(), "Velocity of the sand where it appears.");
    v("inherit", inherit, unit::none, between(0, 1),
      "Share of the shape's own motion, where it has any, that is added to that velocity.");
    v("material", material, unit::none, between(0, 999), "Which [[sand.material]] it is, counted from 0.");
    v("first_frame", first_frame, unit::frames, limits::frame(),
      "Flow starts at this frame; by default with the shot.");
    v("last_frame", last_frame, unit::frames, limits::frame(), "Flow ends after this frame; by default with the shot.");
    v.require(first_frame <= last_frame, "last_frame",
              "the flow ends before it starts; last_frame must not be before first_frame");
}

void SandImpulseParams::visit(ParamVisitor& v)
{
    v("center", center, unit::metres, limits::position(), "Where it goes off.");
    v("radius", radius, unit::metres, limits::size(), "How far around it sand is thrown.");
    v("speed", speed, unit::metres_per_second, limits::velocity(),
      "What sand at the centre is thrown outwards with; nothing at the radius. Below 0 it is drawn in.");
    v("frame", frame, unit::frames, limits::frame(), "When: with the first step after this frame.");
}

void SandParams::visit(ParamVisitor& v)
{
    v("model", model, choices("grains", "fluid"),
      "Grains that disperse, pile up and carry weight; or a fluid with friction, which is faster and coarser.");
    v("voxel", voxel, unit::metres, limits::voxel(), "Edge of a grid cell.");
    v("gravity", gravity, unit::metres_per_second2, limits::acceleration(), "Acceleration of everything.");
    v("rounding", rounding, unit::seconds, between(1e-6, 1e6),
      "Grains only: how long it takes until particles of dense sand are round again, since grains mix there. In flight "
      "they keep their shapes.");
    v("shapes", shapes,
      "Grains only: follow how particles are stretched, split those that become too long and merge small ones.");
    v("projections", projections, unit::none, between(1, 50),
      "Grains only: how often friction and pressure are found in turn in a step.");
    v("isotropic", isotropic,
      "Grains only: bound friction by more planes, so that it depends less on the directions of the grid: sand that "
      "falls over spreads more evenly, but piles are a tenth flatter.");
    v("tolerance", tolerance, unit::none, between(1e-6, 0.1),
      "Grains only: volume fraction to which pressure is found; friction to the same share of a step's fall.");
    v("cohesion", cohesion, unit::pascals, between(0, 1e7),
      "Fluid only: shear stress that damp sand bears without any pressure.");
    v("wall_friction", wall_friction, unit::none, between(0, 1e3),
      "Of the domain's closed sides, over the pressure on them. Left out: as rough as the sand itself.");
    v("seed", seed, unit::none, limits::seed(), "Changes the jitter of new particles.");
    v.group("domain", domain, "The box that holds the sand.");
    v.list("material", materials, "Kinds of grains; left out, there is one with the defaults. A fluid has one only.");
    v.list("source", sources, "Where sand comes from.");
    v.list("impulse", impulses, "Explosions. Grains only.");
    v.list("collider", colliders, "Solids in the way of the sand.");
    v.list("body", bodies, "Rigid bodies that sand carries, buries and throws about. Grains only.");
    v.require(model == Model::grains || materials.size() <= 1, "material",
              "sand as a fluid has one material; leave out the others, or set sand.model to \"grains\"");
    v.require(model == Model::grains || impulses.empty(), "impulse",
              "sand as a fluid knows no impulses; leave them out, or set sand.model to \"grains\"");
    v.require(model == Model::grains || bodies.empty(), "body",
              "sand as a fluid carries no bodies; leave them out, or set sand.model to \"grains\"");
    const auto kinds = static_cast<int>(std::max<size_t>(materials.size(), 1));
    for (const SandSourceParams& source : sources)
        v.require(
            source.material < kinds, "source",
            fmt::format("a source has material {}, but there are only {} (counted from 0)", source.material, kinds));
}

} // namespace spindrift
