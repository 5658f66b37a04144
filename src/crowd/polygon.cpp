#include "crowd/polygon.h"

namespace spindrift {

namespace {

// By the number of edges to the right of it.
bool within(const Ring& ring, const Vec2d& p)
{
    bool inside = false;
    for (size_t i = 0, j = ring.size() - 1; i < ring.size(); j = i++) {
        const Vec2d &a = ring[i], &b = ring[j];
        if ((a.y() > p.y()) != (b.y() > p.y()) && p.x() < a.x() + (p.y() - a.y()) / (b.y() - a.y()) * (b.x() - a.x()))
            inside = !inside;
    }
    return inside;
}

} // namespace

bool contains(const Polygon& polygon, const Vec2d& p)
{
    return within(polygon.outer, p) &&
           std::none_of(polygon.holes.begin(), polygon.holes.end(), [&](const Ring& hole) { return within(hole, p); });
}

bool contains(const std::vector<Polygon>& polygons, const Vec2d& p)
{
    return std::any_of(polygons.begin(), polygons.end(), [&](const Polygon& polygon) { return contains(polygon, p); });
}

} // namespace spindrift
