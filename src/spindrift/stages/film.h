// Makes a contact sheet and a film of a complete shot's pictures, in the shot's folder, or in the folder of a version
// that is not the current one. Each is made only if it is missing or older than a picture; both functions report the
// path.
#pragma once

#include "spindrift/engine/progress.h"
#include "spindrift/io/image.h"

namespace spindrift {

std::string contact_sheet_path(const ShotPaths& paths, const std::string& stage);
std::string film_path(const ShotPaths& paths, const std::string& stage);
// Writes <shot>.contact.png, or <shot>.<stage>.contact.png for a stage with another name than its kind: pictures side
// by side, tone-mapped with `developed`.
void make_contact_sheet(const ShotPaths& paths, const std::string& stage, const std::vector<std::string>& pictures,
                        const std::function<Image(const Image&)>& developed, Progress& progress);
// Writes <shot>.mp4. If ffmpeg is missing or fails, warns and returns: a missing film does not fail the run.
void make_film(const ShotPaths& paths, const std::string& stage, const std::vector<std::string>& pictures, float fps,
               Progress& progress);

} // namespace spindrift
