// Warns, before anything is computed, about solids too thin for the grid of a liquid, smoke or sand. Colliders that are
// thin sheets are resolved at any thickness (world/sheets.h); rods, rigid bodies, walls within inverted meshes, and
// sheets whose triangles change are not.
#pragma once

#include "spindrift/bodies/bodies.h"
#include "spindrift/scene/scene_file.h"

namespace spindrift {

// A warning for each of these solids, which are in the scene's lists "<stage>.collider" and "<stage>.body".
std::vector<std::string> thin_solids(const SceneFile& scene, const std::string& stage, float voxel,
                                     const std::vector<Shape>& colliders, const std::vector<Bodies::Shapes>& bodies);

} // namespace spindrift
