// What a finished shot is looked at with: a contact sheet and a film of its pictures.
#pragma once

#include "pipeline/progress.h"

namespace spindrift {

// Writes <shot>.contact.png and <shot>.mp4 into the shot's folder, unless they are newer than the pictures, and says where.
void make_film(const ShotPaths& paths, const std::vector<std::string>& pictures, float fps, Progress& progress);

} // namespace spindrift
