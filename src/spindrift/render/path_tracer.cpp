#include "spindrift/render/path_tracer.h"

#include "spindrift/base/scratch.h"

#include <algorithm>

namespace spindrift {

namespace {

using Mode = RenderLayer::Mode;

constexpr int kMaxDepth = 9;
constexpr float kCoat = 1.5f; // index of refraction of the coat of paint
constexpr float kBrightest =
    12; // upper bound of a path's radiance: rare brighter paths are noise at a few paths per pixel

// An interpolated normal can send a ray to the wrong side of its triangle; this moves the direction to the right side.
Vec3f on_side(Vec3f direction, const Vec3f& face)
{
    const float height = direction.dot(face);
    if (height < 1e-3f) direction += (1e-3f - height) * face;
    return direction.normalized();
}

// The direction in which the weaker part, which is not traced, looks up its surroundings. Light reflected inside water
// usually leaves it soon through a surface roughly parallel to this one, as if it had been reflected outside.
Vec3f weaker_direction(const Interface& meets, const Vec3f& normal, const Hit& hit, bool mirror)
{
    if (mirror) return meets.refracted;
    if (!hit.from_inside) return meets.reflected;
    return meets.refracted - 2 * meets.refracted.dot(normal) * normal;
}

// Real spherical harmonics up to the second order represent the irradiance of matte surfaces (Ramamoorthi and Hanrahan
// 2001): the radiance of all directions is projected on them once, and convolved with the cosine order by order.
std::array<float, 9> spherical_harmonics(const Vec3f& d)
{
    const float x = d.x(), y = d.y(), z = d.z();
    return {0.282095f,
            0.488603f * y,
            0.488603f * z,
            0.488603f * x,
            1.092548f * x * y,
            1.092548f * y * z,
            0.315392f * (3 * z * z - 1),
            1.092548f * x * z,
            0.546274f * (x * x - y * y)};
}

} // namespace

PathTracer::PathTracer(const RayScene& rays, const Sky& sky, const Floor& floor, std::vector<RenderLayer::Mode> modes,
                       bool background)
    : rays_(rays), sky_(sky), floor_(floor), modes_(std::move(modes)), background_(background),
      all_shown_(std::ranges::all_of(modes_, [](RenderLayer::Mode mode) { return mode == RenderLayer::Mode::shown; }))
{
    harmonics_.fill(Vec3f::Zero());
    const int count = 2048;
    for (int i = 0; i < count; ++i) { // directions uniformly over the sphere, along a spiral
        const float y = 1 - (2 * static_cast<float>(i) + 1) / count, r = std::sqrt(1 - y * y);
        const float phi = static_cast<float>(i) * 2.39996323f;
        const Vec3f d(r * std::cos(phi), y, r * std::sin(phi));
        const Vec3f light = y < 0 && floor_.present() ? floor_.open_radiance() : sky_.dome(d);
        const std::array<float, 9> basis = spherical_harmonics(d);
        for (int k = 0; k < 9; ++k) harmonics_[k] += (static_cast<float>(4 * kPi) / count * basis[k]) * light;
    }
    for (int k = 0; k < 9; ++k) harmonics_[k] *= k == 0 ? 1.0f : k < 4 ? 2.0f / 3 : 0.25f;
}

Vec3f PathTracer::open_light(const Vec3f& normal) const
{
    const std::array<float, 9> basis = spherical_harmonics(normal);
    Vec3f light = Vec3f::Zero();
    for (int k = 0; k < 9; ++k) light += basis[k] * harmonics_[k];
    return light.cwiseMax(0.0f);
}

PathTracer::Sample PathTracer::trace(const Ray& ray, PixelSampler& random, Seen* seen) const
{
    auto& parts = thread_scratch<std::vector<Volumes::Part>>();
    parts.assign(seen || !all_shown_ ? rays_.smoke().size() : 0, {});
    Sample sample;
    const Hit hit = next(ray);
    sample.distance = hit.distance;
    sample.detailed = hit.kind != Hit::Kind::none;
    Volume::Passage smoke = through_smoke(ray, hit.distance, random, parts);
    sample.hazy = smoke.through < 1 || smoke.light.maxCoeff() > 0;
    sample.distance = std::min(sample.distance, smoke.middle);

    // The object behind the smoke.
    Mode mode = sample.detailed ? modes_[rays_.layer_of(hit)] : Mode::shown;
    if (!sample.detailed && !background_) mode = Mode::holdout;
    sample.alpha = mode == Mode::holdout ? 0 : 1;
    if (mode == Mode::matte)
        sample.light.setOnes();
    else if (mode == Mode::shown && smoke.through > 0)
        sample.light = sample.detailed ? follow(ray, hit, 0, true, random) : background(ray, hit);

    if (sample.hazy) {
        float hidden = 1 - smoke.through;
        if (!all_shown_) see_smoke(parts, smoke, hidden);
        sample.light = smoke.light + smoke.through * sample.light;
        sample.alpha = hidden + smoke.through * sample.alpha;
    }
    const float brightest = sample.light.maxCoeff();
    if (brightest > kBrightest) sample.light *= kBrightest / brightest;
    if (!sample.light.allFinite()) sample.light.setZero();
    if (seen) describe(ray, hit, smoke, parts, *seen);
    return sample;
}

void PathTracer::see_smoke(std::span<const Volumes::Part> parts, Volume::Passage& smoke, float& alpha) const
{
    smoke.light.setZero(), alpha = 0;
    for (size_t i = 0; i < parts.size(); ++i) {
        const Mode mode = modes_[rays_.smoke()[i].layer()];
        if (mode == Mode::holdout) continue;
        smoke.light += mode == Mode::shown ? parts[i].light : Vec3f::Constant(parts[i].share).eval();
        alpha += parts[i].share;
    }
}

void PathTracer::describe(const Ray& ray, const Hit& hit, const Volume::Passage& smoke,
                          std::span<const Volumes::Part> parts, Seen& seen) const
{
    std::ranges::fill(seen.masks, 0.0f);
    seen.normal.setZero(), seen.velocity.setZero();
    seen.floor = hit.kind == Hit::Kind::none && !(smoke.middle < hit.distance);
    size_t thickest = 0;
    for (size_t i = 0; i < parts.size(); ++i) {
        seen.masks[rays_.smoke()[i].layer()] += parts[i].share;
        if (parts[i].share > parts[thickest].share) thickest = i;
    }
    if (hit.kind != Hit::Kind::none) seen.masks[rays_.layer_of(hit)] += smoke.through;
    if (smoke.middle < hit.distance) {
        if (!parts.empty()) seen.velocity = rays_.smoke()[thickest].velocity(ray.origin + smoke.middle * ray.direction);
    } else if (hit.kind != Hit::Kind::none) {
        seen.normal = hit.normal.dot(ray.direction) > 0 ? Vec3f(-hit.normal) : hit.normal;
        seen.velocity = rays_.velocity_of(hit);
    } else if (std::isfinite(hit.distance)) {
        seen.normal = Vec3f(0, 1, 0);
    }
}

Volume::Passage PathTracer::through_smoke(const Ray& ray, float far, PixelSampler& random,
                                          std::span<Volumes::Part> parts) const
{
    if (rays_.smoke().empty()) return {};
    return rays_.smoke().pass(ray, far, random.single(), parts);
}

Hit PathTracer::next(const Ray& ray) const
{
    const float floor = floor_.distance(ray);
    const Hit hit = rays_.hit(ray, floor);
    // Where a container stands on the floor, the floor is drawn.
    const bool stands = hit.container && std::isfinite(floor) &&
                        hit.position.y() < floor_.height() + std::max(rays_.contact(), 1e-4f * floor);
    return or_floor(stands ? Hit() : hit, ray, floor);
}

Hit PathTracer::next_for_light(const Ray& ray) const
{
    const float floor = floor_.distance(ray);
    return or_floor(rays_.light_hit(ray, floor), ray, floor);
}

Hit PathTracer::or_floor(const Hit& hit, const Ray& ray, float floor) const
{
    // Water on the floor is in contact with it: there is no film of air between them that would reflect.
    const bool stands = hit.kind == Hit::Kind::liquid && hit.from_inside && floor_.present() && std::isfinite(floor) &&
                        hit.position.y() < floor_.height() + rays_.medium(hit.medium).contact;
    if (hit.kind != Hit::Kind::none && !stands) return hit;
    Hit ground;
    ground.distance = floor, ground.time = ray.time;
    ground.position = ray.origin + (std::isfinite(floor) ? floor : 0) * ray.direction;
    return ground;
}

bool PathTracer::wets_solid(const Ray& ray, Hit& hit) const
{
    // The two surfaces intersect each other many times where they touch: search from a little before to a little
    // behind.
    const float reach = 2 * rays_.medium(hit.medium).contact;
    if (!rays_.near_solid(hit.position, 3 * reach)) return false;
    const Hit behind = rays_.solid_hit({hit.position - reach * ray.direction, ray.direction, ray.time}, 3 * reach);
    if (behind.kind != Hit::Kind::solid || behind.from_inside) return false;
    hit = behind;
    return true;
}

Vec3f PathTracer::background(const Ray& ray, const Hit& hit) const
{
    return std::isfinite(hit.distance) ? floor_.radiance(hit.position, ray.direction) : sky_.with_key(ray.direction);
}

Vec3f PathTracer::surroundings(const Vec3f& from, const Vec3f& direction) const
{
    const float floor = floor_.distance({from, direction});
    if (!std::isfinite(floor)) return sky_.with_key(direction);
    return floor_.radiance(from + floor * direction, direction);
}

Vec3f PathTracer::follow(Ray ray, Hit hit, int depth, bool split, PixelSampler& random) const
{
    Vec3f light = Vec3f::Zero(), through = Vec3f::Ones();
    Immersion in;
    for (; depth < kMaxDepth; ++depth, hit = next(ray)) {
        const bool liquid = hit.kind == Hit::Kind::liquid;
        const Immersion before = liquid ? in.with(hit.medium, hit.from_inside) : in;
        if (std::isfinite(hit.distance) && before.any()) {
            const Medium& medium = rays_.medium(before.medium());
            const Vec3f clear = beer_lambert(medium.absorption, hit.distance);
            const Vec3f deep = medium.deep_color.cwiseProduct(sky_.ambient());
            light += through.cwiseProduct(Vec3f::Ones() - clear).cwiseProduct(deep);
            through = through.cwiseProduct(clear);
        } else if (depth > 0) { // trace() integrates the smoke of the first ray
            const Volume::Passage smoke = through_smoke(ray, hit.distance, random);
            light += through.cwiseProduct(smoke.light);
            through *= smoke.through;
        }
        if (hit.kind == Hit::Kind::none) return light + through.cwiseProduct(background(ray, hit));
        if (hit.kind == Hit::Kind::paint && split) { // a matte surface under a clear, reflecting coat
            const Vec3f normal = hit.from_inside ? Vec3f(-hit.normal) : hit.normal;
            const float mirrored = fresnel(std::abs(normal.dot(ray.direction)), 1 / kCoat);
            const Vec3f way = ray.direction - 2 * ray.direction.dot(normal) * normal;
            const Vec3f face = hit.from_inside ? Vec3f(-hit.face) : hit.face;
            const Ray reflected = rays_.leave(hit, on_side(way, face));
            return light +
                   through.cwiseProduct((1 - mirrored) * matte(hit, ray.direction, contact_of(in), random) +
                                        mirrored * follow(reflected, next(reflected), depth + 1, false, random));
        }
        if (!liquid || (hit.from_inside && wets_solid(ray, hit)))
            return light + through.cwiseProduct(matte(hit, ray.direction, contact_of(before), random));

        const Immersion after = before.with(hit.medium, !hit.from_inside);
        if (before.medium() == after.medium()) { // inside a liquid of higher priority
            in = after;
            ray = rays_.leave(hit, ray.direction);
            continue;
        }
        const float side = hit.from_inside ? -1.0f : 1.0f;
        const float eta = rays_.ior(before) / rays_.ior(after);
        const Vec3f face = side * hit.face;
        Vec3f normal = side * hit.normal;
        if (ray.direction.dot(normal) > -1e-3f) normal = face;
        const Interface meets = meet_interface(ray.direction, normal, eta);
        const Ray mirrored = rays_.leave(hit, on_side(meets.reflected, face));

        // At the first surface both parts are traced. Later the stronger is traced, and the weaker looks up its
        // surroundings without occluders: nothing is random, so water has no noise.
        const bool mirror = meets.reflectance > (split ? 0.999f : 0.5f);
        const float weaker = mirror ? 1 - meets.reflectance : meets.reflectance;
        const Vec3f aside = split && !mirror ? follow(mirrored, next(mirrored), depth + 1, false, random)
                                             : surroundings(hit.position, weaker_direction(meets, normal, hit, mirror));
        light += weaker * through.cwiseProduct(aside);
        through *= 1 - weaker;

        split = false;
        in = mirror ? before : after;
        ray = mirror ? mirrored : rays_.leave(hit, on_side(meets.refracted, -face));
    }
    // The path is too long: use the mean light of the dome for the rest. Black would be visible in thin splashes.
    return light + through.cwiseProduct(sky_.ambient());
}

Vec3f PathTracer::openness(const Ray& ray) const
{
    const Hit end = next_for_light(ray);
    const float clear = rays_.smoke().soft_transmittance(ray, end.distance);
    if (clear == 1) return openness_to(end, ray);
    return clear * openness_to(end, ray) +
           (1 - clear) * 0.5f * rays_.smoke().color(); // assume that smoke is in half shade too
}

Vec3f PathTracer::openness_to(const Hit& end, const Ray& ray) const
{
    if (end.kind == Hit::Kind::liquid)
        return 0.9f * beer_lambert(rays_.medium(end.medium).absorption, end.from_inside ? end.distance : 0);
    if (end.kind != Hit::Kind::none) return 0.4f * end.color; // assume that other bodies are in half shade
    if (!std::isfinite(end.distance)) return Vec3f::Ones();
    const Vec3f share =
        floor_.radiance(end.position, ray.direction).cwiseQuotient(floor_.open_radiance().cwiseMax(1e-6f));
    return share.cwiseMin(1.2f); // light from caustics would be noise
}

Vec3f PathTracer::matte(const Hit& hit, const Vec3f& direction, float wet, PixelSampler& random) const
{
    const Vec3f normal = hit.normal.dot(direction) < 0 ? hit.normal : Vec3f(-hit.normal);
    const Vec3f face = hit.face.dot(direction) < 0 ? hit.face : Vec3f(-hit.face);

    // The mesh of water around a body follows the body only to the accuracy of its cells: start inside the water.
    const auto leave = [&](const Vec3f& toward) {
        Ray ray = rays_.leave(hit, toward);
        if (wet > 0) ray.origin += 1.5f * wet * face;
        return ray;
    };

    // The key light, also through water.
    Vec3f key = Vec3f::Zero();
    const Vec3f toward = sample_cone(sky_.key_direction(), sky_.key_cos_radius(), random.pair());
    const float facing = toward.dot(normal);
    if (facing > 0 && toward.dot(face) > 0 && sky_.key_irradiance().maxCoeff() > 0)
        key = sky_.key_irradiance().cwiseProduct(rays_.transmittance(leave(toward)));

    // The dome: its smooth irradiance without occluders, times the mean transmittance of a few rays.
    const int rays = rays_.crowded() ? 1 : 3;
    Vec3f open = Vec3f::Zero();
    for (int i = 0; i < rays; ++i)
        open += openness(leave(on_side(sample_cosine(normal, random.pair()), face))) / static_cast<float>(rays);
    const Vec3f around = open_light(normal).cwiseProduct(open);

    Vec3f diffuse = hit.color.cwiseProduct(std::max(0.0f, facing) * static_cast<float>(1 / kPi) * key + around);
    if (hit.kind != Hit::Kind::sphere) return diffuse;
    // Spheres have a glossy highlight, so that neighbours can be distinguished.
    const Vec3f reflected = direction - 2 * direction.dot(normal) * normal;
    const float lobe = std::pow(std::max(0.0f, reflected.dot(sky_.key_direction())), 40.0f);
    const float rim = std::pow(1 - std::min(1.0f, -direction.dot(normal)), 5.0f);
    return diffuse + 0.35f * lobe * key + 0.25f * rim * around;
}

} // namespace spindrift
