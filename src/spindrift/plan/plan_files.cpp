#include "spindrift/plan/plan_files.h"

#include "spindrift/base/error.h"
#include "spindrift/io/atomic_file.h"
#include "spindrift/io/drawing.h"
#include "spindrift/plan/geos_region.h"
#include "spindrift/plan/plane.h"

#include <Eigen/Geometry>
#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace spindrift {

namespace {

// Rings inside an odd number of others are holes of the smallest ring around them.
std::vector<Polygon> polygons_of(std::vector<Ring> rings)
{
    std::erase_if(rings, [](const Ring& r) { return r.size() < 3; });
    std::stable_sort(rings.begin(), rings.end(),
                     [](const Ring& a, const Ring& b) { return std::abs(signed_area(a)) > std::abs(signed_area(b)); });
    std::vector<Polygon> polygons;
    std::vector<Eigen::AlignedBox2d> boxes(rings.size());
    std::vector<int> polygon_of(rings.size(), -1); // of outer rings
    for (size_t i = 0; i < rings.size(); ++i) {
        for (const Vec2d& p : rings[i]) boxes[i].extend(p);
        int around = -1, depth = 0;
        for (size_t j = 0; j < i; ++j)
            if (boxes[j].contains(rings[i].front()) && contains(rings[j], rings[i].front())) {
                ++depth;
                if (polygon_of[j] >= 0) around = polygon_of[j];
            }
        if (depth % 2 == 1 && around >= 0) {
            polygons[around].holes.push_back(rings[i]);
        } else {
            polygon_of[i] = static_cast<int>(polygons.size());
            polygons.push_back({rings[i], {}});
        }
    }
    return polygons;
}

// An area for a line: 10 cm wide, so that no agent steps over it.
std::vector<Polygon> strip(const Ring& line) { return Region(line, 0.1).polygons(); }

bool usable(const DrawnShape& shape)
{
    const auto good = [](const Vec2d& p) { return std::abs(p.x()) < 1e7 && std::abs(p.y()) < 1e7; };
    const auto good_ring = [&](const Ring& ring) { return std::all_of(ring.begin(), ring.end(), good); };
    return std::all_of(shape.rings.begin(), shape.rings.end(), good_ring) &&
           std::all_of(shape.lines.begin(), shape.lines.end(), good_ring) && good_ring(shape.points);
}

// The role of a keyword in one spelling; empty if unknown.
std::string plan_role(std::string_view word)
{
    static const std::map<std::string, std::string, std::less<>> roles = {
        {"boundary", "boundary"}, {"floor", "boundary"},  {"walkable", "boundary"}, {"outline", "boundary"},
        {"obstacle", "obstacle"}, {"pillar", "obstacle"}, {"column", "obstacle"},   {"building", "obstacle"},
        {"wall", "wall"},         {"goal", "goal"},       {"exit", "goal"},         {"target", "goal"},
        {"entrance", "entrance"}, {"entry", "entrance"},  {"source", "entrance"},   {"line", "line"},
        {"area", "area"},         {"zone", "area"}};
    std::string lower;
    for (const char c : word) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    auto found = roles.find(lower);
    if (found == roles.end() && lower.ends_with('s')) found = roles.find(lower.substr(0, lower.size() - 1));
    if (found == roles.end() && lower.ends_with("ies")) found = roles.find(lower.substr(0, lower.size() - 3) + "y");
    return found == roles.end() ? "" : found->second;
}

// The outlines of a shape as closed rings.
std::vector<Ring> outlines(const DrawnShape& shape)
{
    std::vector<Ring> lines = shape.lines;
    for (const Ring& ring : shape.rings) {
        lines.push_back(ring);
        if (!ring.empty()) lines.back().push_back(ring.front());
    }
    return lines;
}

// Adds shapes in metres to a plan. Warns about shapes that do not fit their role.
void add_drawn_shapes(FloorPlan& plan, const std::vector<DrawnShape>& drawn, const std::string& file)
{
    size_t unknown = 0, used = 0;
    std::string first_unknown;
    std::map<std::string, int> unnamed;
    for (DrawnShape shape : drawn) {
        const std::string role = plan_role(shape.role);
        if (role.empty()) {
            if (++unknown == 1) first_unknown = shape.where;
            continue;
        }
        const std::string name = shape.name.empty() ? fmt::format("{} {}", role, ++unnamed[role]) : shape.name;
        const std::string where = fmt::format("{}: {} '{}'", shape.where, role, name);
        if (!usable(shape)) bad_input("{} has a coordinate that is not finite or beyond 10,000 km", where);
        if (role == "wall" && !shape.filled) shape.lines = outlines(shape), shape.rings.clear();
        const std::vector<Polygon> polygons = polygons_of(shape.rings);
        size_t added = 0;
        const auto add_polygons = [&](std::vector<PlanPolygon>& to) {
            for (const Polygon& polygon : polygons) to.push_back({name, where, polygon}), ++added;
        };
        const auto add_walls = [&] {
            for (const Ring& line : shape.lines)
                plan.walls.push_back({name, where, line, shape.thickness.value_or(0.2)}), ++added;
        };
        if (role == "boundary") {
            add_polygons(plan.boundary);
            for (const Ring& line : shape.lines) // an outline of the floor that was left open
                if (line.size() >= 3) plan.boundary.push_back({name, where, {line, {}}}), ++added;
        } else if (role == "obstacle" || role == "wall") {
            add_polygons(plan.obstacles);
            add_walls();
            for (const Vec2d& point : shape.points)
                if (const double radius = shape.radius.value_or(0); radius > 0)
                    plan.obstacles.push_back({name, where, circle_polygon(point, radius)}), ++added;
        } else if (role == "goal") {
            PlanGoal& goal = plan.goal(name, where);
            goal.pieces.insert(goal.pieces.end(), polygons.begin(), polygons.end());
            for (const Ring& line : shape.lines)
                for (const Polygon& polygon : strip(line)) goal.pieces.push_back(polygon);
            goal.points.insert(goal.points.end(), shape.points.begin(), shape.points.end());
            added = goal.pieces.size() + goal.points.size();
        } else if (role == "entrance") {
            PlanEntrance entrance;
            entrance.name = name, entrance.where = where;
            entrance.shapes = polygons;
            if (!shape.lines.empty()) entrance.line = shape.lines.front();
            for (const Vec2d& point : shape.points)
                entrance.shapes.push_back(circle_polygon(point, std::max(0.1, shape.radius.value_or(0.5))));
            entrance.rate = shape.rate.value_or(1), entrance.start = shape.start.value_or(0);
            if (shape.end) entrance.end = *shape.end;
            if (!(entrance.rate >= 0) || !(entrance.start >= 0) || !(entrance.end >= entrance.start))
                bad_input("{} has a negative rate or start, or an end before its start", where);
            added = entrance.shapes.size() + (entrance.line.size() >= 2 ? 1 : 0);
            if (added > 0) plan.entrances.push_back(entrance);
        } else if (role == "line") {
            for (const Ring& line : shape.lines) plan.lines.push_back({name, where, line}), ++added;
        } else {
            add_polygons(plan.areas);
        }
        if (added == 0)
            plan.warnings.push_back(fmt::format("{} was ignored: a shape of this kind cannot have this role", where));
        used += added > 0 ? 1 : 0;
    }
    if (used == 0) bad_input("{}: no shape has a role. {}", file, kDrawingHelp);
    if (unknown > 0)
        plan.warnings.push_back(fmt::format(
            "{}{} ignored, because {} no role, such as class=\"wall\" in SVG or \"type\": \"wall\" in GeoJSON; "
            "see `plan` in: spindrift describe crowd",
            first_unknown, unknown == 1 ? " was" : fmt::format(" and {} more shapes were", unknown - 1),
            unknown == 1 ? "it has" : "they have"));
}

} // namespace

