// The scenes that `spindrift new` writes, one for each effect.
#pragma once

#include <string>
#include <vector>

namespace spindrift {

struct SceneTemplate {
    std::string name, help; // help: what the scene shows, one line
    std::string tables;     // the scene from [shot] on
};
const std::vector<SceneTemplate>& scene_templates();

// A scene called `name` from the template `effect`. If `effect` is empty, uses the template called like the scene, or
// splash. Throws bad_input for an unknown effect.
std::string new_scene_text(const std::string& name, const std::string& effect);

} // namespace spindrift
