#include "spindrift/crowd/population_params.h"
#include "spindrift/scene/limits.h"

namespace spindrift {

void VisitParams::visit(ParamVisitor& v)
{
    v("goal", goal, "Name of a goal.");
    v("from", from, unit::seconds, between(0, 1e6),
      "They do not set out for it before this time, and wait where they are.");
    v.require(!goal.empty(), "goal", "is missing: name one of [[crowd.goal]]");
}

void GroupParams::visit(ParamVisitor& v)
{
    v("name", name, "For messages.");
    v("count", count, unit::none, between(0, 20000000), "How many people stand in the shapes when the shot starts.");
    PlanShapeParams::visit(v);
    v.rows("rings", rings, 4, unit::metres, "Rings [x, y, inner radius, outer radius] to stand in.");
    v("entrance", entrance,
      "Name of an entrance through which people of this group come in, at its rate, which groups share.");
    v("heading", heading, choices("goals", "opposite"),
      "Where they want to go: to the goals of their visits, or each to the place opposite its own, seen from the "
      "middle "
      "of where the group stands.");
    v.list("visit", visits, "The goals, one after the other.");
    v("rounds", rounds, unit::none, between(1, 10000), "How often they go to all these goals.");
    v("leave", leave, "They are gone when they have reached the last goal; otherwise they stay there.");
    v("start", start, unit::seconds, between(0, 1e6), "They do not walk before this time.");
    v("speed", speed, unit::metres_per_second, between(0, 1e3),
      "Mean speed at which they walk where they are free to.");
    v("speed_deviation", speed_deviation, unit::metres_per_second, between(0, 1e3),
      "Standard deviation of that speed.");
    v("radius", radius, unit::metres, between(1e-3, 1e3), "Half the distance that they keep; left out: crowd.radius.");
    v("priority", priority, unit::none, between(1e-3, 1e3), "Of two who meet, the one with less gives way more.");
    v("driver", driver, choices("crowd", "scripted", "avoiding"),
      "Who moves them: the crowd with its continuum, a path, or themselves by reciprocal avoidance.");
    v.rows("path", path, 3, unit::none, "Of scripted people: [time in s, x, y], from point to point.");
    const bool scripted = driver == Driver::scripted;
    const bool placed = given() || !rings.empty();
    v.require(scripted || placed || !entrance.empty(), "count", "nobody is in this group: give a shape or an entrance");
    v.require(count == 0 || placed, "count", "needs a shape to stand in: a polygon, a box, circles or rings");
    v.require(!placed || count > 0, "count", "is missing: how many people stand in the shape");
    v.require(!scripted || !path.empty(), "path", "is missing: scripted people need one");
    for (size_t i = 1; i < path.size(); ++i)
        v.require(path[i][0] > path[i - 1][0], "path", "must have its times in order");
    for (const auto& ring : rings)
        v.require(ring[2] >= 0 && ring[3] > ring[2], "rings", "need an outer radius above the inner one");
    v.require(heading != Heading::opposite || entrance.empty(), "heading",
              "people who come in through an entrance have no place opposite");
}

void PopulationParams::visit(ParamVisitor& v)
{
    CrowdParams::visit(v);
    v("cell", cell, unit::metres, between(1e-2, 1e3), "Edge of a cell of the grid on which the crowd is a continuum.");
    v("longest_step", longest_step, unit::seconds, between(1e-3, 1), "A frame is cut into steps that are no longer.");
    v("rate", rate, unit::none, between(0, 1e4), "This many times as many people come in through all entrances.");
    v("seed", seed, unit::none, limits::seed(), "Another number is another crowd.");
    plan.visit(v);
    v.list("group", groups, "The people.");
}

float PopulationParams::largest_radius() const
{
    float largest = radius;
    for (const GroupParams& group : groups) largest = std::max(largest, radius_of(group));
    return largest;
}

} // namespace spindrift
