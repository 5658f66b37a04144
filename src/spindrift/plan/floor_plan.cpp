#include "spindrift/plan/floor_plan.h"

#include "spindrift/base/error.h"

#include <algorithm>

namespace spindrift {

PlanGoal& FloorPlan::goal(const std::string& name, const std::string& where)
{
    const auto found = std::find_if(goals.begin(), goals.end(), [&](const PlanGoal& g) { return g.name == name; });
    if (found != goals.end()) return *found;
    return goals.emplace_back(PlanGoal{name, where, {}, {}});
}

void FloorPlan::check_coordinates() const
{
    const auto check = [](const std::string& where, const std::vector<Vec2d>& points) {
        for (const Vec2d& p : points)
            if (!(std::abs(p.x()) < 1e7 && std::abs(p.y()) < 1e7)) // also rejects NaN
                bad_input("{}: the point ({:g}, {:g}) is out of range; coordinates must be within 10,000 km", where,
                          p.x(), p.y());
    };
    const auto check_polygon = [&](const std::string& where, const Polygon& polygon) {
        check(where, polygon.outer);
        for (const Ring& hole : polygon.holes) check(where, hole);
    };
    for (const auto* polygons : {&boundary, &obstacles, &areas})
        for (const PlanPolygon& p : *polygons) check_polygon(p.where, p.shape);
    for (const PlanWall& wall : walls) {
        check(wall.where, wall.points);
        if (!(wall.thickness > 0 && wall.thickness < 1e6))
            bad_input("{} is {:g} m thick; it must be above 0", wall.where, wall.thickness);
    }
    for (const PlanGoal& goal : goals) {
        check(goal.where, goal.points);
        for (const Polygon& piece : goal.pieces) check_polygon(goal.where, piece);
    }
    for (const PlanEntrance& entrance : entrances) {
        check(entrance.where, entrance.line);
        for (const Polygon& shape : entrance.shapes) check_polygon(entrance.where, shape);
    }
    for (const PlanLine& line : lines) check(line.where, line.points);
}

void FloorPlan::add_boundary_if_missing(const std::vector<Vec2d>& also_within, double margin)
{
    if (!boundary.empty()) return;
    Vec2d low = Vec2d::Constant(std::numeric_limits<double>::infinity()), high = -low;
    const auto add = [&](const std::vector<Vec2d>& points) {
        for (const Vec2d& p : points) low = low.cwiseMin(p), high = high.cwiseMax(p);
    };
    add(also_within);
    for (const PlanPolygon& obstacle : obstacles) add(obstacle.shape.outer);
    for (const PlanWall& wall : walls) add(wall.points);
    for (const PlanGoal& goal : goals) {
        add(goal.points);
        for (const Polygon& piece : goal.pieces) add(piece.outer);
    }
    for (const PlanEntrance& entrance : entrances) {
        add(entrance.line);
        for (const Polygon& shape : entrance.shapes) add(shape.outer);
    }
    if (!(low.array() <= high.array()).all()) return; // the plan is empty
    const Vec2d around = Vec2d::Constant(margin);
    boundary.push_back({"floor", "the floor around everything", box_polygon(low - around, high + around)});
}

Polygon circle_polygon(const Vec2d& center, double radius)
{
    const double farther = std::max(1e-3, 2e-3 / radius);
    const int sides = std::clamp(static_cast<int>(std::ceil(kPi / std::acos(1 / (1 + farther)))), 12, 64);
    Polygon polygon;
    const double outer = radius / std::cos(kPi / sides);
    for (int i = 0; i < sides; ++i) {
        const double angle = 2 * kPi * (i + 0.5) / sides;
        polygon.outer.emplace_back(center + outer * Vec2d(std::cos(angle), std::sin(angle)));
    }
    return polygon;
}

Polygon box_polygon(const Vec2d& corner, const Vec2d& opposite)
{
    const Vec2d low = corner.cwiseMin(opposite), high = corner.cwiseMax(opposite);
    return {{low, {high.x(), low.y()}, high, {low.x(), high.y()}}, {}};
}

} // namespace spindrift
