// Floor plans from drawings. What a shape is, a word says: obstacle (pillar, building), wall, goal (exit), entrance
// (source), boundary (floor, walkable), line, area (zone).
//
// SVG: the word is one of the shape's classes, or starts its label or id ("goal-north"), or those of a group or layer
// around it. data-name, data-rate, data-start, data-end and data-thickness say the rest. y points up in the plan.
// GeoJSON: properties "type", "name", "rate", "start", "end", "thickness" and "radius".
//
// Shapes with no such word are left out, with a warning.
#pragma once

#include "crowd/plan_params.h"

namespace spindrift {

// By the file's ending. Throws bad_input for a file that is missing or cannot be understood; `where` is what names it.
void add_plan_file(FloorPlan& plan, const std::string& path, const PlanFileParams& params, const std::string& where);

// From text, with a name for messages.
void add_svg_plan(FloorPlan& plan, const std::string& text, const std::string& name, const PlanFileParams& params);
void add_geojson_plan(FloorPlan& plan, const std::string& text, const std::string& name, const PlanFileParams& params);

// What the readers share: a shape with everything that its file says about it.
struct DrawnShape {
    std::string role, name, where; // role: any word for it
    std::vector<Ring> rings;       // closed; those within others are holes
    std::vector<Ring> lines;       // open
    std::vector<Vec2d> points;
    std::optional<double> rate, start, end, thickness, radius; // as in the file: lengths in its units
};
// What the word means, in one way of writing it; empty if nothing.
std::string plan_role(std::string_view word);
// Adds shapes in metres to a plan; warns of those that do not fit their role.
void add_drawn_shapes(FloorPlan& plan, const std::vector<DrawnShape>& shapes, const std::string& file);

} // namespace spindrift
