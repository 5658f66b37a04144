// What a shot needs before it runs: memory, disk space, input files.
#include "spindrift/engine/shot.h"

#include "spindrift/base/error.h"
#include "spindrift/base/memory.h"
#include "spindrift/engine/forecast.h"
#include "spindrift/io/atomic_file.h"

#include <algorithm>
#include <filesystem>

namespace spindrift {

void Shot::expect_enough_memory() const
{
    const double machine = available_memory();
    for (const Link& link : links_) {
        const Estimate estimate = link.stage->estimate();
        if (link.runs && !(estimate.memory <= machine))
            bad_input("{}: {} needs about {} of memory ({}), and this machine has {}; {}",
                      scene_.where(link.stage->name()), link.stage->name(), size_text(estimate.memory), estimate.note,
                      size_text(machine), estimate.remedy);
    }
}

// Input files of other programs must exist before the run starts, except for frames that are already complete.
void Shot::expect_input_files() const
{
    for (const Link& link : links_) {
        const Stage* stage = link.stage;
        if (!link.runs || stage->input_files().empty()) continue;
        const StageCache cache = cache_of(link);
        const FrameRange range = frames_of(*stage);
        for (int frame = range.first; frame <= range.last; frame += range.step) {
            if (!cache.outdated() && cache.complete(frame)) continue;
            for (const int file : stage->input_frames(frame)) expect_input_file(*stage, file);
        }
    }
}

void Shot::expect_input_file(const Stage& stage, int frame) const
{
    const std::string pattern = stage.input_files();
    if (file_exists(frame_path(pattern, frame))) return;
    const std::string where = scene_.where(stage.name() + ".input");
    if (!has_frame_pattern(pattern)) bad_input("{}: there is no file {}", where, pattern);
    const std::vector<int> frames = frames_on_disk(pattern);
    if (frames.empty()) bad_input("{}: no file matches {}; the folder is relative to the scene's", where, pattern);
    bad_input("{}: {} is missing; there are frames from {} to {} (see shot.frames)", where, frame_path(pattern, frame),
              frames.front(), frames.back());
}

Forecast Shot::forecast() const
{
    std::vector<const Stage*> stages;
    for (const Link& link : links_)
        if (link.runs && link.stage->rehearsal() != Stage::Rehearsal::none) stages.push_back(link.stage);
    return stages.empty() ? Forecast() : rehearse(options_, stages, shot_range_);
}

Estimate Shot::estimate_of(const Stage& stage, const Forecast& forecast) const
{
    Estimate estimate = stage.estimate();
    estimate.memory += held_memory(); // the program itself
    if (const auto foreseen = forecast.find(stage.name()); foreseen != forecast.end())
        estimate.disk = foreseen->second.disk, estimate.memory = foreseen->second.memory;
    return estimate;
}

// Free space where the shot's folder is or will be; 0 if unknown.
double Shot::free_space() const
{
    std::error_code error;
    std::filesystem::path folder = std::filesystem::absolute(paths_.folder);
    while (!std::filesystem::exists(folder, error) && folder != folder.parent_path()) folder = folder.parent_path();
    const auto space = std::filesystem::space(folder, error);
    return error ? 0 : static_cast<double>(space.available);
}

// Fails before any work is done if memory or disk space is too small. Rehearses only if the rough estimate comes close
// to the limits.
void Shot::expect_room() const
{
    constexpr double kMemoryShare = 0.05, kDiskShare = 0.1;
    double memory = 0, disk = 0;
    for (const Link& link : links_)
        if (link.runs) memory = std::max(memory, link.stage->estimate().memory), disk += link.stage->estimate().disk;
    const double space = free_space();
    if (options_.rehearsal || (memory < kMemoryShare * available_memory() && (disk < kDiskShare * space || space == 0)))
        return;
    const Forecast foreseen = forecast();
    disk = 0;
    for (const Link& link : links_) {
        if (!link.runs) continue;
        const Estimate estimate = estimate_of(*link.stage, foreseen);
        expect_memory(estimate.memory, link.stage->name(), estimate.remedy);
        disk += estimate.disk * missing_fraction(link);
        if (space > 0 && disk > space)
            fail("{} needs about {} on disk, and {} has {} free; free some, choose another folder with -o, or {}",
                 link.stage->name(), size_text(estimate.disk), paths_.folder, size_text(space), estimate.remedy);
    }
}

// The fraction of a stage's frames that are not complete.
double Shot::missing_fraction(const Link& link) const
{
    const StageCache cache = cache_of(link);
    const FrameRange range = frames_of(*link.stage);
    if (cache.outdated()) return 1.0 * range.count() / shot_range_.count();
    int missing = 0;
    for (int frame = range.first; frame <= range.last; ++frame) missing += !cache.complete(frame);
    return 1.0 * missing / shot_range_.count();
}

// How many frames are already complete, for people; empty if none.
std::string Shot::done_note(const Link& link) const
{
    const StageCache cache = cache_of(link);
    if (cache.outdated()) return {};
    int there = 0;
    for (int frame = shot_range_.first; frame <= shot_range_.last; ++frame) there += cache.complete(frame);
    return there == 0 ? "" : fmt::format("{} of {} frames are already done", there, shot_range_.count());
}

std::string Shot::needs() const
{
    std::string text;
    double memory = 0, disk = 0;
    const Forecast foreseen = forecast();
    for (const Link& link : links_) {
        if (!link.runs) continue;
        const Estimate e = estimate_of(*link.stage, foreseen);
        memory = std::max(memory, e.memory), disk += e.disk;
        text += fmt::format("{:<8} memory {:>8}   disk {:>8}   {}\n", link.stage->name(), size_text(e.memory),
                            size_text(e.disk), e.note);
        const auto found = foreseen.find(link.stage->name());
        if (found == foreseen.end() && link.stage->rehearsal() != Stage::Rehearsal::none)
            text += fmt::format("{:<8} could not be rehearsed: these are rough estimates\n", "");
        else if (found != foreseen.end() && is_cut_short(found->second))
            text +=
                fmt::format("{:<8} a frame takes minutes even on a coarser grid: the shot may need much more\n", "");
        for (const std::string& warning : warnings_of(*link.stage)) text += fmt::format("{:<8} {}\n", "", warning);
        for (const std::string& note : {done_note(link), version_note(link), replaced_note(link)})
            if (!note.empty()) text += fmt::format("{:<8} {}\n", "", note);
    }
    if (const std::string note = kept_note(); !note.empty()) text += note + "\n";
    text += fmt::format("frames {}-{} at {} fps into {}: {} of memory, {} on disk", shot_range_.first, shot_range_.last,
                        params_.fps, paths_.folder, size_text(memory), size_text(disk));
    if (const double space = free_space(); space > 0) text += fmt::format(" ({} free)", size_text(space));
    return text;
}

} // namespace spindrift
