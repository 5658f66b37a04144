#include "spindrift/engine/shot.h"

#include "spindrift/base/error.h"
#include "spindrift/base/interrupt.h"
#include "spindrift/base/memory.h"
#include "spindrift/base/state_error.h"
#include "spindrift/engine/forecast.h"
#include "spindrift/engine/short_sequences.h"
#include "spindrift/engine/versions.h"
#include "spindrift/io/atomic_file.h"
#include "spindrift/io/finite.h"

#include <algorithm>
#include <filesystem>

namespace spindrift {

void ShotParams::visit(ParamVisitor& v)
{
    v("frames", frames, "First and last frame, e.g. \"1-48\".");
    v("fps", fps, "frames/s", between(1e-2, 1e6), "Frames per second.");
    v.list("null", nulls, "Motions without a shape that shapes can use as a parent.");
    try {
        const FrameRange range = parse_frame_range(frames);
        v.require(range.count() <= 1000000, "frames", "a shot may have a million frames at most");
        v.require(range.step == 1, "frames", "a shot has no frame step; to run every other frame use --frames 1-48x2");
        v.require(range.first > -100000000 && range.last < 100000000, "frames", "must have at most eight digits");
    } catch (const Error& error) {
        v.require(false, "frames", error.what());
    }
}

// ----------------------------------------------------------------------------------------------- reading and checking

namespace {

std::vector<std::string> wanted_kinds(const ShotOptions& options)
{
    return options.only.empty() ? std::vector<std::string>() : std::vector<std::string>{options.only};
}

} // namespace

Shot::Shot(const ShotOptions& options, const StageKinds& kinds)
    : options_(options), scene_(options.scene, options.overrides), graph_(scene_, kinds, wanted_kinds(options))
{
    paths_.shot = scene_.name();
    paths_.folder = options.folder.empty() ? "out/" + paths_.shot : options.folder;
    read_frames(options.frames);
    graph_.prepare(params_);
    for (const ShotGraph::Node& node : graph_.nodes())
        links_.push_back({node.stage.get(), &node, false, {}, {}, false, false});
    choose_stages();
    for (Link& link : links_) link.made_from = ingredients(link);
    choose_versions();
    expect_enough_memory();
    expect_input_files();
}

Shot::~Shot() = default;

void Shot::read_frames(const std::optional<FrameRange>& frames)
{
    scene_.read("shot", [this](ParamVisitor& v) { params_.visit(v); });
    shot_range_ = params_.range();
    wanted_ = frames.value_or(shot_range_);
    if (wanted_.first < shot_range_.first || wanted_.last > shot_range_.last)
        bad_input("--frames {}-{}: the shot has frames {}-{} ({})", wanted_.first, wanted_.last, shot_range_.first,
                  shot_range_.last, scene_.where("shot.frames"));
}

void Shot::choose_stages()
{
    const std::string& only = options_.only;
    for (Link& link : links_) link.runs = only.empty() || link.stage->name() == only || link.stage->kind() == only;
    if (links_.empty()) bad_input("{}: the scene asks for nothing; add a table such as [liquid]", scene_.path());
    if (std::ranges::any_of(links_, &Link::runs)) return;
    std::vector<std::string> names;
    for (const Link& link : links_) names.push_back(link.stage->name());
    const bool is_kind = std::ranges::count(graph_.kinds(), only, &StageKind::name) > 0;
    if (is_kind) bad_input("{}: the scene has no [{}] table", scene_.path(), only);
    bad_input("{}: the scene has no stage '{}'{}", scene_.path(), shortened(only),
              did_you_mean(only, names, "there are"));
}

// Floats are printed exactly: equal text means equal bits.
std::string Shot::ingredients(const Link& link) const
{
    Stage& stage = *link.stage;
    constexpr int kAttributes = 3; // version of the attribute names and contents of files
    std::string lines = fmt::format("version = {}\nnames of attributes = {}\nfps = {}\nfirst frame = {}\n",
                                    SPINDRIFT_VERSION, kAttributes, params_.fps, shot_range_.first);
    lines += canonical_text([&](ParamVisitor& v) { visit_stage(stage, v); });
    lines += stage.dependencies();
    for (const std::string& input : link.node->read())
        lines += fmt::format("{}: {}\n", input, fingerprint_of(find(input).made_from));
    return lines;
}

std::vector<std::string> Shot::warnings_of(Stage& stage) const
{
    std::vector<std::string> warnings = stage.warnings();
    const auto visit = [&](ParamVisitor& v) { stage.visit(v); };
    for (std::string& warning : short_sequences(scene_, stage.name(), visit, shot_range_))
        warnings.push_back(std::move(warning));
    return warnings;
}

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
        expect_memory(estimate.memory, link.stage->name().c_str(), estimate.remedy.c_str());
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
        if (const auto found = foreseen.find(link.stage->name());
            found != foreseen.end() && is_cut_short(found->second))
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

const Shot::Link& Shot::find(const std::string& stage) const
{
    return *std::ranges::find_if(links_, [&](const Link& link) { return link.stage->name() == stage; });
}

StageCache Shot::cache_of(const Link& link) const
{
    return {link.folder, link.stage->name(), link.stage->endings(), link.made_from};
}

namespace {

// Restores the saved state and returns its frame. Returns nothing if there is no state, if it is damaged or does not
// fit, or if it is outside `range`: a state later than the first missing frame cannot produce that frame.
std::optional<int> resume(TimeStage& stage, const StageCache& cache, const FrameRange& range, FrameReport& report,
                          Progress& progress)
{
    try {
        StateFile state;
        if (!read_state(cache.state_path(), cache.fingerprint(), state)) return std::nullopt;
        const int64_t frame = state.numbers["frame"];
        if (frame > range.last) return std::nullopt;
        if (frame < range.first) bad_state("its frame {} is before the first", frame);
        report = stage.restore(std::move(state));
        return static_cast<int>(frame);
    } catch (const StateError& error) {
        progress.say(fmt::format("{}: cannot resume from {}: {}", stage.name(), cache.state_path(), error.what()));
        return std::nullopt;
    }
}

} // namespace

// ------------------------------------------------------------------------------------------------------------ running

void Shot::run(Progress& progress)
{
    expect_room();
    const FolderLock lock(paths_.folder);
    remove_leftovers(paths_.folder);

    for (const Link& link : links_) {
        remove_leftovers(paths_.stage_folder(link.stage->name()));
        finish_move(*link.stage, paths_);
    }
    choose_versions(); // again: the folder is locked now, so no other run can change it

    // Report files in the way now, not hours later when their frame is written.
    for (const Link& link : links_) {
        if (!link.runs) continue;
        remove_leftovers(link.folder);
        expect_only_ours(link);
    }
    bool any_versions = false;
    for (Link& link : links_) {
        if (!link.runs) continue;
        any_versions |= link.aside || link.takes_over;
        try {
            run_stage(link, progress);
        } catch (const std::bad_alloc&) {
            fail("{}: out of memory; {}, and see what the shot needs with: spindrift check {}", link.stage->name(),
                 link.stage->estimate().remedy, scene_.path());
        }
    }
    for (const Link& link : links_)
        if (const std::string note = unconverged_note(link); link.runs && !note.empty()) progress.warn(note);
    if (const std::string note = kept_note(); any_versions && !note.empty()) progress.say(note);
}

// Names the frames with solves that ended above their tolerance, for people; empty if none.
std::string Shot::unconverged_note(const Link& link) const
{
    const std::map<int, int> frames = cache_of(link).unconverged();
    if (frames.empty()) return {};
    int solves = 0;
    for (const auto& [frame, count] : frames) solves += count;
    return fmt::format("{}: {} solve{} in {} did not reach the tolerance; look at these frames, and try smaller time "
                       "steps or less extreme values if they look wrong",
                       link.stage->name(), solves, solves == 1 ? "" : "s",
                       frames.size() == 1 ? fmt::format("frame {}", frames.begin()->first)
                                          : fmt::format("{} frames from {} to {}", frames.size(), frames.begin()->first,
                                                        frames.rbegin()->first));
}

void Shot::run_stage(Link& link, Progress& progress)
{
    Stage& stage = *link.stage;
    for (const std::string& warning : warnings_of(stage)) progress.warn(fmt::format("{}: {}", stage.name(), warning));
    warn_of_outdated_inputs(link, progress);
    auto* time_stage = dynamic_cast<TimeStage*>(&stage);
    std::vector<int> missing;
    if (!time_stage) missing = missing_frames(link, cache_of(link));
    if (const std::string note = replaced_note(link); !note.empty())
        progress.warn(fmt::format("{}: {}", stage.name(), note));
    make_current(link, progress);
    StageCache cache = cache_of(link);
    if (time_stage)
        run_time_stage(*time_stage, cache, progress);
    else
        run_frame_stage(link, cache, missing, progress);

    std::vector<std::string> files;
    for (int frame = shot_range_.first; frame <= shot_range_.last && cache.complete(frame); ++frame)
        files.push_back(cache.path(frame));
    if (static_cast<int>(files.size()) == shot_range_.count()) stage.shot_complete(files, paths_now(), progress);
}

// A time stage has to simulate all frames before the wanted ones.
FrameRange Shot::frames_of(const Stage& stage) const
{
    return dynamic_cast<const TimeStage*>(&stage) ? FrameRange{shot_range_.first, wanted_.last} : wanted_;
}

namespace {

// The command that runs one stage alone.
std::string command_for(const Stage& stage)
{
    return stage.name() == stage.kind() ? stage.kind() : "run --stage " + stage.name();
}

} // namespace

// The path of another stage's frame. Throws if it is missing.
std::string Shot::input_path(const std::string& input, int frame) const
{
    std::string path = cache_of(find(input)).path(frame);
    if (!file_exists(path))
        fail("{} is missing; make it with: spindrift {} {}", path, command_for(*find(input).stage), scene_.path());
    return path;
}

void Shot::warn_of_outdated_inputs(const Link& link, Progress& progress) const
{
    for (const std::string& name : link.node->read()) {
        const Link& input = find(name);
        if (const StageCache cache = cache_of(input); cache.outdated())
            progress.warn(
                fmt::format("{}: reads frames of another version of the scene ({}: {}); bring them up to date with: "
                            "spindrift {} {}",
                            link.stage->name(), name, cache.what_changed(), command_for(*input.stage), scene_.path()));
    }
}

namespace {

// Calls write(), which writes a frame or its resume state. If it throws NotFinite, nothing was written; fails with a
// remedy.
template <class Write> void write_finite(const Stage& stage, int frame, const Write& write)
{
    try {
        write();
    } catch (const NotFinite& error) {
        fail("{}: frame {} was not written: {}. A value of [{}] is too extreme (look for large forces, speeds, "
             "rates and temperatures), or an expression or the input causes it; all earlier frames are complete",
             stage.name(), frame, error.values, stage.name());
    }
}

} // namespace

// Runs from the last complete frame to the end of the wanted range. The state is written before its frame: wherever a
// kill happens, the state can still produce that frame.
void Shot::run_time_stage(TimeStage& stage, StageCache& cache, Progress& progress)
{
    stage.read_from([this](const std::string& input, int frame) { return input_path(input, frame); });
    const FrameRange range = frames_of(stage);
    int missing = range.first; // the first missing frame
    while (missing <= range.last && cache.has(missing)) ++missing;
    if (missing > range.last) {
        progress.stage_starts(stage.name(), range, 0);
        progress.stage_ends();
        return;
    }

    FrameReport report;
    const std::optional<int> resumed = resume(stage, cache, {range.first, missing}, report, progress);
    int frame = resumed.value_or(range.first);
    const int first_reported = frame < missing && resumed ? frame + 1 : frame;
    if (!resumed && missing > range.first)
        progress.say(
            fmt::format("{}: frame {} is missing; computing again from frame {}", stage.name(), missing, frame));
    progress.stage_starts(stage.name(), range, range.last - first_reported + 1);

    if (!resumed) report = stage.start(frame);
    for (bool is_saved = resumed.has_value();; is_saved = false) {
        report.times.measure("write", [&] {
            write_finite(stage, frame, [&] {
                if (!is_saved) write_state(cache.state_path(), cache.fingerprint(), stage.save());
                if (cache.has(frame)) return;
                cache.begin(frame);
                stage.write(cache.path(frame));
                cache.finish(frame, {}, report.unconverged);
            });
        });
        if (frame >= first_reported) progress.frame_done(frame, report);
        if (frame == range.last) break;
        check_interrupt();
        report = stage.advance();
        ++frame;
    }
    progress.stage_ends();
}

// The files that a frame stage reads for a frame, whether they exist or not.
std::vector<std::string> Shot::input_paths(const Link& link, int frame) const
{
    std::vector<std::string> paths;
    for (const std::string& input : link.node->read()) paths.push_back(cache_of(find(input)).path(frame));
    if (const std::string files = link.stage->input_files(); !files.empty()) paths.push_back(frame_path(files, frame));
    return paths;
}

namespace {

std::string signature_of(const std::vector<std::string>& paths)
{
    std::string signatures;
    for (const std::string& path : paths) signatures += (signatures.empty() ? "" : "+") + file_signature(path);
    return signatures;
}

} // namespace

// A complete frame whose input was deleted counts as up to date: inputs may be deleted to save space.
std::vector<int> Shot::missing_frames(const Link& link, const StageCache& cache) const
{
    std::vector<int> missing;
    for (int frame = wanted_.first; frame <= wanted_.last; frame += wanted_.step) {
        const std::vector<std::string> from = input_paths(link, frame);
        const bool has_inputs = std::ranges::all_of(from, file_exists);
        const bool good = has_inputs ? cache.has(frame, signature_of(from)) : cache.complete(frame);
        if (good && !cache.outdated()) continue;
        for (const std::string& input : link.node->read()) input_path(input, frame);
        missing.push_back(frame);
    }
    return missing;
}

// Names the frames that a run overwrites because their input changed, for people; empty if none.
std::string Shot::replaced_note(const Link& link) const
{
    const StageCache cache = cache_of(link);
    if (!dynamic_cast<const FrameStage*>(link.stage) || !cache.exists() || cache.outdated()) return {};
    std::vector<int> frames;
    for (int frame = wanted_.first; frame <= wanted_.last; frame += wanted_.step) {
        const std::vector<std::string> from = input_paths(link, frame);
        if (cache.complete(frame) && std::ranges::all_of(from, file_exists) && !cache.has(frame, signature_of(from)))
            frames.push_back(frame);
    }
    if (frames.empty()) return {};
    const std::string which =
        frames.size() == 1 ? fmt::format("frame {} is", frames.front())
                           : fmt::format("{} frames from {} to {} are", frames.size(), frames.front(), frames.back());
    return which + " computed again and overwritten, because the input has changed";
}

void Shot::run_frame_stage(const Link& link, StageCache& cache, const std::vector<int>& missing, Progress& progress)
{
    auto& stage = dynamic_cast<FrameStage&>(*link.stage);
    const InputPath input = [this](const std::string& name, int frame) { return input_path(name, frame); };
    progress.stage_starts(stage.name(), wanted_, static_cast<int>(missing.size()));
    for (const int frame : missing) {
        check_interrupt();
        const std::string made_from = signature_of(input_paths(link, frame));
        cache.begin(frame);
        FrameReport report;
        write_finite(stage, frame, [&] { report = stage.make(frame, input, cache.paths(frame)); });
        cache.finish(frame, made_from);
        progress.frame_done(frame, report);
    }
    progress.stage_ends();
}

} // namespace spindrift
