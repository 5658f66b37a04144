// The small scene of program.h with an edit.
#pragma once

#include "cli/program.h"

namespace spindrift {

// Adds a line to one of its tables.
inline std::string small_scene_with(const std::string& table, const std::string& line)
{
    std::string scene = small_scene();
    const std::string head = "[" + table + "]\n";
    scene.insert(scene.find(head) + head.size(), line + "\n");
    return scene;
}

} // namespace spindrift
