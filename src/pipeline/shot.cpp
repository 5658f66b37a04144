#include "pipeline/shot.h"

#include "base/error.h"
#include "base/interrupt.h"
#include "io/atomic_file.h"
#include "pipeline/film.h"

#include <filesystem>
#include <unistd.h>

namespace spindrift {

void ShotParams::visit(ParamVisitor& v)
{
    v("frames", frames, "First and last frame, e.g. \"1-48\".");
    v("fps", fps, "frames/s", above(0), "Frames a second.");
    try {
        const FrameRange range = parse_frame_range(frames);
        v.require(range.count() <= 1000000, "frames", "a shot may have a million frames at most");
    } catch (const Error& error) {
        v.require(false, "frames", error.what());
    }
}

Shot::Shot(const ShotOptions& options) : scene_(options.scene, options.overrides)
{
    paths_.shot = scene_.name();
    paths_.folder = options.folder.empty() ? "out/" + paths_.shot : options.folder;

    std::vector<std::string> tables = {"shot"};
    for (auto& stage : make_stages()) {
        tables.push_back(stage->name());
        const bool in_scene = scene_.has(stage->name());
        links_.push_back({std::move(stage), {}, in_scene});
    }
    scene_.expect_only(tables);
    scene_.read("shot", [this](ParamVisitor& v) { params_.visit(v); });
    shot_range_ = wanted_ = params_.range();
    if (options.frames) {
        wanted_ = *options.frames;
        if (wanted_.first < shot_range_.first || wanted_.last > shot_range_.last)
            bad_input("--frames {}-{}: the shot has frames {}-{} ({})", wanted_.first, wanted_.last, shot_range_.first,
                      shot_range_.last, scene_.where("shot.frames"));
    }

    for (Link& link : links_) {
        Stage& stage = *link.stage;
        scene_.read(stage.name(), [&](ParamVisitor& v) { stage.visit(v); });
        stage.prepare(scene_, params_, paths_);
        std::string made_from = fmt::format("spindrift {}\nstage {}\nfps {}\nfirst {}\n", SPINDRIFT_VERSION, stage.name(),
                                            params_.fps, shot_range_.first);
        made_from += canonical_text([&](ParamVisitor& v) { stage.visit(v); });
        made_from += stage.dependencies();
        if (const Link* input = find(stage.input())) made_from += input->fingerprint;
        link.fingerprint = fmt::format("{:016x}{:016x}", hash_bytes(made_from), hash_bytes(made_from, 1));
    }
    check_memory();
}

Shot::~Shot() = default;

Shot::Link* Shot::find(const std::string& stage)
{
    for (Link& link : links_)
        if (link.stage->name() == stage) return &link;
    return nullptr;
}

void Shot::check_memory() const
{
    const double machine = static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGE_SIZE));
    for (const Link& link : links_) {
        if (!link.in_scene) continue;
        const Estimate estimate = link.stage->estimate();
        if (estimate.memory > machine)
            bad_input("{}: {} needs about {} of memory ({}), and this machine has {}; raise {}.voxel",
                      scene_.where(link.stage->name()), link.stage->name(), size_text(estimate.memory), estimate.note,
                      size_text(machine), link.stage->name());
    }
}

std::string Shot::needs() const
{
    std::string text;
    double disk = 0;
    for (const Link& link : links_) {
        if (!link.in_scene) continue;
        const Estimate e = link.stage->estimate();
        disk += e.disk;
        text += fmt::format("{:<8} memory {:>8}   disk {:>8}   {}\n", link.stage->name(), size_text(e.memory),
                            size_text(e.disk), e.note);
    }
    std::error_code error;
    std::filesystem::path folder = std::filesystem::absolute(paths_.folder);
    while (!std::filesystem::exists(folder, error) && folder.has_parent_path()) folder = folder.parent_path();
    const auto space = std::filesystem::space(folder, error);
    text += fmt::format("frames {}-{} at {} fps into {}: {} on disk", shot_range_.first, shot_range_.last, params_.fps,
                        paths_.folder, size_text(disk));
    if (!error) text += fmt::format(" ({} free)", size_text(static_cast<double>(space.available)));
    return text;
}

