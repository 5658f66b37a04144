// Motion of bodies that comes from a file.
#pragma once

#include "spindrift/bodies/bodies.h"

namespace spindrift {

// Whether a body can be there, moving so: not if its numbers are not finite or beyond all reason.
bool is_somewhere(const RigidMotion& motion);
// Throws StateError if saved motion cannot be that of so many bodies.
void check_state(const std::vector<RigidMotion>& motion, size_t bodies);

} // namespace spindrift
