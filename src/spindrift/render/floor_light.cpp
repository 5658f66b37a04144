#include "spindrift/render/floor_light.h"

#include "spindrift/base/parallel.h"
#include "spindrift/render/sampler.h"

namespace spindrift {

namespace {

const Vec3f kFloorColor(0.68f, 0.715f, 0.75f);
constexpr int kPhotons = 1 << 19;
constexpr int kKeyTexels = 272, kDomeTexels = 96, kDomeRays = 64;

Box3f above_floor(const Box3f& bounds, float floor)
{
    Box3f box = bounds;
    box.min.y() = std::max(box.min.y(), floor);
    box.max.y() = std::max(box.max.y(), floor);
    return box;
}

} // namespace

LightMap::LightMap(const Vec2f& low_corner, const Vec2f& high_corner, int longer_side) : low(low_corner)
{
    const Vec2f size = high_corner - low_corner;
    texel = std::max(size.maxCoeff() / static_cast<float>(longer_side), 1e-9f);
    width = std::max(1, static_cast<int>(std::ceil(size.x() / texel)));
    height = std::max(1, static_cast<int>(std::ceil(size.y() / texel)));
    light.assign(static_cast<size_t>(width) * height, Vec3f::Zero());
}

Vec3f LightMap::at(float x, float z) const
{
    const float u = (x - low.x()) / texel - 0.5f, v = (z - low.y()) / texel - 0.5f;
    if (!(u > -0.5f && v > -0.5f && u < static_cast<float>(width) - 0.5f && v < static_cast<float>(height) - 0.5f))
        return Vec3f::Ones();
    const int i = floor_int(u), j = floor_int(v);
    const float a = u - static_cast<float>(i), b = v - static_cast<float>(j);
    const auto value = [this](int p, int q) -> const Vec3f& {
        return light[static_cast<size_t>(std::clamp(q, 0, height - 1)) * width + std::clamp(p, 0, width - 1)];
    };
    return (1 - b) * ((1 - a) * value(i, j) + a * value(i + 1, j)) +
           b * ((1 - a) * value(i, j + 1) + a * value(i + 1, j + 1));
}

void LightMap::splat(float x, float z, const Vec3f& add)
{
    const float u = (x - low.x()) / texel, v = (z - low.y()) / texel;
    if (!(u >= 0 && v >= 0 && u < static_cast<float>(width) && v < static_cast<float>(height))) return;
    const int i = floor_int(u), j = floor_int(v);
    const auto weights = [](float t, float* w) { // quadratic B-spline
        w[0] = 0.5f * (1 - t) * (1 - t), w[2] = 0.5f * t * t, w[1] = 1 - w[0] - w[2];
    };
    float wx[3], wz[3];
    weights(u - static_cast<float>(i), wx), weights(v - static_cast<float>(j), wz);
    for (int q = 0; q < 3; ++q)
        for (int p = 0; p < 3; ++p) {
            // Light beyond the rim is added at the rim, so that none is lost.
            const int col = std::clamp(i + p - 1, 0, width - 1), row = std::clamp(j + q - 1, 0, height - 1);
            light[static_cast<size_t>(row) * width + col] += wx[p] * wz[q] * add;
        }
}

void LightMap::blur()
{
    std::vector<Vec3f> once(light.size());
    const auto pass = [this](const std::vector<Vec3f>& from, std::vector<Vec3f>& to, int dx, int dz) {
        for (int z = 0; z < height; ++z)
            for (int x = 0; x < width; ++x) {
                const int x0 = std::max(x - dx, 0), x1 = std::min(x + dx, width - 1);
                const int z0 = std::max(z - dz, 0), z1 = std::min(z + dz, height - 1);
                const size_t here = static_cast<size_t>(z) * width + x;
                to[here] = 0.5f * from[here] + 0.25f * (from[static_cast<size_t>(z0) * width + x0] +
                                                        from[static_cast<size_t>(z1) * width + x1]);
            }
    };
    pass(light, once, 1, 0);
    pass(once, light, 0, 1);
}

void LightMap::fade_rim()
{
    const float rim = 0.15f * static_cast<float>(std::min(width, height));
    for (int z = 0; z < height; ++z)
        for (int x = 0; x < width; ++x) {
            const int inward = std::min({x, z, width - 1 - x, height - 1 - z});
            const float keep = smoothstep(0, rim, static_cast<float>(inward));
            Vec3f& value = light[static_cast<size_t>(z) * width + x];
            value = Vec3f::Ones() + keep * (value - Vec3f::Ones());
        }
}

Floor::Floor(const RayScene& rays, const Sky& sky, const Box3f& extent, bool present, bool blurred,
             RenderParams::Quality quality)
    : rays_(rays), sky_(sky), present_(present), blurred_(blurred), photons_(kPhotons), key_texels_(kKeyTexels),
      dome_texels_(kDomeTexels), dome_rays_(kDomeRays), height_(extent.min.y()),
      radius_(0.5f * Vec2f(extent.size().x(), extent.size().z()).norm() + 0.25f * extent.size().y()),
      center_(extent.center().x(), extent.center().z()),
      open_key_(kFloorColor.cwiseProduct(sky.key_irradiance()) *
                (sky.key_direction().y() * static_cast<float>(1 / kPi))),
      open_dome_(kFloorColor.cwiseProduct(sky.ambient()))
{
    if (quality == RenderParams::Quality::draft) photons_ /= 16, key_texels_ /= 3, dome_texels_ /= 2, dome_rays_ /= 4;
    const Box3f shading = rays_.shading_bounds();
    if (!present_ || shading.empty() || shading.max.y() <= height_) return;
    trace_key();
    gather_dome();
}

float Floor::distance(const Ray& ray) const
{
    const float above = ray.origin.y() - height_;
    // A ray that starts a rounding error below the floor meets it at once; one from farther below never does.
    if (!present_ || ray.direction.y() >= 0 || above < -0.01f * radius_) return kInfinity;
    return std::max(0.0f, above) / -ray.direction.y();
}

Vec3f Floor::radiance(const Vec3f& point, const Vec3f& direction) const
{
    const Vec3f near =
        open_key_.cwiseProduct(key_.at(point.x(), point.z())) + open_dome_.cwiseProduct(dome_.at(point.x(), point.z()));
    // Far away, the floor fades into the background, so that there is no horizon.
    const float away = (Vec2f(point.x(), point.z()) - center_).norm() / radius_;
    const float fade = away * away / (away * away + 12.0f);
    const Vec3f level = Vec3f(direction.x(), 0, direction.z()).normalized();
    return near + fade * (sky_.dome(level) - near);
}

// Evaluated from where the light arrives: shadows are sharper near that end.
float Floor::smoke_along(const Ray& ray, float way) const
{
    return rays_.smoke().transmittance({ray.origin + way * ray.direction, -ray.direction}, way);
}

bool Floor::follow(Ray ray, Vec2f& place, Vec3f& light) const
{
    light = Vec3f::Ones();
    Immersion in;
    for (int bounce = 0; bounce < 10; ++bounce) {
        const float floor = distance(ray);
        const Hit hit = rays_.light_hit(ray, floor);
        const bool liquid = hit.kind == Hit::Kind::liquid;
        const Immersion before = liquid ? in.with(hit.medium, hit.from_inside) : in;
        const float way = std::min(floor, hit.distance);
        const float smoke = before.any() || !std::isfinite(way) ? 1 : smoke_along(ray, way);
        if (hit.kind == Hit::Kind::none && bounce == 0 && smoke == 1) return false;
        light *= smoke;
        if (before.any() && std::isfinite(way))
            light = light.cwiseProduct(beer_lambert(rays_.medium(before.medium()).absorption, way));
        // Water that stands on the floor has no gap below it.
        const float contact = liquid ? rays_.medium(hit.medium).contact : rays_.contact();
        const bool bottom = hit.from_inside && hit.position.y() < height_ + contact;
        if (hit.kind == Hit::Kind::none || bottom) {
            if (!std::isfinite(way)) break;
            const Vec3f end = ray.origin + way * ray.direction;
            place = {end.x(), end.z()};
            return true;
        }
        if (!liquid) break;
        const Immersion after = before.with(hit.medium, !hit.from_inside);
        if (before.medium() == after.medium()) { // inside a liquid of higher priority
            in = after;
            ray = rays_.leave(hit, ray.direction);
            continue;
        }
        const Vec3f normal = hit.from_inside ? Vec3f(-hit.normal) : hit.normal;
        const Interface meets = meet_interface(ray.direction, normal, rays_.ior(before) / rays_.ior(after));
        const bool mirrored = meets.reflectance >= 1;
        if (!mirrored) light *= 1 - meets.reflectance;
        in = mirrored ? before : after;
        ray = rays_.leave(hit, (mirrored ? meets.reflected : meets.refracted).normalized());
    }
    light.setZero();
    return true;
}

Floor::Photon Floor::shoot(size_t number) const
{
    PixelSampler even(0, static_cast<uint32_t>(number)); // all photons are points of one low-discrepancy sequence
    Photon photon;
    photon.aim = aim(even);
    const Vec3f toward = sample_cone(sky_.key_direction(), sky_.key_cos_radius(), even.pair());
    const float rise = rays_.shading_bounds().max.y() - height_ + 0.01f * radius_,
                back = rise / std::max(toward.y(), 0.05f);
    const float time = blurred_ ? even.single() : 0.5f;
    const Ray ray{Vec3f(photon.aim.x(), height_, photon.aim.y()) + back * toward, -toward, time};
    photon.disturbed = follow(ray, photon.place, photon.light);
    return photon;
}

Vec2f Floor::aim(PixelSampler& even) const
{
    const Vec2f size(key_.texel * static_cast<float>(key_.width), key_.texel * static_cast<float>(key_.height));
    return key_.low + even.pair().cwiseProduct(size);
}

// An order in which consecutive photons are close to each other, so that they traverse cached memory.
std::vector<uint32_t> Floor::photons_by_place() const
{
    constexpr int kCells = 128; // along each edge
    const float cell = key_.texel * static_cast<float>(std::max(key_.width, key_.height)) / kCells;
    std::vector<uint32_t> cells(photons_), starts(kCells * kCells + 1, 0), order(cells.size());
    parallel_for(
        cells.size(),
        [&](size_t i) {
            PixelSampler even(0, static_cast<uint32_t>(i));
            const Vec2f place = (aim(even) - key_.low) / cell;
            const int x = std::clamp(floor_int(place.x()), 0, kCells - 1);
            const int z = std::clamp(floor_int(place.y()), 0, kCells - 1);
            cells[i] = static_cast<uint32_t>(z * kCells + (z % 2 ? kCells - 1 - x : x)); // alternating direction
        },
        4096);
    for (const uint32_t c : cells) ++starts[c + 1];
    for (size_t c = 1; c < starts.size(); ++c) starts[c] += starts[c - 1];
    for (uint32_t i = 0; i < cells.size(); ++i) order[starts[cells[i]]++] = i;
    return order;
}

// Photons are aimed uniformly at the map. A photon that meets something is subtracted where it was aimed and added
// where it arrives, so that the unshaded floor is lit exactly uniformly.
void Floor::trace_key()
{
    const Box3f box = above_floor(rays_.shading_bounds(), height_);
    const Vec3f toward = sky_.key_direction();
    Vec2f low(box.min.x(), box.min.z()), high(box.max.x(), box.max.z());
    const float rise = box.max.y() - height_;
    for (int i = 0; i < 8; ++i) { // the shadow of the box, from the rim of the light
        const Vec3f d = sample_cone(toward, sky_.key_cos_radius(), {1, static_cast<float>(i) / 8});
        const Vec2f shift = -Vec2f(d.x(), d.z()) * (rise / std::max(d.y(), 0.1f));
        low = low.cwiseMin(Vec2f(box.min.x(), box.min.z()) + shift);
        high = high.cwiseMax(Vec2f(box.max.x(), box.max.z()) + shift);
    }
    const Vec2f margin = Vec2f::Constant(0.03f * (high - low).maxCoeff());
    low -= margin, high += margin;
    key_ = LightMap(low, high, key_texels_);

    std::vector<Photon> photons(photons_);
    const std::vector<uint32_t> order = photons_by_place();
    parallel_for(
        photons.size(), [&](size_t i) { photons[order[i]] = shoot(order[i]); }, 1024);
    std::fill(key_.light.begin(), key_.light.end(), Vec3f::Ones());
    const float each = static_cast<float>(key_.light.size()) / static_cast<float>(photons_);
    for (const Photon& p : photons) {
        if (!p.disturbed) continue;
        key_.splat(p.aim.x(), p.aim.y(), Vec3f::Constant(-each));
        key_.splat(p.place.x(), p.place.y(), each * p.light);
    }
    key_.blur(), key_.blur();
    for (Vec3f& light : key_.light) light = light.cwiseMax(0.0f);
}

Vec3f Floor::dome_share(size_t texel) const
{
    const int column = static_cast<int>(texel) % dome_.width, row = static_cast<int>(texel) / dome_.width;
    const Vec3f from(dome_.low.x() + (static_cast<float>(column) + 0.5f) * dome_.texel, height_ + 1e-4f * radius_,
                     dome_.low.y() + (static_cast<float>(row) + 0.5f) * dome_.texel);
    // Relative to the same directions without occluders, so that the open floor is lit exactly uniformly.
    Vec3f sum = Vec3f::Zero(), open = Vec3f::Constant(1e-6f);
    for (int k = 0; k < dome_rays_; ++k) {
        PixelSampler even(texel, static_cast<uint32_t>(k));
        const Vec3f d = sample_cosine({0, 1, 0}, even.pair());
        const float time = blurred_ ? even.single() : 0.5f;
        const Vec3f light = sky_.dome(d);
        sum += light.cwiseProduct(rays_.past_bodies({from, d, time})) * rays_.smoke().soft_transmittance({from, d});
        open += light;
    }
    return sum.cwiseQuotient(open);
}

void Floor::gather_dome()
{
    const Box3f box = above_floor(rays_.shading_bounds(), height_);
    const Vec2f reach = Vec2f::Constant(1.5f * (box.max.y() - height_) + 0.05f * radius_);
    dome_ = LightMap(Vec2f(box.min.x(), box.min.z()) - reach, Vec2f(box.max.x(), box.max.z()) + reach, dome_texels_);
    parallel_for(
        dome_.light.size(), [&](size_t i) { dome_.light[i] = dome_share(i); }, 64);
    for (int pass = 0; pass < 3; ++pass) dome_.blur();
    dome_.fade_rim();
}

} // namespace spindrift
