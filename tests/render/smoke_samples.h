// Smoke for tests, made in code.
#pragma once

#include "spindrift/render/floor_light.h"
#include "spindrift/render/ray_scene.h"
#include "spindrift/render/sky.h"
#include "spindrift/render/volume.h"

#include <functional>
#include <memory>

namespace spindrift {

// Density (and temperature) of cells by a function of their middle.
struct TestSmoke {
    std::unique_ptr<Topology> topology;
    Field<float> density, temperature;
    float voxel;
    RenderSmoke smoke;

    using Function = std::function<float(const Vec3f&)>;
    TestSmoke(const Vec3i& min_cell, const Vec3i& max_cell, float cell, const Function& value)
        : topology(std::make_unique<Topology>(Topology::covering(min_cell, max_cell))), voxel(cell)
    {
        density.reset(*topology, 0);
        const Vec3f half = Vec3f::Constant(0.5f * voxel);
        for (int t = 0; t < topology->tile_count(); ++t)
            for (int c = 0; c < kTileCells; ++c) {
                const Vec3i at = topology->first_cell(t) + cell_in_tile(c);
                if ((at.array() >= min_cell.array()).all() && (at.array() < max_cell.array()).all())
                    density.tile(t)[c] = value(half + voxel * at.cast<float>());
            }
        smoke.density = {&density, voxel, half};
    }
};

inline TestSmoke even_box(const Vec3i& min_cell, const Vec3i& max_cell, float voxel, float density = 1)
{
    return {min_cell, max_cell, voxel, [density](const Vec3f&) { return density; }};
}

// Of radius 1 about the origin; the cells at its rim are partly filled.
inline TestSmoke even_ball(int cells_across_radius)
{
    const float voxel = 1 / static_cast<float>(cells_across_radius);
    const int n = cells_across_radius + 2;
    return {Vec3i::Constant(-n), Vec3i::Constant(n), voxel,
            [voxel](const Vec3f& x) { return clamp01(0.5f + (1 - x.norm()) / voxel); }};
}

// Smoke in its light, without a floor unless there is one.
struct LitSmoke {
    Sky sky;
    Volumes volumes;
    const Volume& volume;
    RayScene rays;
    Floor floor;

    LitSmoke(const RenderSmoke& smoke, const RenderParams& params, const RenderScene& bodies = {})
        : sky(params), volumes({&smoke}, params, bounds_of(smoke, params)), volume(volumes[0]),
          rays(bodies, volumes, params, bounds_of(smoke, params)),
          floor(rays, sky, bounds_of(smoke, params), params.floor)
    {
        volumes.light(rays, sky, floor);
    }
    // The mean over all places that a ray may look at within its steps.
    Volume::Passage pass(const Ray& ray, float far = kInfinity) const
    {
        Volume::Passage mean;
        mean.through = 0;
        const int shifts = 16;
        for (int i = 0; i < shifts; ++i) {
            const Volume::Passage one = volume.pass(ray, far, (static_cast<float>(i) + 0.5f) / shifts);
            mean.light += one.light / shifts, mean.through += one.through / shifts;
        }
        return mean;
    }
};

// White smoke of an extinction [1/m] in which light is scattered once.
inline RenderParams single_scattering(float extinction)
{
    RenderParams params;
    params.floor = false;
    params.smoke.density = extinction;
    params.smoke.color = Vec3f::Ones();
    params.smoke.multiple_scattering = 0;
    return params;
}

// What the key light alone gives: with it, less without it.
class KeyPart {
  public:
    KeyPart(const RenderSmoke& smoke, const RenderParams& params, const RenderScene& bodies = {})
        : with_(smoke, params, bodies), without_(smoke, unlit(params), bodies)
    {
    }
    Vec3f operator()(const Ray& ray) const { return with_.pass(ray).light - without_.pass(ray).light; }

  private:
    static RenderParams unlit(RenderParams params)
    {
        params.light.strength = 0;
        return params;
    }
    LitSmoke with_, without_;
};

} // namespace spindrift
