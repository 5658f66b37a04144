#include "spindrift/stages/film.h"

#include "spindrift/base/error.h"
#include "spindrift/base/interrupt.h"

#include <filesystem>

namespace spindrift {

namespace {

bool is_outdated(const std::string& path, const std::vector<std::string>& pictures)
{
    namespace fs = std::filesystem;
    if (!fs::exists(path)) return true;
    const fs::file_time_type made = fs::last_write_time(path);
    return std::any_of(pictures.begin(), pictures.end(),
                       [&](const std::string& picture) { return fs::last_write_time(picture) > made; });
}

// <shot> for [render], <shot>.<stage> for other stages.
std::string path_without_ending(const ShotPaths& paths, const std::string& stage)
{
    return paths.folder_beside(stage) + "/" + paths.shot + (stage == "render" ? "" : "." + stage);
}

} // namespace

std::string contact_sheet_path(const ShotPaths& paths, const std::string& stage)
{
    return path_without_ending(paths, stage) + ".contact.png";
}

std::string film_path(const ShotPaths& paths, const std::string& stage)
{
    return path_without_ending(paths, stage) + ".mp4";
}

void make_contact_sheet(const ShotPaths& paths, const std::string& stage, const std::vector<std::string>& pictures,
                        const std::function<Image(const Image&)>& developed, Progress& progress)
{
    constexpr int count = 12, columns = 3, width = 480;
    const std::string sheet = contact_sheet_path(paths, stage);
    if (is_outdated(sheet, pictures))
        progress.busy_with("contact sheet",
                           [&] { write_image(sheet, developed(contact_sheet(pictures, count, columns, width))); });
    progress.say("contact sheet: " + sheet);
}

void make_film(const ShotPaths& paths, const std::string& stage, const std::vector<std::string>& pictures, float fps,
               Progress& progress)
{
    const std::string film = film_path(paths, stage);
    try {
        if (is_outdated(film, pictures))
            progress.busy_with("film",
                               [&] { write_movie(film, pictures, std::max(1, static_cast<int>(std::lround(fps)))); });
        progress.say("film:          " + film);
    } catch (const Error& error) {
        check_interrupt(); // Ctrl-C reaches ffmpeg too
        progress.warn(fmt::format("no film: {}", error.what()));
    }
}

} // namespace spindrift
