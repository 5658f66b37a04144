#include "spindrift/plan/free_space.h"

#include "spindrift/base/error.h"
#include "spindrift/plan/plane.h"

#include <fmt/format.h>

namespace spindrift {

namespace {

// The area of a polygon of the plan. Reports its defects.
Region repaired(const PlanPolygon& polygon, std::vector<std::string>& warnings)
{
    std::string problem;
    Region region(polygon.shape, &problem);
    if (region.area() < 1e-9) {
        warnings.push_back(fmt::format("{} has no area and was ignored", polygon.where));
        return Region();
    }
    if (!problem.empty())
        warnings.push_back(fmt::format("{} was repaired: {}; everything enclosed by its outline counts as inside",
                                       polygon.where, problem));
    return region;
}

// Warns about obstacles inside others, which have no effect, and about overlapping ones, which are joined: neither may
// be intended. Walls may overlap.
void warn_of_overlaps(const std::vector<PlanPolygon>& polygons, const std::vector<Region>& regions,
                      const std::vector<std::pair<int, int>>& touching, std::vector<std::string>& warnings)
{
    size_t joined = 0, nested = 0;
    constexpr size_t most = 3; // messages of one kind
    std::string first;
    for (const auto& [i, j] : touching) {
        if (static_cast<size_t>(j) >= polygons.size()) continue; // a wall
        const Region &a = regions[i], &b = regions[j];
        const std::string &name_a = polygons[i].where, &name_b = polygons[j].where;
        const bool b_in_a = a.covers(b);
        if (b_in_a || b.covers(a)) {
            if (++nested <= most)
                warnings.push_back(fmt::format("{} lies within {} and has no effect", b_in_a ? name_b : name_a,
                                               b_in_a ? name_a : name_b));
        } else if (++joined == 1) {
            first = fmt::format("{} and {}", name_a, name_b);
        }
    }
    if (nested > most)
        warnings.push_back(fmt::format("{} more obstacles lie within others and have no effect", nested - most));
    if (joined == 1) warnings.push_back(fmt::format("{} touch or overlap and were joined", first));
    if (joined > 1)
        warnings.push_back(fmt::format("{} and {} more pairs touch or overlap and were joined", first, joined - 1));
}

} // namespace

Region walkable_region(const FloorPlan& plan, std::vector<std::string>& warnings)
{
    plan.check_coordinates();
    std::vector<Region> floors, solids;
    for (const PlanPolygon& floor : plan.boundary) floors.push_back(repaired(floor, warnings));
    const Region floor = Region::joined(floors);
    if (floor.empty()) bad_input("the floor plan has no floor: give it a boundary, e.g. with box = [[0, 0], [20, 10]]");
    for (const PlanPolygon& obstacle : plan.obstacles) {
        solids.push_back(repaired(obstacle, warnings));
        if (!solids.back().empty() && !solids.back().touches(floor))
            warnings.push_back(fmt::format("{} lies outside the floor and has no effect", obstacle.where));
    }
    for (const PlanWall& wall : plan.walls) {
        solids.emplace_back(wall.points, wall.thickness);
        if (solids.back().empty()) warnings.push_back(fmt::format("{} has no length and was ignored", wall.where));
    }
    const std::vector<std::pair<int, int>> touching = Region::touching_pairs(solids);
    warn_of_overlaps(plan.obstacles, solids, touching, warnings);
    return floor.minus(Region::joined(solids, touching));
}

FreeSpace::FreeSpace(const FloorPlan& plan, double radius) : radius_(radius)
{
    if (!(radius >= 1e-3) || !(radius < 1e4))
        bad_input("an agent's radius is {} m; it must be 0.001 to 10,000 m", radius);
    walkable_ = walkable_region(plan, warnings_);
    if (walkable_.empty())
        bad_input("obstacles and walls cover the whole floor of the plan; remove some or enlarge the boundary");

    // A grid fine enough for visible detail, and coarse enough for exact arithmetic around the plan's centre.
    Vec2d low = Vec2d::Constant(std::numeric_limits<double>::infinity()), high = -low;
    for (const Polygon& polygon : walkable_.polygons())
        for (const Vec2d& p : polygon.outer) low = low.cwiseMin(p), high = high.cwiseMax(p);
    const Vec2d middle = (0.5 * (low + high)).array().round();
    const double extent = (high - middle).cwiseAbs().cwiseMax((low - middle).cwiseAbs()).maxCoeff();
    quantum_ = 0x1p-16;
    while (extent / quantum_ > static_cast<double>(kGridReach - 1)) quantum_ *= 2;

    region_ = walkable_.offset(-radius);
    if (region_.empty()) bad_input("the floor plan has no room for an agent of {:g} m across", 2 * radius);
    // Rounding to the grid rarely makes edges cross. If it does, GEOS repairs them, which is slow.
    std::optional<Triangulation> triangulation = triangulate(grid_rings(middle));
    if (!triangulation) {
        region_ = region_.snapped(quantum_);
        triangulation = triangulate(grid_rings(middle));
    }
    if (!triangulation || triangulation->triangles.empty())
        bad_input("the floor plan has no room for an agent of {:g} m across", 2 * radius);
    triangulation_ = std::move(*triangulation);
    for (const GridPoint& p : triangulation_.points)
        points_.push_back(middle + quantum_ * Vec2d(static_cast<double>(p.x), static_cast<double>(p.y)));
    find_parts();
}

std::vector<std::vector<GridPoint>> FreeSpace::grid_rings(const Vec2d& middle) const
{
    std::vector<std::vector<GridPoint>> rings;
    const auto add_ring = [&](const Ring& ring) {
        auto& grid_ring = rings.emplace_back();
        for (const Vec2d& p : ring) {
            const Vec2d q = (p - middle) / quantum_;
            grid_ring.push_back({std::llround(q.x()), std::llround(q.y())});
        }
    };
    for (const Polygon& polygon : region_.polygons()) {
        add_ring(polygon.outer);
        for (const Ring& hole : polygon.holes) add_ring(hole);
    }
    return rings;
}

void FreeSpace::find_parts()
{
    const auto& triangles = triangulation_.triangles;
    parts_.assign(triangles.size(), -1);
    std::vector<int> pending;
    for (size_t start = 0; start < triangles.size(); ++start) {
        if (parts_[start] >= 0) continue;
        parts_[start] = part_count_;
        pending.push_back(static_cast<int>(start));
        while (!pending.empty()) {
            const auto& triangle = triangles[pending.back()];
            pending.pop_back();
            for (const int u : triangle.neighbour)
                if (u != Triangulation::kWall && parts_[u] < 0) {
                    parts_[u] = part_count_;
                    pending.push_back(u);
                }
        }
        ++part_count_;
    }
}

Region FreeSpace::reach(const std::vector<Region>& pieces) const
{
    // Ignore slivers that an agent would step over.
    std::vector<Polygon> large = region_.common(Region::joined(pieces)).polygons();
    std::erase_if(large, [&](const Polygon& p) { return signed_area(p.outer) < 0.5 * radius_ * radius_; });
    Region within(large);
    std::vector<Region> rest = pieces;
    std::erase_if(rest, [&](const Region& piece) { return piece.touches(within); });
    if (rest.empty()) return within;
    // A strip along a wall is reached by agents at the wall; 5% more gives that set an area.
    return Region::joined({within, region_.common(Region::joined(rest).offset(1.05 * radius_))});
}

} // namespace spindrift
