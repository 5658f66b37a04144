#include "spindrift/plan/plan_mesh.h"

#include "spindrift/plan/geos_region.h"
#include "spindrift/plan/triangulation.h"

namespace spindrift {

namespace {

void add_sides(const Ring& ring, float height, Mesh& mesh)
{
    const auto corner = [&](const Vec2d& p, float y) {
        mesh.positions.emplace_back(static_cast<float>(p.x()), y, static_cast<float>(-p.y()));
    };
    for (size_t i = 0; i < ring.size(); ++i) {
        const auto first = static_cast<int>(mesh.positions.size());
        for (const Vec2d& p : {ring[i], ring[(i + 1) % ring.size()]}) corner(p, 0), corner(p, height);
        mesh.triangles.emplace_back(first, first + 2, first + 3);
        mesh.triangles.emplace_back(first, first + 3, first + 1);
    }
}

void add_top(const Polygon& polygon, float height, Mesh& mesh)
{
    constexpr double kQuantum = 1e-3;
    const Vec2d origin = polygon.outer.front();
    std::vector<std::vector<GridPoint>> rings;
    const auto add = [&](const Ring& ring) {
        auto& points = rings.emplace_back();
        for (const Vec2d& p : ring)
            points.push_back({std::llround((p - origin).x() / kQuantum), std::llround((p - origin).y() / kQuantum)});
    };
    add(polygon.outer);
    for (const Ring& hole : polygon.holes) add(hole);
    const auto triangulation = triangulate(rings);
    if (!triangulation) return; // thinner than a millimetre somewhere: sides only
    const auto first = static_cast<int>(mesh.positions.size());
    for (const GridPoint& p : triangulation->points) {
        const Vec2d at = origin + kQuantum * Vec2d(static_cast<double>(p.x), static_cast<double>(p.y));
        mesh.positions.emplace_back(static_cast<float>(at.x()), height, static_cast<float>(-at.y()));
    }
    for (const auto& t : triangulation->triangles)
        mesh.triangles.emplace_back(first + t.corner[0], first + t.corner[1], first + t.corner[2]);
}

} // namespace

Mesh plan_mesh(const FloorPlan& plan, float height)
{
    std::vector<Region> solids;
    for (const PlanPolygon& obstacle : plan.obstacles) solids.emplace_back(obstacle.shape);
    for (const PlanWall& wall : plan.walls) solids.emplace_back(wall.points, wall.thickness);
    Mesh mesh;
    for (const Polygon& polygon : Region::joined(solids, Region::touching_pairs(solids)).polygons()) {
        add_sides(polygon.outer, height, mesh);
        for (const Ring& hole : polygon.holes) add_sides(hole, height, mesh);
        add_top(polygon, height, mesh);
    }
    return mesh;
}

} // namespace spindrift
