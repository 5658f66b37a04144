#include "spindrift/sand/fluid_sand.h"
#include "spindrift/sand/tuning.h"

#include "spindrift/sand/sand_grid.h"

namespace spindrift {

namespace {

SandMaterialParams material_of(const SandParams& params)
{
    return params.materials.empty() ? SandMaterialParams() : params.materials[0];
}

// The tangent of the friction angle: Coulomb's coefficient of the sand, and of a wall as rough as it.
float tangent_of(const SandParams& sand)
{
    const float sine = std::min(SandTuning::steepest, std::sqrt(1.5f) * material_of(sand).friction);
    return sine / std::sqrt(1 - sine * sine);
}

} // namespace

FluidSand::FluidSand(const SandParams& params, std::vector<Shape> sources, std::vector<Shape> colliders, float fps)
    : params_(params), friction_({tangent_of(params), params.cohesion / material_of(params).density, fps}),
      liquid_(liquid_of(params), {std::move(sources), {}, std::move(colliders), {}}, fps)
{
    liquid_.set_material(friction_, params.wall_friction.value_or(tangent_of(params)));
}

LiquidParams FluidSand::liquid_of(const SandParams& sand)
{
    LiquidParams liquid;
    liquid.name = sand.name;
    liquid.voxel = sand.voxel, liquid.gravity = sand.gravity, liquid.seed = sand.seed;
    liquid.density = material_of(sand).density;
    liquid.flip = SandTuning::flip;
    liquid.cfl = SandTuning::cells_per_step;
    liquid.domain = sand.domain, liquid.colliders = sand.colliders;
    for (const SandSourceParams& from : sand.sources) {
        SourceParams source;
        static_cast<FillingParams&>(source) = from;
        liquid.sources.push_back(source);
    }
    return liquid;
}

double FluidSand::mass() const
{
    return static_cast<double>(particles().size()) * liquid_.particle_volume() *
           static_cast<double>(material_of(params_).density);
}

Particles FluidSand::grains() const
{
    Particles grains = particles();
    grains.v = *grains.find<Vec3f>(kMotion), grains.attributes.erase(kMotion);
    const float radius = 0.25f * params_.voxel;
    std::ranges::fill(grains.attribute<float>(kMass),
                      static_cast<float>(liquid_.particle_volume()) * material_of(params_).density);
    grains.attribute<int32_t>(kMaterial);
    std::ranges::fill(grains.attribute<Vec3f>(kShapeDiagonal), Vec3f::Constant(radius * radius));
    grains.attribute<Vec3f>(kShapeShear);
    return grains;
}

} // namespace spindrift
