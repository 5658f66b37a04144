// What can be known before a run: goals that nobody can reach, doors that are too narrow, people who start in a wall or
// on top of each other, and nobody there at all.
#pragma once

#include "spindrift/plan/navigator.h"

namespace spindrift {

// People who start together and have the same goals, one after the other.
struct PlannedGroup {
    std::string name, where; // where: in the scene, for messages
    std::vector<Vec2f> starts;
    std::vector<std::string> entrances; // by name, where more of them come in
    std::vector<std::string> goals;     // by name
    std::vector<Vec2f> targets;         // instead of goals: a point for each start
    double radius = 0.25;               // [m]
};

struct PlanReport {
    std::vector<std::string> errors;   // nothing sensible can come of it
    std::vector<std::string> warnings; // something may not be what was meant
};

// `navigator` must be that of `plan`. Beside its own, the report has the warnings of reading and repairing the plan.
PlanReport check_plan(const FloorPlan& plan, const Navigator& navigator, const std::vector<PlannedGroup>& groups);

// Diameter of the largest agent that gets from one place to another [m]; 0 if not even a cat does. For messages: takes
// some tenths of a second on large plans.
double widest_passage(const FloorPlan& plan, const Vec2f& from, const std::vector<Polygon>& to, double at_most);

// Where agents of an entrance may appear: empty if there is no room.
std::vector<Polygon> entrance_zone(const PlanEntrance& entrance, const FreeSpace& space);

} // namespace spindrift
