#include "pipeline/film.h"

#include "io/atomic_file.h"
#include "io/image.h"

#include <filesystem>

namespace spindrift {

void make_film(const ShotPaths& paths, const std::vector<std::string>& pictures, float fps, Progress& progress)
{
    namespace fs = std::filesystem;
    const std::string sheet = paths.folder + "/" + paths.shot + ".contact.png", film = paths.folder + "/" + paths.shot + ".mp4";
    fs::file_time_type newest = fs::file_time_type::min();
    for (const std::string& picture : pictures) newest = std::max(newest, fs::last_write_time(picture));
    const auto outdated = [&](const std::string& path) { return !fs::exists(path) || fs::last_write_time(path) < newest; };
    if (outdated(sheet)) write_image(sheet, contact_sheet(pictures, 12, 3, 480));
    if (outdated(film)) write_movie(film, pictures, std::max(1, static_cast<int>(std::lround(fps))));
    progress.say("contact sheet: " + sheet);
    progress.say("film:          " + film);
}

} // namespace spindrift
