// Floor plans for tests and benchmarks.
#pragma once

#include "spindrift/base/random.h"
#include "spindrift/plan/floor_plan.h"

#include <fmt/format.h>

namespace spindrift {

// A star-shaped polygon with random radii between r/2 and r.
inline Polygon random_star(Random& random, const Vec2d& center, double r, int corners)
{
    Polygon polygon;
    const double turn = 2 * kPi * random.uniform();
    for (int i = 0; i < corners; ++i) {
        const double angle = turn + 2 * kPi * i / corners, radius = r * (0.5 + 0.5 * random.uniform());
        polygon.outer.emplace_back(center + radius * Vec2d(std::cos(angle), std::sin(angle)));
    }
    return polygon;
}

inline PlanPolygon obstacle(const Polygon& shape, const std::string& name = "obstacle") { return {name, name, shape}; }

inline FloorPlan empty_hall(double width, double height)
{
    FloorPlan plan;
    plan.boundary.push_back({"hall", "hall", box_polygon({0, 0}, {width, height})});
    return plan;
}

inline void add_goal(FloorPlan& plan, const std::string& name, const Polygon& piece)
{
    plan.goal(name, "goal '" + name + "'").pieces.push_back(piece);
}

// A camp of n x n tents with several corners each, 4 m apart; everyone walks to one corner of the camp.
inline FloorPlan camp(int n, int corners = 8, uint64_t seed = 1)
{
    const double side = 4.0 * n + 1;
    FloorPlan plan = empty_hall(side, side);
    Random random(seed);
    for (int y = 0; y < n; ++y)
        for (int x = 0; x < n; ++x) {
            const Vec2d center(4 * x + 2.25 + 0.5 * random.uniform(), 4 * y + 2.25 + 0.5 * random.uniform());
            plan.obstacles.push_back(
                obstacle(random_star(random, center, 1.2, corners), fmt::format("tent {} {}", x, y)));
        }
    add_goal(plan, "gate", box_polygon({side - 4, side - 4}, {side, side}));
    return plan;
}

// Random overlapping obstacles and walls. The free space need not be connected.
inline FloorPlan random_plan(uint64_t seed, int obstacles = 8, double side = 20)
{
    FloorPlan plan = empty_hall(side, side);
    Random random(seed);
    const auto somewhere = [&] { return Vec2d(side * random.uniform(), side * random.uniform()); };
    for (int i = 0; i < obstacles; ++i) {
        const Vec2d center = somewhere();
        const double size = side * (0.03 + 0.12 * random.uniform());
        plan.obstacles.push_back(obstacle(random_star(random, center, size, 3 + static_cast<int>(random.bits() % 6))));
    }
    for (int i = 0; i < 3; ++i) {
        const Vec2d from = somewhere(), to = somewhere();
        plan.walls.push_back({"wall", "wall", {from, to}, 0.2});
    }
    add_goal(plan, "goal", random_star(random, somewhere(), 2, 5));
    return plan;
}

} // namespace spindrift
