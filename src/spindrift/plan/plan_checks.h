// Checks before a run: unreachable goals, passages that are too narrow, people who start in a wall or overlap, and
// scenes without people.
#pragma once

#include "spindrift/plan/navigator.h"

namespace spindrift {

// People who start together and visit the same goals in order.
struct PlannedGroup {
    std::string name, where; // where: in the scene, for messages
    std::vector<Vec2f> starts;
    std::vector<std::string> entrances; // by name, for people who come in later
    std::vector<std::string> goals;     // by name
    std::vector<Vec2f> targets;         // instead of goals, one for each start
    double radius = 0.25;               // [m]
};

struct PlanReport {
    std::vector<std::string> errors;   // the run cannot work
    std::vector<std::string> warnings; // may not be intended
};

// `navigator` must be that of `plan`. The report also contains the warnings of reading and repairing the plan.
PlanReport check_plan(const FloorPlan& plan, const Navigator& navigator, const std::vector<PlannedGroup>& groups);

// Diameter [m] of the largest agent that gets from one place to another; 0 below 2 cm. For messages: takes tenths of a
// second on large plans.
double widest_passage(const FloorPlan& plan, const Vec2f& from, const std::vector<Polygon>& to, double at_most);

// Where agents of an entrance may appear; empty if there is no room.
std::vector<Polygon> entrance_zone(const PlanEntrance& entrance, const FreeSpace& space);

} // namespace spindrift
