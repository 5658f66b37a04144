// Warns about file sequences, such as the meshes of a collider, that do not cover the whole shot. The first and last
// file are used for the frames missing at the ends, which may not be intended.
#pragma once

#include "spindrift/io/frame_path.h"
#include "spindrift/scene/scene_file.h"

namespace spindrift {

// A warning for each parameter of a table that names a file sequence which starts after the shot or ends before it.
std::vector<std::string> short_sequences(const SceneFile& scene, const std::string& table, const VisitFunction& visit,
                                         const FrameRange& shot);

} // namespace spindrift
