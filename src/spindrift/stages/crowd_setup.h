// What a scene says about its crowd, for the stages after it: filled by the crowd's stage.
#pragma once

#include "spindrift/base/math.h"
#include "spindrift/mesh/mesh.h"

namespace spindrift {

// The plan lies on the floor: its x is x, and its y is -z, so that seen from above it is as it was drawn.
inline Vec3f on_floor(const Vec2f& x, float height = 0) { return {x.x(), height, -x.y()}; }

struct CrowdSetup {
    Box3f extent;   // what a camera should see; empty for no crowd
    Mesh obstacles; // to look at
};

} // namespace spindrift
