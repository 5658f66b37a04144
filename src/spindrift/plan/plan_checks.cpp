#include "spindrift/plan/plan_checks.h"

#include "spindrift/base/error.h"
#include "spindrift/scene/params.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <unordered_map>

namespace spindrift {

namespace {

std::string place(const Vec2f& p) { return fmt::format("({:g}, {:g})", p.x(), p.y()); }

// A point within a polygon: the midpoint of the longest inner stretch of a line through it.
Vec2d point_within(const Polygon& polygon)
{
    double low = polygon.outer.front().y(), high = low;
    for (const Vec2d& p : polygon.outer) low = std::min(low, p.y()), high = std::max(high, p.y());
    Vec2d best = polygon.outer.front();
    double longest = -1;
    for (int line = 1; line < 8; ++line) {
        const double y = low + (high - low) * (line + 0.0137) / 8;
        std::vector<double> crossings;
        const auto add = [&](const Ring& ring) {
            for (size_t i = 0; i < ring.size(); ++i) {
                const Vec2d &a = ring[i], &b = ring[(i + 1) % ring.size()];
                if ((a.y() > y) != (b.y() > y))
                    crossings.push_back(a.x() + (y - a.y()) / (b.y() - a.y()) * (b.x() - a.x()));
            }
        };
        add(polygon.outer);
        for (const Ring& hole : polygon.holes) add(hole);
        std::sort(crossings.begin(), crossings.end());
        for (size_t i = 0; i + 1 < crossings.size(); i += 2)
            if (crossings[i + 1] - crossings[i] > longest) {
                longest = crossings[i + 1] - crossings[i];
                best = {0.5 * (crossings[i] + crossings[i + 1]), y};
            }
    }
    return best;
}

// Overlapping pairs of people, found on a grid with cells of their diameter.
struct Overlaps {
    size_t count = 0;
    Vec2f first = Vec2f::Zero();
};
Overlaps overlaps(const std::vector<PlannedGroup>& groups)
{
    struct Person {
        Vec2f at;
        float radius;
    };
    std::vector<Person> people;
    float widest = 0;
    for (const PlannedGroup& group : groups)
        for (const Vec2f& p : group.starts) {
            people.push_back({p, static_cast<float>(group.radius)});
            widest = std::max(widest, 2 * people.back().radius);
        }
    Overlaps result;
    if (!(widest > 0)) return result;
    const auto cell = [&](const Vec2f& p, int dx, int dy) {
        const auto x = static_cast<int64_t>(std::floor(static_cast<double>(p.x() / widest))) + dx;
        const auto y = static_cast<int64_t>(std::floor(static_cast<double>(p.y() / widest))) + dy;
        return static_cast<uint64_t>(x) * 0x9e3779b97f4a7c15ull + static_cast<uint64_t>(y);
    };
    std::unordered_map<uint64_t, std::vector<uint32_t>> cells;
    for (size_t i = 0; i < people.size(); ++i) {
        const Person& one = people[i];
        if (!one.at.allFinite()) continue;
        for (int dy = -1; dy <= 1; ++dy)
            for (int dx = -1; dx <= 1; ++dx) {
                const auto found = cells.find(cell(one.at, dx, dy));
                if (found == cells.end()) continue;
                for (const uint32_t j : found->second) {
                    const float touching = 0.98f * (one.radius + people[j].radius); // tolerates rounding
                    if ((people[j].at - one.at).squaredNorm() < touching * touching && ++result.count == 1)
                        result.first = one.at;
                }
            }
        if (result.count > 1000000) break; // everyone is at one place
        cells[cell(one.at, 0, 0)].push_back(static_cast<uint32_t>(i));
    }
    return result;
}

class Checker {
  public:
    Checker(const FloorPlan& plan, const Navigator& navigator) : plan_(plan), navigator_(navigator)
    {
        report_.warnings = plan.warnings;
        const auto& repaired = navigator.space().warnings();
        report_.warnings.insert(report_.warnings.end(), repaired.begin(), repaired.end());
    }

