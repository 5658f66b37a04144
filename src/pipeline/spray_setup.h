// What a scene says about the spray's colliders, with their meshes loaded: filled by the spray's stage, read by the
// stages after it.
#pragma once

#include "spray/params.h"

namespace spindrift {

struct SpraySetup {
    std::vector<SprayColliderParams> params;
    std::vector<Shape> colliders; // in the order of params, without those of the liquid
};

} // namespace spindrift
