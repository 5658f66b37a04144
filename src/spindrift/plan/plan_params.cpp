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
    v.rows("polygon", polygon, 2, unit::metres, "Three or more corners [x, y] in order.");
    v.rows("box", box, 2, unit::metres, "Two opposite corners, [[x, y], [x, y]].");
    v.rows("boxes", boxes, 4, unit::metres, "Any number of boxes [x, y, x, y], each by two opposite corners.");
    v.rows("circles", circles, 3, unit::metres, "Any number of circles [x, y, radius].");
    v.require(polygon.empty() || polygon.size() >= 3, "polygon", "needs at least three corners");
    v.require(box.empty() || box.size() == 2, "box", "needs two opposite corners, e.g. [[0, 0], [2, 1]]");
    for (const auto& circle : circles) v.require(circle[2] > 0, "circles", "must have a radius above 0");
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
    v("name", name, "Name for messages and counts.");
    PlanShapeParams::visit(v);
    v.require(given(), "polygon", "is missing: give a polygon, a box or circles");
}

void PlanWallParams::visit(ParamVisitor& v)
{
    v("name", name, "Name for messages.");
    v.rows("points", points, 2, unit::metres, "Centre line of the wall, as corners [x, y].");
    v("thickness", thickness, unit::metres, between(1e-3, 1e3), "Thickness of the wall.");
    v.require(points.size() >= 2, "points", "needs two points at least");
}

void PlanGoalParams::visit(ParamVisitor& v)
{
    v("name", name, "Name used by groups. Goals with the same name form one goal; people go to the nearest.");
    PlanShapeParams::visit(v);
    v.rows("points", points, 2, unit::metres, "Points [x, y], instead of or in addition to an area.");
    v.require(!name.empty(), "name", "a goal needs a name, e.g. name = \"exit\"");
    v.require(given() || !points.empty(), "polygon", "is missing: give a polygon, a box, circles or points");
}

void PlanEntranceParams::visit(ParamVisitor& v)
{
    v("name", name, "Name used by groups.");
    PlanShapeParams::visit(v);
    v.rows("line", line, 2, unit::metres, "A line across which people come in, instead of an area.");
    v("rate", rate, unit::per_second, between(0, 1e5), "People who come in per second.");
    v("start", start, unit::seconds, between(0, 1e6), "Time of the first arrival.");
    v("end", end, unit::seconds, between(0, 1e6), "Time of the last arrival; by default unlimited.");
    v.require(!name.empty(), "name", "an entrance needs a name, e.g. name = \"door\"");
    v.require(given() || line.size() >= 2, "polygon", "is missing: give a polygon, a box, circles or a line");
    v.require(!end || *end >= start, "end", "must not be before start");
}

void PlanLineParams::visit(ParamVisitor& v)
{
    v("name", name, "Name of its counts.");
    v.rows("points", points, 2, unit::metres, "Points [x, y] along the line.");
    v.require(!name.empty(), "name", "a line needs a name, e.g. name = \"door\"");
    v.require(points.size() >= 2, "points", "needs two points at least");
}

const char* const kDrawingHelp =
    "A keyword gives the role of a shape: wall, obstacle (or pillar, column, building), goal (exit, target), entrance "
    "(entry, source), boundary (floor, walkable, outline), line or area (zone). Shapes without a keyword are ignored. "
    "In "
    "SVG the keyword is a class of the shape, or the beginning of its id or Inkscape label (id=\"goal-north\" is the "
    "goal "
    "north), or that of a group or layer around it. data-rate, data-start, data-end and data-thickness set numbers, "
    "and a "
    "wall drawn as a line is as thick as its stroke. In GeoJSON the keyword is the property \"type\" of a feature, "
    "beside "
    "\"name\", \"rate\", \"start\", \"end\", \"thickness\" and \"radius\". Right in the drawing (east) is +x of the "
    "scene, "
    "up (north) is -z, and people stand along +y. The origin is the lower left corner of an SVG's viewBox, the origin "
    "of "
    "GeoJSON in metres, or the centre of GeoJSON in degrees.";

void PlanFileParams::visit(ParamVisitor& v)
{
    v("file", file, "SVG or GeoJSON drawing; the path is relative to the scene's folder.");
    v("scale", scale, unit::metres, between(1e-6, 1e6),
      "Length of one unit of the file. By default as given in the file, or 1 m.");
    v("coordinates", coordinates, choices("automatic", "metres", "degrees"),
      "Coordinates of a GeoJSON file: metres in the plane, or longitude and latitude. Automatic: degrees if its crs is "
      "geographic.");
}

void FloorPlanParams::visit(ParamVisitor& v)
{
    static const std::string help = std::string("A drawing of the floor. ") + kDrawingHelp;
    v.group("plan", plan, help.c_str());
    v.list("boundary", boundary, "The walkable floor. By default a rectangle around everything.");
    v.list("obstacle", obstacles, "Obstacles that people walk around.");
    v.list("wall", walls, "Walls along lines.");
    v.list("goal", goals, "Where people go.");
    v.list("entrance", entrances, "Where people come in.");
    v.list("line", lines, "Lines on which people who cross are counted.");
    v.list("area", areas, "Areas in which people are counted.");
}

namespace {

// `place_of` says where a parameter such as "wall[0]" is, for messages; `file` is the path of the drawing, if any.
FloorPlan floor_plan(const FloorPlanParams& params, const std::string& file,
                     const std::function<std::string(const std::string&)>& place_of)
{
    FloorPlan plan;
    if (!file.empty()) add_plan_file(plan, file, params.plan, place_of("plan.file"));
    // Items without a name are called by their kind and number.
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
