// What a scene says about its sand, with its meshes loaded: filled by the sand's stage, read by the stages after it.
#pragma once

#include "sand/params.h"
#include "scene/scene_file.h"

namespace spindrift {

struct SandSetup {
    SandParams params;
    std::vector<Shape> sources, colliders; // in the order of params
    double particles = 0;                  // about how many there will be
    Box3f extent; // what a camera should see: the domain, or what shapes cover when the shot starts; empty for no sand

    // After `params` were read. Throws bad_input for a mesh that cannot be used.
    void load(const SceneFile& scene, int first_frame);
};

} // namespace spindrift
