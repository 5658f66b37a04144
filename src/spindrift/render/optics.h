// The optics of clear water: Fresnel's equations, Snell's law, Beer-Lambert absorption.
#pragma once

#include "spindrift/base/math.h"

#include <Eigen/Geometry>

namespace spindrift {

struct Ray {
    Vec3f origin, direction; // direction has length one
    float time = 0.5f;       // share of the time that the shutter is open
};

// What a ray does at a smooth interface. `normal` points against the ray.
struct Interface {
    float reflectance = 1; // of unpolarised light; 1: total reflection, `refracted` is unspecified
    Vec3f reflected, refracted;
};

// Share of unpolarised light reflected; `eta` is the index where the light comes from over that where it goes.
inline float fresnel(float cos_in, float eta)
{
    const float sin2_out = eta * eta * std::max(0.0f, 1 - cos_in * cos_in);
    if (sin2_out >= 1) return 1;
    const float cos_out = std::sqrt(1 - sin2_out);
    const float across = (eta * cos_in - cos_out) / (eta * cos_in + cos_out);
    const float along = (cos_in - eta * cos_out) / (cos_in + eta * cos_out);
    return 0.5f * (across * across + along * along);
}

inline Interface meet_interface(const Vec3f& direction, const Vec3f& normal, float eta)
{
    Interface out;
    const float cos_in = std::clamp(-direction.dot(normal), 0.0f, 1.0f);
    out.reflected = direction + 2 * cos_in * normal;
    out.reflectance = fresnel(cos_in, eta);
    out.refracted = direction;
    if (out.reflectance >= 1) return out;
    const float cos_out = std::sqrt(std::max(0.0f, 1 - eta * eta * (1 - cos_in * cos_in)));
    out.refracted = eta * direction + (eta * cos_in - cos_out) * normal;
    return out;
}

// Transmittance of each colour over a distance in a medium with the coefficient `absorption` [1/m].
inline Vec3f beer_lambert(const Vec3f& absorption, float distance) { return (-distance * absorption).array().exp(); }

// Phase function of smoke, per unit of solid angle (Henyey and Greenstein 1941); `anisotropy` is the mean cosine:
// 0 scatters uniformly, values near 1 scatter forwards.
inline float henyey_greenstein(float cosine, float anisotropy)
{
    const float g = anisotropy, square = std::max(1 + g * g - 2 * g * cosine, 1e-6f);
    return (1 - g * g) / (static_cast<float>(4 * kPi) * square * std::sqrt(square));
}

inline float luminance(const Vec3f& c) { return 0.2126f * c.x() + 0.7152f * c.y() + 0.0722f * c.z(); }

inline float smoothstep(float low, float high, float x)
{
    const float t = clamp01((x - low) / (high - low));
    return t * t * (3 - 2 * t);
}

// Two unit vectors orthogonal to `normal` and to each other.
inline void frame_around(const Vec3f& normal, Vec3f& tangent, Vec3f& bitangent)
{
    const Vec3f helper = std::abs(normal.y()) < 0.9f ? Vec3f(0, 1, 0) : Vec3f(1, 0, 0);
    tangent = helper.cross(normal).normalized();
    bitangent = normal.cross(tangent);
}

// Maps a point of the unit square to a direction within a cone around the axis, uniformly in solid angle...
inline Vec3f sample_cone(const Vec3f& axis, float cos_radius, const Vec2f& square)
{
    Vec3f tangent, bitangent;
    frame_around(axis, tangent, bitangent);
    const float c = mix(1, cos_radius, square.x()), s = std::sqrt(std::max(0.0f, 1 - c * c));
    const float phi = static_cast<float>(2 * kPi) * square.y();
    return (c * axis + s * std::cos(phi) * tangent + s * std::sin(phi) * bitangent).normalized();
}

// ... and to a direction above `normal` with a density proportional to the cosine.
inline Vec3f sample_cosine(const Vec3f& normal, const Vec2f& square)
{
    Vec3f tangent, bitangent;
    frame_around(normal, tangent, bitangent);
    const float r = std::sqrt(square.x()), phi = static_cast<float>(2 * kPi) * square.y();
    const float up = std::sqrt(std::max(0.0f, 1 - square.x()));
    return (up * normal + r * std::cos(phi) * tangent + r * std::sin(phi) * bitangent).normalized();
}

} // namespace spindrift
