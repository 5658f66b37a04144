#include "spindrift/crowd/population_params.h"
#include "spindrift/scene/limits.h"

namespace spindrift {

void VisitParams::visit(ParamVisitor& v)
{
    v("goal", goal, "Name of a goal.");
    v("from", from, unit::seconds, between(0, 1e6), "Time before which they wait where they are.");
    v.require(!goal.empty(), "goal", "is missing: give the name of one of the goals");
}

void GroupParams::visit(ParamVisitor& v)
{
    v("name", name, "Name for messages.");
    v("count", count, unit::none, between(0, 20000000), "Number of people in the shapes at the start of the shot.");
    PlanShapeParams::visit(v);
    v.rows("rings", rings, 4, unit::metres, "Rings [x, y, inner radius, outer radius] in which people stand.");
    v("entrance", entrance,
      "Name of an entrance through which people of this group come in. Groups with the same entrance share its rate.");
    v("heading", heading, choices("goals", "opposite"),
      "Destination: the goals of their visits, or for each the place opposite its own, seen from the centre of the "
      "group.");
    v.list("visit", visits, "Goals to visit, in order.");
    v("rounds", rounds, unit::none, between(1, 10000), "How often they visit all goals.");
    v("leave", leave, "Whether they are removed at the last goal; otherwise they stay there.");
    v("start", start, unit::seconds, between(0, 1e6), "Time at which they start to walk.");
    v("speed", speed, unit::metres_per_second, between(0, 1e3), "Mean free walking speed.");
    v("speed_deviation", speed_deviation, unit::metres_per_second, between(0, 1e3),
      "Standard deviation of the walking speed.");
    v("radius", radius, unit::metres, between(1e-3, 1e3),
      "Half the minimum distance between them; by default crowd.radius.");
    v("priority", priority, unit::none, between(1e-3, 1e3),
      "Of two people who meet, the one with the lower priority gives way more.");
    v("driver", driver, choices("crowd", "scripted", "avoiding"),
      "What moves them: the crowd's continuum, a given path, or reciprocal collision avoidance.");
    v.rows("path", path, 3, unit::none, "Path of scripted people: points [time in s, x, y].");
    const bool scripted = driver == Driver::scripted;
    const bool placed = given() || !rings.empty();
    v.require(scripted || placed || !entrance.empty(), "count", "the group has no people: give a shape or an entrance");
    v.require(count == 0 || placed, "count", "needs a shape: a polygon, a box, circles or rings");
    v.require(!placed || count > 0, "count", "is missing: give the number of people in the shape");
    v.require(!scripted || !path.empty(), "path", "is missing: scripted people need a path");
    for (size_t i = 1; i < path.size(); ++i)
        v.require(path[i][0] > path[i - 1][0], "path", "must have ascending times");
    for (const auto& ring : rings)
        v.require(ring[2] >= 0 && ring[3] > ring[2], "rings", "must have an outer radius above the inner one");
    v.require(heading != Heading::opposite || entrance.empty(), "heading",
              "must not be \"opposite\" for people who come in through an entrance");
}

void PopulationParams::visit(ParamVisitor& v)
{
    CrowdParams::visit(v);
    v("cell", cell, unit::metres, between(1e-2, 1e3), "Cell size of the continuum's grid.");
    v("longest_step", longest_step, unit::seconds, between(1e-3, 1),
      "Largest time step; frames are divided into steps no longer than this.");
    v("rate", rate, unit::none, between(0, 1e4), "Factor on the rates of all entrances.");
    v("seed", seed, unit::none, limits::seed(), "Seed of the random numbers.");
    plan.visit(v);
    v.list("group", groups, "Groups of people.");
}

float PopulationParams::largest_radius() const
{
    float largest = radius;
    for (const GroupParams& group : groups) largest = std::max(largest, radius_of(group));
    return largest;
}

} // namespace spindrift
