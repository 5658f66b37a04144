// What a scene says about its sand, with its meshes loaded: filled by the sand's stage, read by the stages after it.
#pragma once

#include "spindrift/bodies/bodies.h"
#include "spindrift/sand/params.h"
#include "spindrift/scene/scene_file.h"

namespace spindrift {

struct SandSetup {
    SandParams params;
    std::vector<Shape> sources, colliders; // in the order of params
    double particles = 0;                  // about how many there will be
    std::vector<Bodies::Shapes> bodies;
    std::vector<Mesh> body_meshes; // around the centre of mass
    Box3f extent; // what a camera should see: the domain, or what shapes cover when the shot starts; empty for no sand

    // After `params` were read. Throws bad_input for a mesh that cannot be used.
    void load(const SceneFile& scene, int first_frame);
};

} // namespace spindrift
