#include "spindrift/engine/files_of_frames.h"

#include "spindrift/base/error.h"
#include "spindrift/engine/cache.h"
#include "spindrift/io/atomic_file.h"
#include "spindrift/io/frame_path.h"

#include <filesystem>

namespace spindrift {

FilesOfFrames::FilesOfFrames(const std::string& pattern, const std::string& where)
{
    if (pattern.empty()) return;
    if (has_frame_pattern(pattern))
        for (const int frame : frames_on_disk(pattern)) files_.emplace_back(frame, frame_path(pattern, frame));
    else if (file_exists(pattern))
        files_.emplace_back(0, pattern);
    if (files_.empty()) bad_input("{}: no file matches {}", where, pattern);
}

std::string FilesOfFrames::at(int frame) const
{
    auto file = files_.begin();
    while (std::next(file) != files_.end() && std::next(file)->first <= frame) ++file;
    return file->second;
}

std::string FilesOfFrames::signature(const std::string& name) const
{
    std::string lines;
    for (const auto& [frame, file] : files_)
        lines +=
            fmt::format("{} {}: {}\n", name, std::filesystem::path(file).filename().string(), file_signature(file));
    return lines;
}

} // namespace spindrift