void add_svg_plan(FloorPlan& plan, const std::string& text, const std::string& name, const PlanFileParams& params)
{
    add_drawn_shapes(plan, read_svg_drawing(text, name, params, plan_role).shapes, name);
}

void add_geojson_plan(FloorPlan& plan, const std::string& text, const std::string& name, const PlanFileParams& params)
{
    const Drawing drawing = read_geojson_drawing(text, name, params);
    if (!drawing.note.empty()) plan.warnings.push_back(drawing.note);
    add_drawn_shapes(plan, drawing.shapes, name);
}

void add_plan_file(FloorPlan& plan, const std::string& path, const PlanFileParams& params, const std::string& where)
{
    std::string text;
    try {
        text = read_file(path);
    } catch (const Error& error) {
        bad_input("{}: cannot read the floor plan: {}", where, error.what());
    }
    std::string ending = path.substr(std::min(path.size(), path.rfind('.') + 1));
    for (char& c : ending) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    const std::string name = path.substr(path.rfind('/') + 1);
    if (ending == "svg")
        add_svg_plan(plan, text, name, params);
    else if (ending == "geojson" || ending == "json")
        add_geojson_plan(plan, text, name, params);
    else
        bad_input("{}: the floor plan {} is neither .svg nor .geojson", where, path);
}

} // namespace spindrift
