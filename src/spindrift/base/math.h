// Fixed-size vectors (Eigen) and the few functions on them that Eigen lacks. SI units; y is up.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace spindrift {

using Vec2f = Eigen::Vector2f;
using Vec3f = Eigen::Vector3f;
using Vec3d = Eigen::Vector3d;
using Vec3i = Eigen::Vector3i;
using Mat3f = Eigen::Matrix3f;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr double kPi = 3.14159265358979323846;

// Axis-aligned box; empty until a point or box is added.
struct Box3f {
    Vec3f min = Vec3f::Constant(kInfinity);
    Vec3f max = Vec3f::Constant(-kInfinity);

    bool empty() const { return (min.array() > max.array()).any(); }
    Vec3f size() const { return max - min; }
    Vec3f center() const { return 0.5f * (min + max); }
    bool contains(const Vec3f& x) const { return (x.array() >= min.array()).all() && (x.array() <= max.array()).all(); }
    void add(const Vec3f& x) { min = min.cwiseMin(x), max = max.cwiseMax(x); }
    void add(const Box3f& b) { min = min.cwiseMin(b.min), max = max.cwiseMax(b.max); }
    Box3f grown(float by) const { return {min.array() - by, max.array() + by}; }
};

inline float clamp01(float x) { return std::clamp(x, 0.0f, 1.0f); }
inline float mix(float a, float b, float t) { return a + t * (b - a); }
// floor() as an int; exact for every float whose floor fits an int.
inline int floor_int(float x)
{
    const int i = static_cast<int>(x);
    return i - (x < static_cast<float>(i));
}

} // namespace spindrift
