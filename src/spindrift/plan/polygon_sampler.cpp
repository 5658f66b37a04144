#include "spindrift/plan/polygon_sampler.h"

#include "spindrift/plan/plane.h"
#include "spindrift/plan/triangulation.h"

#include <algorithm>

namespace spindrift {

PolygonSampler::PolygonSampler(const std::vector<Polygon>& polygons)
{
    double sum = 0;
    for (const Polygon& polygon : polygons) {
        if (polygon.outer.size() < 3) continue;
        Vec2d low = polygon.outer.front(), high = low;
        for (const Vec2d& p : polygon.outer) low = low.cwiseMin(p), high = high.cwiseMax(p);
        const Vec2d middle = 0.5 * (low + high);
        const double quantum = std::max((high - low).maxCoeff() / static_cast<double>(kGridReach), 0x1p-20);
        std::vector<std::vector<GridPoint>> rings;
        const auto add = [&](const Ring& ring) {
            auto& points = rings.emplace_back();
            for (const Vec2d& p : ring)
                points.push_back(
                    {std::llround((p.x() - middle.x()) / quantum), std::llround((p.y() - middle.y()) / quantum)});
        };
        add(polygon.outer);
        for (const Ring& hole : polygon.holes) add(hole);
        const auto triangulation = triangulate(rings);
        if (!triangulation) continue; // invalid
        const auto corner = [&](int c) {
            const GridPoint& p = triangulation->points[c];
            return Vec2d(middle + quantum * Vec2d(static_cast<double>(p.x), static_cast<double>(p.y)));
        };
        for (const auto& t : triangulation->triangles) {
            triangles_.push_back({corner(t.corner[0]), corner(t.corner[1]), corner(t.corner[2])});
            const auto& [a, b, c] = triangles_.back();
            up_to_.push_back(sum += 0.5 * cross(b - a, c - a));
        }
    }
}

Vec2d PolygonSampler::at(double choice, double u, double v) const
{
    const auto found = std::upper_bound(up_to_.begin(), up_to_.end(), choice * area());
    const auto& [a, b, c] = triangles_[std::min(found, up_to_.end() - 1) - up_to_.begin()];
    if (u + v > 1) u = 1 - u, v = 1 - v;
    return a + u * (b - a) + v * (c - a);
}

} // namespace spindrift
