// Floor plans from drawings. What a shape is, a word says: obstacle (pillar, building), wall, goal (exit), entrance
// (source), boundary (floor, walkable), line, area (zone).
//
// io/drawing.h says how each format carries that word. Shapes with no such word are left out, with a warning.
#pragma once

#include "spindrift/plan/plan_params.h"

namespace spindrift {

// By the file's ending. Throws bad_input for a file that is missing or cannot be understood; `where` is what names it.
void add_plan_file(FloorPlan& plan, const std::string& path, const PlanFileParams& params, const std::string& where);

// From text, with a name for messages.
void add_svg_plan(FloorPlan& plan, const std::string& text, const std::string& name, const PlanFileParams& params);
void add_geojson_plan(FloorPlan& plan, const std::string& text, const std::string& name, const PlanFileParams& params);

} // namespace spindrift
