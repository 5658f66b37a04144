// Floor plans from drawings. A keyword gives the role of a shape: obstacle (pillar, building), wall, goal (exit),
// entrance (source), boundary (floor, walkable), line, area (zone).
//
// io/drawing.h documents how each format stores the keyword. Shapes without a keyword are skipped with a warning.
#pragma once

#include "spindrift/plan/plan_params.h"

namespace spindrift {

// Reads by file extension. Throws bad_input for a missing or invalid file; `where` is the place that names it.
void add_plan_file(FloorPlan& plan, const std::string& path, const PlanFileParams& params, const std::string& where);

// Reads from text, with a name for messages.
void add_svg_plan(FloorPlan& plan, const std::string& text, const std::string& name, const PlanFileParams& params);
void add_geojson_plan(FloorPlan& plan, const std::string& text, const std::string& name, const PlanFileParams& params);

} // namespace spindrift
