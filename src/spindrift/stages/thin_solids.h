// What solids are too thin for a grid to hold a liquid, smoke or sand: said before anything is computed. Walls of
// colliders are held at any thickness (see world/sheets.h); rods and rigid bodies are not.
#pragma once

#include "spindrift/bodies/bodies.h"
#include "spindrift/scene/scene_file.h"

namespace spindrift {

// A warning for each of these solids, which the scene has in the lists "<stage>.collider" and "<stage>.body".
std::vector<std::string> thin_solids(const SceneFile& scene, const std::string& stage, float voxel,
                                     const std::vector<Shape>& colliders, const std::vector<Bodies::Shapes>& bodies,
                                     float frame);

} // namespace spindrift
