#include "spindrift/engine/short_sequences.h"

#include <fmt/format.h>
#include <sstream>

namespace spindrift {

namespace {

// The text between quotes with its escapes removed; empty for other values.
std::string unquoted(const std::string& value)
{
    if (value.size() < 2 || value.front() != '"') return {};
    std::string text;
    for (size_t i = 1; i + 1 < value.size(); ++i) {
        if (value[i] == '\\' && i + 2 < value.size()) ++i;
        text += value[i];
    }
    return text;
}

} // namespace

std::vector<std::string> short_sequences(const SceneFile& scene, const std::string& table, const VisitFunction& visit,
                                         const FrameRange& shot)
{
    std::vector<std::string> warnings;
    std::istringstream lines(canonical_text(visit));
    for (std::string line; std::getline(lines, line);) {
        const size_t equals = line.find(" = ");
        if (equals == std::string::npos) continue;
        const std::string name = line.substr(0, equals), file = unquoted(line.substr(equals + 3));
        if (name == "input" || file.empty() || !has_frame_pattern(file))
            continue; // all frames of an input must exist; checked elsewhere
        const std::string pattern = scene.resolve(file);
        const std::vector<int> frames = frames_on_disk(pattern);
        if (frames.empty()) continue; // an error reported elsewhere, or not a file name
        const std::string where = scene.where(table + "." + name);
        if (frames.back() < shot.last)
            warnings.push_back(
                fmt::format("{}: the files of {}.{} end with {}, and the shot with frame {}; the last file "
                            "stays in place after frame {}",
                            where, table, name, frame_path(pattern, frames.back()), shot.last, frames.back()));
        if (frames.front() > shot.first)
            warnings.push_back(
                fmt::format("{}: the files of {}.{} begin with {}, and the shot with frame {}; the first "
                            "file is in place before frame {}",
                            where, table, name, frame_path(pattern, frames.front()), shot.first, frames.front()));
    }
    return warnings;
}

} // namespace spindrift
