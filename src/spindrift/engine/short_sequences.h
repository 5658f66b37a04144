// Files that a scene names for its frames, such as the meshes of a collider, and that are not there for all of them.
// The first and the last file stand in for those that are missing at the ends, which may not be what was meant.
#pragma once

#include "spindrift/io/frame_path.h"
#include "spindrift/scene/scene_file.h"

namespace spindrift {

// A warning for each parameter of a table that names a sequence of files which starts after the shot or ends before it.
std::vector<std::string> short_sequences(const SceneFile& scene, const std::string& table, const VisitFunction& visit,
                                         const FrameRange& shot);

} // namespace spindrift