void Shot::run(const std::string& only_stage, Progress& progress)
{
    const FolderLock lock(paths_.folder);
    for (Link& link : links_) {
        if (only_stage.empty() ? !link.in_scene : link.stage->name() != only_stage) continue;
        run_link(link, progress);
    }
}

void Shot::run_link(Link& link, Progress& progress)
{
    Stage& stage = *link.stage;
    StageCache cache(paths_.stage_folder(stage.name()), pattern(stage), link.fingerprint);
    if (cache.outdated()) {
        progress.say(fmt::format("{}: the scene has changed since its frames were made; making them again", stage.name()));
        cache.clear();
    }
    if (auto* time_stage = dynamic_cast<TimeStage*>(&stage))
        run_time_stage(*time_stage, cache, progress);
    else
        run_frame_stage(dynamic_cast<FrameStage&>(stage), cache, progress);
    if (stage.ending() == "png" && wanted_.count() == shot_range_.count()) {
        std::vector<std::string> pictures;
        for (int frame = shot_range_.first; frame <= shot_range_.last; ++frame) pictures.push_back(cache.path(frame));
        make_film(paths_, pictures, params_.fps, progress);
    }
}

// From the last complete frame to the end of the wanted range. The state is written before the frame: whatever a kill
// leaves behind, the state can still make the frame it belongs to.
void Shot::run_time_stage(TimeStage& stage, StageCache& cache, Progress& progress)
{
    int done = 0; // frames from the start that are there
    while (done < wanted_.last - shot_range_.first + 1 && cache.has(shot_range_.first + done)) ++done;
    const int first_missing = shot_range_.first + done;
    progress.stage_starts(stage.name(), shot_range_.first, wanted_.last, done);
    if (first_missing > wanted_.last) {
        progress.stage_ends();
        return;
    }

    int frame = shot_range_.first;
    const auto write = [&] {
        if (cache.has(frame)) return;
        cache.begin(frame);
        stage.write(cache.path(frame));
        cache.finish(frame);
    };
    StateFile state;
    // A state later than the first missing frame cannot make it: a frame was deleted, so start again.
    if (read_state(cache.state_path(), cache.fingerprint(), state) && state.numbers["frame"] <= first_missing) {
        frame = static_cast<int>(state.numbers["frame"]);
        stage.restore(std::move(state));
    } else {
        stage.start(frame);
        write_state(cache.state_path(), cache.fingerprint(), stage.save());
    }
    write();
    if (frame >= first_missing) progress.frame_done(frame, {});
    while (frame < wanted_.last) {
        check_interrupt();
        FrameReport report = stage.advance();
        ++frame;
        report.times.measure("write", [&] {
            write_state(cache.state_path(), cache.fingerprint(), stage.save());
            write();
        });
        progress.frame_done(frame, report);
    }
    progress.stage_ends();
}

void Shot::run_frame_stage(FrameStage& stage, StageCache& cache, Progress& progress)
{
    const Link* input = find(stage.input());
    const std::string input_pattern = pattern(*input->stage);
    std::vector<int> missing;
    for (int frame = wanted_.first; frame <= wanted_.last; ++frame) {
        const std::string from = frame_path(input_pattern, frame);
        if (!file_exists(from))
            fail("{} is missing; make it with: spindrift {} {}", from, input->stage->name() == "liquid" ? "sim" : input->stage->name(),
                 scene_.path());
        if (!cache.has(frame, file_signature(from))) missing.push_back(frame);
    }
    progress.stage_starts(stage.name(), wanted_.first, wanted_.last, wanted_.count() - static_cast<int>(missing.size()));
    for (const int frame : missing) {
        check_interrupt();
        const std::string from = frame_path(input_pattern, frame);
        const std::string signature = file_signature(from);
        cache.begin(frame);
        const FrameReport report = stage.make(frame, from, cache.path(frame));
        cache.finish(frame, signature);
        progress.frame_done(frame, report);
    }
    progress.stage_ends();
}

} // namespace spindrift
