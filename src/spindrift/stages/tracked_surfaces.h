// What the stages with a tracked surface share: forecasts and expressions.
#pragma once

#include "spindrift/engine/stage.h"
#include "spindrift/stages/stage_expressions.h"

namespace spindrift {

// The region that sources fill at a frame, within walls. Prepares the shapes.
Box3f extent_of_surface(std::vector<Shape>& sources, float frame, const std::optional<Box3f>& walls);
// Of a surface in this region; `voxel_name` is "track.voxel". Throws bad_input if it has too many cells.
Estimate estimate_of_surface(const SceneFile& scene, const std::string& voxel_name, float voxel, const Box3f& extent,
                             FrameRange frames);
// From the number of its triangles, "triangles".
double memory_of_surface(const Foreseen& foreseen);

// The attributes of a surface after the expressions that run after advection: they are carried on. The surface itself
// stays. `directions`: attributes that stay tangent and of unit length.
std::map<std::string, AttributeArray> attributes_after_advection(Mesh surface, StageExpressions& expressions,
                                                                 const std::vector<std::string>& directions, int frame,
                                                                 const std::string& stage);

} // namespace spindrift
