// Navigation in floor plans: load time of plans with 10,000 edges, and queries per second on one core.
#include "bench.h"

#include "plan/plans.h"
#include "spindrift/base/parallel.h"
#include "spindrift/plan/navigator.h"

namespace spindrift {

namespace {

size_t edge_count(const FloorPlan& plan)
{
    size_t count = 0;
    for (const PlanPolygon& obstacle : plan.obstacles) count += obstacle.shape.outer.size();
    return count;
}

// Places of agents on a lattice, row by row as a sorted crowd has them.
std::vector<Vec2f> agents_in(const Navigator& navigator, float side, float spacing)
{
    std::vector<Vec2f> agents;
    for (float y = spacing; y < side; y += spacing)
        for (float x = spacing; x < side; x += spacing)
            if (navigator.inside({x, y})) agents.emplace_back(x, y);
    return agents;
}

FloorPlan round_obstacle(int edges)
{
    FloorPlan plan = empty_hall(120, 120);
    Ring ring;
    for (int i = 0; i < edges; ++i)
        ring.emplace_back(60 + 50 * std::cos(2 * kPi * i / edges), 60 + 50 * std::sin(2 * kPi * i / edges));
    plan.obstacles.push_back(obstacle({ring, {}}));
    return plan;
}

FloorPlan overlapping_boxes(int count)
{
    FloorPlan plan = empty_hall(100, 100);
    Random random(1);
    for (int i = 0; i < count; ++i) {
        const Vec2d corner(100 * random.uniform(), 100 * random.uniform());
        const Vec2d size(0.1 + 1.2 * random.uniform(), 0.1 + 1.2 * random.uniform());
        plan.obstacles.push_back(obstacle(box_polygon(corner, corner + size)));
    }
    return plan;
}

} // namespace

void bench_plan(BenchTable& table)
{
    constexpr double radius = 0.25;
    const FloorPlan tents = camp(36);
    const std::pair<const char*, FloorPlan> plans[] = {{"a camp of 1296 tents", tents},
                                                       {"one round obstacle", round_obstacle(10000)},
                                                       {"2500 overlapping boxes", overlapping_boxes(2500)}};
    for (const auto& [name, plan] : plans) {
        const double seconds = best_seconds(3, [&] { const Navigator navigator(plan, radius); });
        table.add(fmt::format("floor plan: {}, {} edges, loads in", name, edge_count(plan)),
                  fmt::format("{:.2f} s", seconds), seconds, at_most(2, " s"));
    }

    const Navigator navigator(tents, radius);
    const auto side = static_cast<float>(4 * 36 + 1);
    const std::vector<Vec2f> agents = agents_in(navigator, side, 0.3f);
    const auto count = static_cast<double>(agents.size());
    table.note(fmt::format("{} agents; {} triangles, {} vertices of the roadmap", agents.size(),
                           navigator.space().triangulation().triangles.size(), navigator.roadmap().size()));
    const GoalId goal = 0;
    const double prepared = seconds_of([&] { navigator.prepare({&goal, 1}); });
    table.add("  shortest paths to a goal from everywhere", fmt::format("{:.1f} ms", 1e3 * prepared));

    for (const float length : {2.0f, 10.0f, 50.0f}) {
        size_t seen = 0;
        const double seconds = best_seconds(3, [&] {
            seen = 0;
            for (size_t i = 0; i < agents.size(); ++i) {
                const float angle = static_cast<float>(i) * 2.399963f;
                seen += navigator.visible(agents[i], agents[i] + length * Vec2f(std::cos(angle), std::sin(angle)));
            }
        });
        const std::string what =
            fmt::format("  visibility over {} m, {:.0f}% free", length, 100 * static_cast<double>(seen) / count);
        const double rate = count / seconds / 1e6;
        if (length < 5)
            table.add(what, fmt::format("{:.1f} M/s on one core", rate), rate, at_least(2, " M/s"));
        else
            table.add(what, fmt::format("{:.1f} M/s on one core", rate));
    }

    std::vector<RouteCursor> cursors(agents.size());
    std::vector<Vec2f> moved = agents;
    const auto step = [&] {
        for (size_t i = 0; i < moved.size(); ++i)
            moved[i] = navigator.keep_out(moved[i], moved[i] + 0.05f * navigator.direction(moved[i], goal, cursors[i]));
    };
    const double first = seconds_of(step), later = best_seconds(5, step);
    table.add("  direction and step of an agent, first step",
              fmt::format("{:.2f} M/s on one core", count / first / 1e6));
    table.add("  direction and step of an agent, later steps",
              fmt::format("{:.2f} M/s on one core", count / later / 1e6));
    constexpr size_t routes = 500;
    const double searched = seconds_of([&] {
        for (size_t i = 0; i < routes; ++i) {
            PointRoute route;
            navigator.direction(agents[i * 17 % agents.size()], agents[agents.size() - 1 - i * 31], route);
        }
    });
    table.add("  search for a goal used by one agent only",
              fmt::format("{:.2f} ms on one core", 1e3 * searched / static_cast<double>(routes)));
}

} // namespace spindrift