    PlanReport check(const std::vector<PlannedGroup>& groups)
    {
        check_that_somebody_comes(groups);
        for (const PlanGoal& goal : plan_.goals) check_room_in(goal);
        for (const PlannedGroup& group : groups) {
            check_starts(group);
            check_ways(group);
        }
        const Overlaps on_top = overlaps(groups);
        if (on_top.count > 0)
            report_.errors.push_back(
                fmt::format("{} pairs of people overlap at the start, the first at {}; give them more room",
                            on_top.count, place(on_top.first)));
        return std::move(report_);
    }

  private:
    double across() const { return 2 * navigator_.space().radius(); }

    void check_that_somebody_comes(const std::vector<PlannedGroup>& groups)
    {
        bool anybody = false;
        for (const PlannedGroup& group : groups) {
            anybody = anybody || !group.starts.empty();
            for (const std::string& name : group.entrances)
                for (const PlanEntrance& entrance : plan_.entrances)
                    anybody = anybody || (entrance.name == name && entrance.rate > 0 && entrance.end > entrance.start);
        }
        if (!anybody)
            report_.errors.push_back(groups.empty()
                                         ? "the scene has no people; add a group, or an entrance with a rate"
                                         : "no group has people at the start or an entrance with a rate above 0");
    }

    void check_room_in(const PlanGoal& goal)
    {
        const Region zone(navigator_.zone(navigator_.goal(goal.name)));
        if (zone.empty()) {
            report_.errors.push_back(
                fmt::format("{} has no room for an agent of {:g} m across: it lies outside the floor, "
                            "in an obstacle, or in a gap that is too narrow",
                            goal.where, across()));
            return;
        }
        const auto closed = std::count_if(goal.pieces.begin(), goal.pieces.end(), [&](const Polygon& piece) {
            return !Region(piece).offset(1.06 * navigator_.space().radius()).touches(zone);
        });
        if (closed > 0)
            report_.warnings.push_back(fmt::format("{}: {} of its {} pieces have no room for an agent of {:g} m across",
                                                   goal.where, closed, goal.pieces.size(), across()));
    }

    void check_starts(const PlannedGroup& group)
    {
        size_t outside = 0, tight = 0;
        Vec2f first_outside(0, 0), first_tight(0, 0);
        for (const Vec2f& p : group.starts) {
            if (navigator_.inside(p)) continue;
            if (!p.allFinite() || !on_floor(p.cast<double>())) {
                if (++outside == 1) first_outside = p;
            } else if (++tight == 1) {
                first_tight = p;
            }
        }
        const auto who = [&](size_t count) {
            return fmt::format("{}: {} of {} people of group '{}'", group.where, count, group.starts.size(),
                               group.name);
        };
        if (outside > 0)
            report_.errors.push_back(
                fmt::format("{} start in a wall, in an obstacle or outside the floor, the first at {}", who(outside),
                            place(first_outside)));
        if (tight > 0)
            report_.warnings.push_back(fmt::format("{} start closer to a wall than their radius, the first at {}; they "
                                                   "are moved to the nearest free place",
                                                   who(tight), place(first_tight)));
    }

    // One start from each part of the free space suffices.
    void check_ways(const PlannedGroup& group)
    {
        std::map<int, std::pair<Vec2f, std::string>> from; // part, and a start in it
        std::vector<size_t> starts;
        for (size_t i = 0; i < group.starts.size(); ++i) {
            const Vec2f p = navigator_.nearest_free(group.starts[i]);
            from.try_emplace(navigator_.part(p), p, fmt::format("from {}", place(p)));
            if (i < group.targets.size() && !navigator_.reachable(p, navigator_.nearest_free(group.targets[i])))
                starts.push_back(i);
        }
        if (!starts.empty())
            report_.errors.push_back(fmt::format("{}: there is no path from {} to {}, nor for {} others of group '{}'",
                                                 group.where, place(group.starts[starts[0]]),
                                                 place(group.targets[starts[0]]), starts.size() - 1, group.name));
        for (const std::string& name : group.entrances) add_entrance(group, name, from);
        for (const std::string& name : group.goals) {
            const auto goal =
                std::find_if(plan_.goals.begin(), plan_.goals.end(), [&](const PlanGoal& g) { return g.name == name; });
            if (goal == plan_.goals.end()) {
                std::vector<std::string> names;
                for (const PlanGoal& g : plan_.goals) names.push_back(g.name);
                const std::string nearest = nearest_name(name, names);
                report_.errors.push_back(
                    fmt::format("{}: group '{}' has the goal '{}', which does not exist{}", group.where, group.name,
                                name, nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest)));
                continue;
            }
            const auto id = static_cast<GoalId>(goal - plan_.goals.begin());
            if (navigator_.zone(id).empty()) continue; // reported already
            for (const auto& [part, start] : from) {
                if (navigator_.reachable(start.first, id)) continue;
                report_.errors.push_back(fmt::format("{}: group '{}' cannot reach goal '{}' {}: {}", group.where,
                                                     group.name, name, start.second, why(start.first, id)));
            }
        }
    }

