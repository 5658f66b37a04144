// Plane geometry shared by the files of this room.
#pragma once

#include "spindrift/mesh/polygon.h"

namespace spindrift {

inline double cross(const Vec2d& a, const Vec2d& b) { return a.x() * b.y() - a.y() * b.x(); }

// Positive for counter-clockwise rings.
inline double signed_area(const Ring& ring)
{
    double twice = 0;
    for (size_t i = 1; i + 1 < ring.size(); ++i) twice += cross(ring[i] - ring[0], ring[i + 1] - ring[0]);
    return 0.5 * twice;
}

inline bool contains(const Ring& ring, const Vec2d& p)
{
    bool inside = false;
    for (size_t i = 0, j = ring.size() - 1; i < ring.size(); j = i++) {
        const Vec2d &a = ring[i], &b = ring[j];
        if ((a.y() > p.y()) != (b.y() > p.y()) && (cross(b - a, p - a) > 0) == (b.y() > a.y())) inside = !inside;
    }
    return inside;
}

inline bool contains(const Polygon& polygon, const Vec2d& p)
{
    if (!contains(polygon.outer, p)) return false;
    for (const Ring& hole : polygon.holes)
        if (contains(hole, p)) return false;
    return true;
}

inline Vec2d nearest_on_segment(const Vec2d& p, const Vec2d& a, const Vec2d& b)
{
    const Vec2d along = b - a;
    const double length2 = along.squaredNorm();
    return length2 > 0 ? Vec2d(a + std::clamp((p - a).dot(along) / length2, 0.0, 1.0) * along) : a;
}

inline Vec2d nearest_on_ring(const Vec2d& p, const Ring& ring)
{
    Vec2d best = ring.front();
    double least = std::numeric_limits<double>::infinity();
    for (size_t i = 0, j = ring.size() - 1; i < ring.size(); j = i++) {
        const Vec2d q = nearest_on_segment(p, ring[j], ring[i]);
        if (const double d = (q - p).squaredNorm(); d < least) least = d, best = q;
    }
    return best;
}

} // namespace spindrift
