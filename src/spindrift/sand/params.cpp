#include "spindrift/sand/params.h"
#include "spindrift/scene/limits.h"

#include <fmt/format.h>

namespace spindrift {

void SandMaterialParams::visit(ParamVisitor& v)
{
    v("density", density, unit::kg_per_metre3, limits::density(),
      "Bulk density at rest, including the air between grains.");
    v("friction", friction, unit::none, between(0, 100),
      "Friction coefficient alpha between grains. The angle of repose is arcsin(1.22 alpha): 22 degrees for 0.3, 38 "
      "for 0.5.");
    v("color", color, unit::none, between(0, 1), "Linear RGB colour of the grains in rendered images.");
}

void SandSourceParams::visit(ParamVisitor& v)
{
    visit_filling(v, "sand");
    v("material", material, unit::none, between(0, 999), "Index of its [[sand.material]], counted from 0.");
    FrameSpan::visit(v, "the flow");
}

void SandImpulseParams::visit(ParamVisitor& v)
{
    v("center", center, unit::metres, limits::position(), "Centre of the explosion.");
    v("radius", radius, unit::metres, limits::size(), "Distance up to which it throws sand.");
    v("speed", speed, unit::metres_per_second, limits::velocity(),
      "Outward speed at the centre, falling linearly to zero at the radius. Negative: inward.");
    v("frame", frame, unit::frames, limits::frame(), "It acts in the first step after this frame.");
}

void SandParams::visit(ParamVisitor& v)
{
    v("model", model, choices("grains", "fluid"),
      "grains: sand that disperses, piles up and carries bodies. fluid: a liquid with friction, faster and coarser.");
    v("voxel", voxel, unit::metres, limits::voxel(), "Edge length of a grid cell.");
    v("gravity", gravity, unit::metres_per_second2, limits::acceleration(), "Gravitational acceleration.");
    v("rounding", rounding, unit::seconds, between(1e-6, 1e6),
      "Grains only: time in which stretched particles in dense sand become round again. In flight they keep their "
      "shapes.");
    v("shapes", shapes,
      "Grains only: track the stretching of particles; split those that become too long and merge small ones.");
    v("projections", projections, unit::none, between(1, 50),
      "Grains only: number of alternating friction and pressure solves in a step.");
    v("isotropic", isotropic,
      "Grains only: bound friction by more planes, so that it depends less on the grid's directions. Collapsing sand "
      "spreads more evenly, but piles are a tenth flatter.");
    v("tolerance", tolerance, unit::none, between(1e-6, 0.1),
      "Grains only: tolerance of the pressure solve, as volume fraction, and of the friction solve, relative to the "
      "speed gained by falling in a step.");
    v("cohesion", cohesion, unit::pascals, between(0, 1e7),
      "Fluid only: shear strength without pressure, as of damp sand.");
    v("wall_friction", wall_friction, unit::none, between(0, 1e3),
      "Coulomb friction coefficient of the domain's closed sides. Default: as rough as the sand itself.");
    v("seed", seed, unit::none, limits::seed(), "Seed of the jitter of new particles.");
    v.group("domain", domain, "The simulated box.");
    v.list("material", materials, "Materials. Default: one with default values. A fluid has only one.");
    v.list("source", sources, "Sources of sand.");
    v.list("impulse", impulses, "Explosions. Grains only.");
    v.list("collider", colliders, "Solid obstacles.");
    v.list("body", bodies, "Rigid bodies, coupled two-way with the sand. Grains only.");
    v.require(model == Model::grains || materials.size() <= 1, "material",
              "the model \"fluid\" has one material; remove the others, or set model to \"grains\"");
    v.require(model == Model::grains || impulses.empty(), "impulse",
              "the model \"fluid\" has no impulses; remove them, or set model to \"grains\"");
    v.require(model == Model::grains || bodies.empty(), "body",
              "the model \"fluid\" has no bodies; remove them, or set model to \"grains\"");
    const auto kinds = static_cast<int>(std::max<size_t>(materials.size(), 1));
    for (const SandSourceParams& source : sources)
        v.require(source.material < kinds, "source",
                  fmt::format("a source has material {}, but there are only {} materials (counted from 0)",
                              source.material, kinds));
}

} // namespace spindrift
