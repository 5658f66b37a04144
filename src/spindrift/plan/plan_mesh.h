// A floor plan for rendering: obstacles and walls extruded to a height.
#pragma once

#include "spindrift/mesh/mesh.h"
#include "spindrift/plan/floor_plan.h"

namespace spindrift {

// In a world with y up; the plan's y is -z.
Mesh plan_mesh(const FloorPlan& plan, float height);

} // namespace spindrift
