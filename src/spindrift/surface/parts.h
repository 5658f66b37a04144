// Removes artefacts of uneven particles: small closed voids inside the liquid, and slivers that enclose nothing.
#pragma once

#include "spindrift/mesh/mesh.h"

namespace spindrift {

// Removes every connected part of the mesh whose signed volume [m3] lies between `low` (air is negative) and `high`.
void remove_parts(Mesh& mesh, double low, double high);

} // namespace spindrift
