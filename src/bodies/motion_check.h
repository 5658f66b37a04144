// Whether saved motion can be that of so many bodies; throws StateError if not.
#pragma once

#include "bodies/bodies.h"

namespace spindrift {

void check_state(const std::vector<RigidMotion>& motion, size_t bodies);

} // namespace spindrift
