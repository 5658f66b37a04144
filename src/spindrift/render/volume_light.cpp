// Computes the light in smoke before the picture is traced: see render/volume.h.
#include "spindrift/render/floor_light.h"
#include "spindrift/render/sampler.h"
#include "spindrift/render/volume.h"

namespace spindrift {

namespace {

constexpr int kDirections = 24;
constexpr int kKeyRays = 4;
constexpr float kSharp = 6; // voxels along which the key light is followed from every point
// Brightness of multiply scattered key light where smoke occludes the whole sky. Chosen so that a white ball, thin or
// thick, scatters nearly all light that it receives.
constexpr float kAgain = 2.2f;

} // namespace

// Transmittance towards the key light. It is integrated near a point, and beyond that interpolated from every second
// point along each axis, which is computed first.
SparseSamples<float> Volume::key_light() const
{
    const Vec3f& toward = key_direction_;
    SparseSamples<float> beyond(grids_[1]);
    beyond.fill([&](const Vec3i& point) { return depth({grids_[1].position(point), toward}, kInfinity, 1); });
    SparseSamples<float> light(grids_[0]);
    light.fill([&](const Vec3i& point) {
        const float near = kSharp * grids_[0].spacing();
        const Ray ray{grids_[0].position(point), toward}, rest{ray.origin + near * toward, toward};
        const std::optional<float> known = beyond.find(rest.origin);
        return std::exp(-march(0, ray, 0, near) - (known ? *known : depth(rest, kInfinity, 1)));
    });
    return light;
}

// Shadows of bodies and other smoke are computed for every second point along each axis, with soft shadows.
SparseSamples<float> Volume::light_past_bodies(const RayScene& rays, const Sky& sky) const
{
    const bool several = rays.smoke().size() > 1;
    SparseSamples<float> light(grids_[1]);
    light.fill([&](const Vec3i& point) {
        const Vec3f from = grids_[1].position(point);
        float sum = 0;
        for (int i = 0; i < kKeyRays; ++i) {
            PixelSampler even(0, static_cast<uint32_t>(i));
            const Vec3f toward = sample_cone(sky.key_direction(), sky.key_cos_radius(), even.pair());
            const float past = luminance(rays.past_bodies({from, toward}));
            sum += several ? past * rays.smoke().transmittance({from, toward}, kInfinity, this) : past;
        }
        return sum / kKeyRays;
    });
    return light;
}

SparseSamples<Volume::Openness> Volume::openness(const RayScene& rays, const Sky& sky, const Floor& floor)
{
    around_.clear();
    Openness total;
    for (int i = 0; i < kDirections; ++i) { // uniformly over the sphere, along a spiral
        const float y = 1 - (2 * static_cast<float>(i) + 1) / kDirections, r = std::sqrt(1 - y * y);
        const float phi = static_cast<float>(i) * 2.39996323f;
        const Vec3f toward(r * std::cos(phi), y, r * std::sin(phi));
        const Vec3f light = y < 0 && floor.present() ? floor.open_radiance() : sky.dome(toward);
        lights_[y < 0 ? from_below : from_above] += light / kDirections;
        (y < 0 ? total.below : total.above) += luminance(light);
        around_.push_back({toward, luminance(light)});
    }
    for (Direction& d : around_) d.weight /= std::max(d.toward.y() < 0 ? total.below : total.above, 1e-6f);

    SparseSamples<Openness> open(grids_[2]);
    open.fill([&](const Vec3i& point) { return openness_at(grids_[2].position(point), rays, floor); });
    return open;
}

Volume::Openness Volume::openness_at(const Vec3f& place, const RayScene& rays, const Floor& floor) const
{
    Openness open;
    for (const Direction& d : around_) {
        const Ray ray{place, d.toward};
        const float ground = floor.distance(ray);
        float light = d.weight * soft_transmittance(ray, ground);
        if (std::isfinite(ground)) {
            const Vec3f seen = floor.radiance(place + ground * d.toward, d.toward);
            light *= std::min(luminance(seen) / std::max(luminance(floor.open_radiance()), 1e-6f), 1.0f);
        }
        if (light > 0) light *= luminance(rays.past_bodies(ray, ground));
        if (light > 0 && rays.smoke().size() > 1) light *= rays.smoke().soft_transmittance(ray, ground, this);
        (d.toward.y() < 0 ? open.below : open.above) += light;
    }
    return open;
}

void Volume::light(const RayScene& rays, const Sky& sky, const Floor& floor)
{
    if (empty()) return;
    key_direction_ = sky.key_direction();
    lights_[from_key] = sky.key_irradiance();
    lights_[from_key_again] = kAgain * static_cast<float>(1 / (4 * kPi)) * sky.key_irradiance();
    lights_[from_above] = lights_[from_below] = Vec3f::Zero();
    const SparseSamples<Openness> open = openness(rays, sky, floor);
    const bool shines = sky.key_irradiance().maxCoeff() > 0,
               bodies = shines && (!rays.empty() || rays.smoke().size() > 1);
    const SparseSamples<float> past = bodies ? light_past_bodies(rays, sky) : SparseSamples<float>();
    const SparseSamples<float> key = shines ? key_light() : SparseSamples<float>();
    points_ = SparseSamples<Point>(grids_[0]);
    for_each_tile(grids_[0].topology(), [&](int t) {
        for (int i = 0; i < SparseSampleGrid::kPoints; ++i) {
            const Vec3f place = grids_[0].position(grids_[0].point(t, i));
            const Openness around = open.find(place).value_or(Openness());
            const float share = bodies ? past.find(place).value_or(1.0f) : 1.0f;
            points_.tile(t)[i] = {density_[0].tile(t)[i], shines ? share * key.tile(t)[i] : 0, around.above,
                                  around.below};
        }
    });
}

} // namespace spindrift
