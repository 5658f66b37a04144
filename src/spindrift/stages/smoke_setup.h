// What a scene says about its smoke, with its meshes loaded: filled by the smoke's stage, read by the stages after it.
#pragma once

#include "spindrift/smoke/params.h"

namespace spindrift {

struct SmokeSetup {
    SmokeParams params;
    std::vector<Shape> colliders;
    Box3f extent; // what a camera should see; empty for no smoke
};

} // namespace spindrift
