// Validation of body motion read from a file.
#pragma once

#include "spindrift/bodies/bodies.h"

namespace spindrift {

// False if numbers are non-finite or implausibly large.
bool is_plausible(const RigidMotion& motion);
// Throws StateError unless the saved motion is plausible and matches the number of bodies.
void check_state(const std::vector<RigidMotion>& motion, size_t bodies);

} // namespace spindrift
