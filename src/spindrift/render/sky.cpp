#include "spindrift/render/sky.h"

namespace spindrift {

namespace {

constexpr float kDegree = static_cast<float>(kPi / 180);

// A softbox: a rectangle orthogonal to `axis`, `half_width` by `half_height` at distance one, with soft edges.
float softbox(const Vec3f& direction, const Vec3f& axis, float half_width, float half_height, float rim)
{
    const float ahead = direction.dot(axis);
    if (ahead <= 0.05f) return 0;
    const Vec3f right = Vec3f(-axis.z(), 0, axis.x()).normalized(), up = right.cross(axis);
    const float u = std::abs(direction.dot(right)) / ahead, v = std::abs(direction.dot(up)) / ahead;
    return (1 - smoothstep(half_width - rim, half_width + rim, u)) *
           (1 - smoothstep(half_height - rim, half_height + rim, v));
}

Vec3f from_angles(float azimuth, float elevation)
{
    const float a = azimuth * kDegree, e = elevation * kDegree;
    return {std::sin(a) * std::cos(e), std::sin(e), -std::cos(a) * std::cos(e)};
}

} // namespace

Sky::Sky(const RenderParams& params) : kind_(params.sky)
{
    // With a lower light, shadows would extend beyond the picture.
    key_direction_ = from_angles(params.light.azimuth, std::clamp(params.light.elevation, 15.0f, 90.0f));
    const float radius = 0.5f * std::clamp(params.light.size, 0.2f, 60.0f) * kDegree;
    key_cos_radius_ = std::cos(radius), key_cos_rim_ = std::cos(1.25f * radius);
    switch (kind_) {
    case RenderParams::Sky::studio:
        horizon_ = Vec3f(0.30f, 0.38f, 0.46f), zenith_ = Vec3f(0.10f, 0.15f, 0.22f);
        nadir_ = Vec3f(0.50f, 0.53f, 0.56f);
        key_irradiance_ = params.light.strength * Vec3f(2.45f, 2.38f, 2.28f);
        break;
    case RenderParams::Sky::daylight:
        horizon_ = Vec3f(0.72f, 0.84f, 0.96f), zenith_ = Vec3f(0.10f, 0.25f, 0.60f);
        nadir_ = Vec3f(0.35f, 0.40f, 0.45f);
        key_irradiance_ = params.light.strength * Vec3f(3.0f, 2.75f, 2.35f);
        break;
    case RenderParams::Sky::uniform:
        horizon_ = zenith_ = nadir_ = Vec3f(1, 1, 1);
        key_irradiance_ = Vec3f(0, 0, 0);
        break;
    }
    // Reflections show the light dimmer than its irradiance implies: a small light would cause fireflies.
    const float solid_angle = static_cast<float>(2 * kPi) * (1 - key_cos_radius_);
    const float dimming = std::min(1.0f, 40.0f * solid_angle / std::max(key_irradiance_.maxCoeff(), 1e-6f));
    key_radiance_ = key_irradiance_ / solid_angle * dimming;

    // Irradiance of the dome, from uniform directions weighted by the cosine.
    const int count = 2048;
    Vec3d sum = Vec3d::Zero();
    for (int i = 0; i < count; ++i) {
        const float x = (static_cast<float>(i) + 0.5f) / count, turns = static_cast<float>(i) * 0.61803399f;
        sum += dome(sample_cosine({0, 1, 0}, {x, turns - std::floor(turns)})).cast<double>();
    }
    dome_irradiance_ = (sum * (kPi / count)).cast<float>();
}

Vec3f Sky::dome(const Vec3f& direction) const
{
    const float y = direction.y();
    if (kind_ == RenderParams::Sky::uniform) return horizon_;
    if (y < 0) return horizon_ + smoothstep(0, 0.5f, -y) * (nadir_ - horizon_);
    if (kind_ == RenderParams::Sky::daylight) {
        // Pale at the horizon and around the sun, deep blue overhead.
        const float glow = std::pow(std::max(0.0f, direction.dot(key_direction_)), 24.0f);
        return horizon_ + std::pow(y, 0.45f) * (zenith_ - horizon_) + glow * Vec3f(0.55f, 0.48f, 0.36f);
    }
    static const Vec3f behind = from_angles(-22, 36), side = from_angles(70, 40);
    const float boxes =
        2.4f * softbox(direction, behind, 0.50f, 0.22f, 0.08f) + 1.1f * softbox(direction, side, 0.40f, 0.45f, 0.14f);
    return horizon_ + smoothstep(0, 0.9f, y) * (zenith_ - horizon_) + boxes * Vec3f(0.97f, 1.0f, 1.03f);
}

Vec3f Sky::with_key(const Vec3f& direction) const
{
    const float key = smoothstep(key_cos_rim_, key_cos_radius_, direction.dot(key_direction_));
    return dome(direction) + key * key_radiance_;
}

} // namespace spindrift
