// The distance from a point to triangles: eight at a time, and the nearest point of one.
#pragma once

#include "spindrift/base/math.h"

#include <Eigen/Geometry>
#include <cstring>

namespace spindrift {

namespace lanes {

// Where registers are shorter than eight floats, the compiler warns about the ABI of functions that return vectors; all
// of these are inlined.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpsabi"

constexpr int kLanes = 8;

// One float in each of eight lanes: one vector register, or two.
using Lanes = float __attribute__((vector_size(kLanes * sizeof(float))));

inline Lanes load(const float (&values)[kLanes])
{
    Lanes lanes;
    std::memcpy(&lanes, values, sizeof(lanes));
    return lanes;
}

inline Lanes all(float value) { return Lanes{} + value; }
inline Lanes min_of(const Lanes& a, const Lanes& b) { return a < b ? a : b; }
inline Lanes max_of(const Lanes& a, const Lanes& b) { return a > b ? a : b; }

inline float smallest(const Lanes& a)
{
    float least = a[0];
    for (int i = 1; i < kLanes; ++i) least = std::min(least, a[i]);
    return least;
}

// Eight points or vectors.
struct Vec3Lanes {
    Lanes x, y, z;
    const Lanes& operator[](int axis) const { return axis == 0 ? x : axis == 1 ? y : z; }
    Vec3Lanes operator-(const Vec3Lanes& o) const { return {x - o.x, y - o.y, z - o.z}; }
    Lanes dot(const Vec3Lanes& o) const { return x * o.x + y * o.y + z * o.z; }
    Vec3Lanes cross(const Vec3Lanes& o) const { return {y * o.z - z * o.y, z * o.x - x * o.z, x * o.y - y * o.x}; }
    Vec3Lanes min(const Vec3Lanes& o) const { return {min_of(x, o.x), min_of(y, o.y), min_of(z, o.z)}; }
    Vec3Lanes max(const Vec3Lanes& o) const { return {max_of(x, o.x), max_of(y, o.y), max_of(z, o.z)}; }
};

inline Vec3Lanes load(const float (&values)[3][kLanes]) { return {load(values[0]), load(values[1]), load(values[2])}; }

// Avoids 0/0 for degenerate triangles.
constexpr float kTiny = std::numeric_limits<float>::min();

// Squared distance of p to the segment from 0 to `edge`.
inline Lanes edge_distance2(const Vec3Lanes& p, const Vec3Lanes& edge)
{
    const Lanes along = min_of(max_of(p.dot(edge) / max_of(edge.dot(edge), all(kTiny)), all(0)), all(1));
    const Vec3Lanes d = {p.x - along * edge.x, p.y - along * edge.y, p.z - along * edge.z};
    return d.dot(d);
}

inline Lanes triangle_distance2(const Vec3Lanes& p, const Vec3Lanes& a, const Vec3Lanes& b, const Vec3Lanes& c)
{
    const Vec3Lanes ab = b - a, bc = c - b, ca = a - c, pa = p - a, pb = p - b, pc = p - c;
    const Vec3Lanes n = ab.cross(bc);
    // On the inner side of all three edges the plane is nearest; elsewhere an edge is.
    const Lanes inner = min_of(min_of(n.cross(ab).dot(pa), n.cross(bc).dot(pb)), n.cross(ca).dot(pc));
    const Lanes height = n.dot(pa);
    const Lanes plane = height * height / max_of(n.dot(n), all(kTiny));
    const Lanes edges = min_of(min_of(edge_distance2(pa, ab), edge_distance2(pb, bc)), edge_distance2(pc, ca));
    return inner > 0.0f ? plane : edges;
}

inline Lanes box_distance2(const Vec3Lanes& p, const Vec3Lanes& low, const Vec3Lanes& high)
{
    const Vec3Lanes d = {max_of(max_of(low.x - p.x, p.x - high.x), all(0)),
                         max_of(max_of(low.y - p.y, p.y - high.y), all(0)),
                         max_of(max_of(low.z - p.z, p.z - high.z), all(0))};
    return d.dot(d);
}

#pragma GCC diagnostic pop

} // namespace lanes

// Barycentric weights of the point of a triangle nearest to x [Ericson 2004, 5.1.5].
inline Vec3f nearest_on_triangle(const Vec3f& x, const Vec3f& a, const Vec3f& b, const Vec3f& c)
{
    const auto on_edge = [&](const Vec3f& from, const Vec3f& to) {
        const Vec3f along = to - from;
        return clamp01((x - from).dot(along) / std::max(along.squaredNorm(), 1e-30f));
    };
    const Vec3f normal = (b - a).cross(c - a);
    const float area = normal.squaredNorm();
    const float u = (c - b).cross(x - b).dot(normal), v = (a - c).cross(x - c).dot(normal);
    const float w = area - u - v;
    if (area > 0 && u >= 0 && v >= 0 && w >= 0) return Vec3f(u, v, w) / area;
    // The projection lies outside the triangle: take the nearest edge.
    const float ab = on_edge(a, b), bc = on_edge(b, c), ca = on_edge(c, a);
    const Vec3f choice[3] = {{1 - ab, ab, 0}, {0, 1 - bc, bc}, {ca, 0, 1 - ca}};
    int best = 0;
    float least = kInfinity;
    for (int k = 0; k < 3; ++k) {
        const Vec3f& t = choice[k];
        if (const float d = (x - t[0] * a - t[1] * b - t[2] * c).squaredNorm(); d < least) least = d, best = k;
    }
    return choice[best];
}

} // namespace spindrift
