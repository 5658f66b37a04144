#include "spindrift/plan/plan_params.h"

#include "spindrift/base/error.h"
#include "spindrift/plan/plan_files.h"

#include <fmt/format.h>

namespace spindrift {

namespace {

std::vector<Vec2d> points_of(const Rows& rows)
{
    std::vector<Vec2d> points;
    for (const auto& row : rows) points.emplace_back(static_cast<double>(row[0]), static_cast<double>(row[1]));
    return points;
}

} // namespace

void PlanShapeParams::visit(ParamVisitor& v)
{
    v.rows("polygon", polygon, 2, unit::metres, "Corners [x, y] in order, three or more.");
    v.rows("box", box, 2, unit::metres, "Two opposite corners, [[x, y], [x, y]].");
    v.rows("boxes", boxes, 4, unit::metres, "Any number of boxes [x, y, x, y] from corner to corner.");
    v.rows("circles", circles, 3, unit::metres, "Any number of circles [x, y, radius].");
    v.require(polygon.empty() || polygon.size() >= 3, "polygon", "needs three corners at least");
    v.require(box.empty() || box.size() == 2, "box", "needs two opposite corners, e.g. [[0, 0], [2, 1]]");
    for (const auto& circle : circles) v.require(circle[2] > 0, "circles", "have a radius that is not above 0");
}

std::vector<Polygon> PlanShapeParams::polygons() const
{
    std::vector<Polygon> result;
    if (!polygon.empty()) result.push_back({points_of(polygon), {}});
    if (!box.empty()) result.push_back(box_polygon(points_of(box)[0], points_of(box)[1]));
    for (const auto& b : boxes) result.push_back(box_polygon(Vec2d(b[0], b[1]), Vec2d(b[2], b[3])));
    for (const auto& c : circles) result.push_back(circle_polygon(Vec2d(c[0], c[1]), static_cast<double>(c[2])));
    return result;
}

void PlanAreaParams::visit(ParamVisitor& v)
{
    v("name", name, "For messages, and for counting in it.");
    PlanShapeParams::visit(v);
    v.require(given(), "polygon", "is missing: give a polygon, a box or circles");
}

void PlanWallParams::visit(ParamVisitor& v)
{
    v("name", name, "For messages.");
    v.rows("points", points, 2, unit::metres, "Where its middle runs, [x, y] from corner to corner.");
    v("thickness", thickness, unit::metres, between(1e-3, 1e3), "Of the wall.");
    v.require(points.size() >= 2, "points", "needs two points at least");
}

void PlanGoalParams::visit(ParamVisitor& v)
{
    v("name", name, "What groups call it. Goals of one name are one: people go to the nearest.");
    PlanShapeParams::visit(v);
    v.rows("points", points, 2, unit::metres, "Points [x, y] instead of an area, or besides.");
    v.require(!name.empty(), "name", "a goal needs a name, e.g. name = \"exit\"");
    v.require(given() || !points.empty(), "polygon", "is missing: give a polygon, a box, circles or points");
}

void PlanEntranceParams::visit(ParamVisitor& v)
{
    v("name", name, "What groups call it.");
    PlanShapeParams::visit(v);
    v.rows("line", line, 2, unit::metres, "A line to come in over, instead of an area.");
    v("rate", rate, unit::per_second, between(0, 1e5), "People that come in.");
    v("start", start, unit::seconds, between(0, 1e6), "When the first do.");
    v("end", end, unit::seconds, between(0, 1e6), "When the last do; left out: never.");
    v.require(!name.empty(), "name", "an entrance needs a name, e.g. name = \"door\"");
    v.require(given() || line.size() >= 2, "polygon", "is missing: give a polygon, a box, circles or a line");
    v.require(!end || *end >= start, "end", "is before start");
}

void PlanLineParams::visit(ParamVisitor& v)
{
    v("name", name, "Of its counts.");
    v.rows("points", points, 2, unit::metres, "From where to where.");
    v.require(!name.empty(), "name", "a line needs a name, e.g. name = \"door\"");
    v.require(points.size() >= 2, "points", "needs two points at least");
}

const char* const kDrawingHelp =
    "A word says what a shape is: wall, obstacle (or pillar, column, building), goal (exit, target), entrance (entry, "
    "source), boundary (floor, walkable, outline), line or area (zone); shapes without such a word are left out. In "
    "SVG "
    "the word is a class of the shape or starts its id or Inkscape label (id=\"goal-north\" is the goal north), or "
    "that "
    "of a group or layer around it; data-rate, data-start, data-end and data-thickness say the rest, and a wall that "
    "is "
    "a line is as thick as its stroke. In GeoJSON the word is a feature's property \"type\", beside \"name\", "
    "\"rate\", "
    "\"start\", \"end\", \"thickness\" and \"radius\". Right in the drawing (east) is +x of the scene and up (north) "
    "is "
    "-z, with the people standing along +y. The origin is the lower left corner of an SVG's viewBox, that of GeoJSON "
    "in "
    "metres, or the middle of GeoJSON in degrees.";

void PlanFileParams::visit(ParamVisitor& v)
{
    v("file", file, "A drawing, SVG or GeoJSON; the folder is relative to the scene's.");
    v("scale", scale, unit::metres, between(1e-6, 1e6),
      "Length of one unit of the file. Left out: as the file says, or 1 m if it does not.");
    v("coordinates", coordinates, choices("automatic", "metres", "degrees"),
      "Of GeoJSON: in the plane, or longitude and latitude. Automatic: degrees if the file names such a crs.");
}

void FloorPlanParams::visit(ParamVisitor& v)
{
    static const std::string help = std::string("A drawing of the floor. ") + kDrawingHelp;
    v.group("plan", plan, help.c_str());
    v.list("boundary", boundary, "Where the floor is. Left out: around everything there is.");
    v.list("obstacle", obstacles, "What people walk around.");
    v.list("wall", walls, "Walls along lines.");
    v.list("goal", goals, "Where people want to go.");
    v.list("entrance", entrances, "Where people come in.");
    v.list("line", lines, "Where people are counted as they cross it.");
    v.list("area", areas, "Where people are counted.");
}

namespace {

// `place_of` says where a parameter such as "wall[0]" is, for messages; `file` is the path of the drawing, if any.
FloorPlan floor_plan(const FloorPlanParams& params, const std::string& file,
                     const std::function<std::string(const std::string&)>& place_of)
{
    FloorPlan plan;
    if (!file.empty()) add_plan_file(plan, file, params.plan, place_of("plan.file"));
    // Items have the name they were given, or their kind and number.
    std::string name, where;
    const auto next = [&](const char* kind, const std::string& given, size_t index) {
        name = given.empty() ? fmt::format("{} {}", kind, index + 1) : given;
        where = fmt::format("{}: {} '{}'", place_of(fmt::format("{}[{}]", kind, index)), kind, name);
    };
    const auto add_areas = [&](const char* kind, const std::vector<PlanAreaParams>& from, auto& to) {
        for (size_t i = 0; i < from.size(); ++i) {
            next(kind, from[i].name, i);
            for (const Polygon& polygon : from[i].polygons()) to.push_back({name, where, polygon});
        }
    };
    add_areas("boundary", params.boundary, plan.boundary);
    add_areas("obstacle", params.obstacles, plan.obstacles);
    add_areas("area", params.areas, plan.areas);
    for (size_t i = 0; i < params.walls.size(); ++i) {
        next("wall", params.walls[i].name, i);
        plan.walls.push_back(
            {name, where, points_of(params.walls[i].points), static_cast<double>(params.walls[i].thickness)});
    }
    for (size_t i = 0; i < params.goals.size(); ++i) {
        next("goal", params.goals[i].name, i);
        PlanGoal& goal = plan.goal(name, where);
        for (const Polygon& polygon : params.goals[i].polygons()) goal.pieces.push_back(polygon);
        for (const Vec2d& point : points_of(params.goals[i].points)) goal.points.push_back(point);
    }
    for (size_t i = 0; i < params.entrances.size(); ++i) {
        const PlanEntranceParams& from = params.entrances[i];
        next("entrance", from.name, i);
        PlanEntrance& entrance = plan.entrances.emplace_back();
        entrance.name = name, entrance.where = where;
        entrance.shapes = from.polygons();
        entrance.line = points_of(from.line);
        entrance.rate = static_cast<double>(from.rate), entrance.start = static_cast<double>(from.start);
        if (from.end) entrance.end = static_cast<double>(*from.end);
    }
    for (size_t i = 0; i < params.lines.size(); ++i) {
        next("line", params.lines[i].name, i);
        plan.lines.push_back({name, where, points_of(params.lines[i].points)});
    }
    return plan;
}

} // namespace

FloorPlan read_floor_plan(const FloorPlanParams& params, const SceneFile& scene, const std::string& table)
{
    const std::string file = params.plan.file.empty() ? "" : scene.resolve(params.plan.file);
    return floor_plan(params, file, [&](const std::string& name) { return scene.where(table + "." + name); });
}

FloorPlan read_floor_plan(const FloorPlanParams& params)
{
    return floor_plan(params, params.plan.file, [](const std::string& name) { return name; });
}

} // namespace spindrift
