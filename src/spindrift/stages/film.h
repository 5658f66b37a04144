// What a finished shot is looked at with: a contact sheet and a film of its pictures, in the shot's folder, or beside
// the pictures of a version that is not the current one. Both are made only if they are missing or older than a
// picture, and both functions say where they are.
#pragma once

#include "spindrift/engine/progress.h"
#include "spindrift/io/image.h"

namespace spindrift {

std::string contact_sheet_path(const ShotPaths& paths, const std::string& stage);
std::string film_path(const ShotPaths& paths, const std::string& stage);
// <shot>.contact.png, or <shot>.<stage>.contact.png if the stage has a name of its own: pictures side by side, after
// `developed` made them fit for the eye.
void make_contact_sheet(const ShotPaths& paths, const std::string& stage, const std::vector<std::string>& pictures,
                        const std::function<Image(const Image&)>& developed, Progress& progress);
// <shot>.mp4. Without a working ffmpeg there is no film, which is no reason to fail: it says so and returns.
void make_film(const ShotPaths& paths, const std::string& stage, const std::vector<std::string>& pictures, float fps,
               Progress& progress);

} // namespace spindrift