    void add_entrance(const PlannedGroup& group, const std::string& name,
                      std::map<int, std::pair<Vec2f, std::string>>& from)
    {
        bool found = false;
        for (const PlanEntrance& entrance : plan_.entrances) {
            if (entrance.name != name) continue;
            found = true;
            const std::vector<Polygon> zone = entrance_zone(entrance, navigator_.space());
            if (zone.empty())
                report_.errors.push_back(
                    fmt::format("{} has no room for an agent of {:g} m across", entrance.where, across()));
            for (const Polygon& polygon : zone) {
                const Vec2f p = navigator_.nearest_free(point_within(polygon).cast<float>());
                from.try_emplace(navigator_.part(p), p, fmt::format("from entrance '{}'", name));
            }
        }
        if (found) return;
        std::vector<std::string> names;
        for (const PlanEntrance& e : plan_.entrances) names.push_back(e.name);
        const std::string nearest = nearest_name(name, names);
        report_.errors.push_back(fmt::format("{}: group '{}' has the entrance '{}', which does not exist{}",
                                             group.where, group.name, name,
                                             nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest)));
    }

    std::string why(const Vec2f& from, GoalId goal) const
    {
        const double widest = widest_passage(plan_, from, navigator_.zone(goal), across());
        if (widest == 0) return "there is no path";
        return fmt::format("the widest path is {:.2f} m wide, and an agent {:g} m", widest, across());
    }

    bool on_floor(const Vec2d& p)
    {
        // Test against a plan for agents of negligible radius. Built only if needed.
        if (!floor_) floor_ = std::make_unique<Navigator>(without_goals(plan_), 1e-3);
        return floor_->inside(p.cast<float>());
    }
    static FloorPlan without_goals(FloorPlan plan)
    {
        plan.goals.clear();
        return plan;
    }

    const FloorPlan& plan_;
    const Navigator& navigator_;
    std::unique_ptr<Navigator> floor_;
    PlanReport report_;
};

} // namespace

PlanReport check_plan(const FloorPlan& plan, const Navigator& navigator, const std::vector<PlannedGroup>& groups)
{
    return Checker(plan, navigator).check(groups);
}

double widest_passage(const FloorPlan& plan, const Vec2f& from, const std::vector<Polygon>& to, double at_most)
{
    FloorPlan only_floor = plan;
    only_floor.goals.clear();
    std::vector<Vec2f> ends;
    ends.reserve(to.size());
    for (const Polygon& polygon : to) ends.push_back(point_within(polygon).cast<float>());
    const auto passes = [&](double diameter) {
        const Navigator navigator(only_floor, 0.5 * diameter);
        return std::any_of(ends.begin(), ends.end(), [&](const Vec2f& end) { return navigator.reachable(from, end); });
    };
    double low = 0.02, high = at_most; // [m]
    if (high <= low || !passes(low)) return 0;
    for (int i = 0; i < 7; ++i) {
        const double middle = 0.5 * (low + high);
        (passes(middle) ? low : high) = middle;
    }
    return low;
}

std::vector<Polygon> entrance_zone(const PlanEntrance& entrance, const FreeSpace& space)
{
    std::vector<Region> pieces;
    for (const Polygon& shape : entrance.shapes) pieces.emplace_back(shape);
    if (entrance.line.size() >= 2) pieces.emplace_back(entrance.line, 0.1);
    return space.reach(pieces).polygons();
}

} // namespace spindrift
