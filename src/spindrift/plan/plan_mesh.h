// A floor plan to look at: its obstacles and walls as bodies of a height.
#pragma once

#include "spindrift/mesh/mesh.h"
#include "spindrift/plan/floor_plan.h"

namespace spindrift {

// In a world where y is up: the plan's y is -z.
Mesh plan_mesh(const FloorPlan& plan, float height);

} // namespace spindrift
