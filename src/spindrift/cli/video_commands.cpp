#include "spindrift/cli/video_commands.h"

#include "spindrift/base/error.h"
#include "spindrift/base/interrupt.h"
#include "spindrift/base/parallel.h"
#include "spindrift/base/printable.h"
#include "spindrift/base/state_error.h"
#include "spindrift/engine/cache.h"
#include "spindrift/engine/files_of_frames.h"
#include "spindrift/engine/progress.h"
#include "spindrift/io/atomic_file.h"
#include "spindrift/io/mesh_file.h"
#include "spindrift/io/state_file.h"
#include "spindrift/io/vdb.h"
#include "spindrift/surface/contour.h"
#include "spindrift/texture/grid_synthesis.h"
#include "spindrift/texture/made_videos.h"
#include "spindrift/video/video_patches.h"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

namespace spindrift {

namespace {

// What all of them have.
struct VideoOutput {
    std::string pattern, frames;
    bool force = false;
    int seed = 1;
};

struct FootageOptions {
    VideoOutput out;
    std::string kind, size = "128x128";
    std::vector<float> drift = {1.5f, 0.6f};
    float turn = 0;
};

struct SynthesisOptions {
    VideoOutput out;
    int history = 1, patch = 33;
    float guide_weight = 0.5f, history_weight = 1, motion = 24;
    bool still = false;
};

struct TransferOptions {
    SynthesisOptions synthesis;
    std::string texture, onto;
    float guide_blur = 4, flow_blur = 4;
};

struct EnlargeOptions {
    SynthesisOptions synthesis;
    std::string example, guide, size, volume, mesh;
    float voxel = 0.01f;
};

// ------------------------------------------------------------------------------------------------------ files --------

struct PictureSize {
    int width = 0, height = 0; // pixels
};

PictureSize parse_size(const std::string& text)
{
    int width = 0, height = 0, end = 0;
    constexpr int kLargest = 4096;
    const int read = std::sscanf(text.c_str(), "%dx%d%n", &width, &height, &end);
    if (read != 2 || end != static_cast<int>(text.size()) || width < 16 || height < 16 || width > kLargest ||
        height > kLargest)
        bad_input("--size {}: write WIDTHxHEIGHT in pixels, from 16 to {}, such as 320x200", text, kLargest);
    return {width, height};
}

std::optional<FrameRange> range_of(const std::string& frames)
{
    if (frames.empty()) return {};
    const FrameRange range = parse_frame_range(frames);
    if (range.step != 1)
        bad_input("--frames {}: motion is followed from frame to frame, so none may be left out", frames);
    return range;
}

void check_output(const std::string& option, const std::string& pattern, const std::vector<std::string>& endings,
                  const FrameRange& range, int first_made, bool force)
{
    if (!has_frame_pattern(pattern)) bad_input("{} {} has no frame number pattern such as ####", option, pattern);
    const auto fits = [&](const std::string& ending) { return pattern.ends_with(ending); };
    if (std::none_of(endings.begin(), endings.end(), fits))
        bad_input("{} {} must end in {}", option, pattern, fmt::join(endings, " or "));
    for (int frame = first_made; frame <= range.last && !force; ++frame)
        if (file_exists(frame_path(pattern, frame)))
            bad_input("{} exists already; add --force to overwrite it", frame_path(pattern, frame));
}

void expect_other_files(const std::string& output, const std::string& input)
{
    if (output == input) bad_input("{} is the input; write to other files", output);
}

void check_pictures(const VideoOutput& out, const FrameRange& range, int first_made)
{
    check_output("--output", out.pattern, {".png", ".exr", ".jpg"}, range, first_made, out.force);
}

// Runs make(frame) for each frame in order, the frames before `first_made` are there already, and reports progress.
void make_frames(const std::string& name, const VideoOutput& out, const FrameRange& range, int first_made,
                 const std::function<void(int)>& make)
{
    catch_interrupts();
    const bool watched = Progress::suitable() == Progress::Style::terminal;
    Progress progress(watched ? Progress::Style::terminal : Progress::Style::quiet);
    progress.stage_starts(name, range, range.last - first_made + 1);
    for (int frame = first_made; frame <= range.last; ++frame) {
        check_interrupt();
        FrameReport report;
        report.times.measure("make", [&] { make(frame); });
        progress.frame_done(frame, report);
    }
    progress.stage_ends();
    const int count = range.last - first_made + 1;
    fmt::print("wrote {} frame{} to {}\n", count, count == 1 ? "" : "s", printable(out.pattern));
}

// A command that was stopped goes on after the last frame that it wrote: a hidden file beside the frames has what the
// next one depends on, until all are there. --force begins anew.
class UnfinishedVideo {
  public:
    // `made_from`: all options and input files.
    UnfinishedVideo(const VideoOutput& out, const FrameRange& range, const std::string& made_from)
        : fingerprint_(fingerprint_of(
              fmt::format("{} {} {} {}\n{}", out.pattern, range.first, range.last, out.seed, made_from))),
          next_(range.first)
    {
        const std::filesystem::path pattern(out.pattern);
        const std::string folder = pattern.has_parent_path() ? pattern.parent_path().string() : ".",
                          name = pattern.filename().string(), own = "." + name + ".state";
        path_ = folder + "/" + own;
        remove_leftovers(folder, own);
        if (const std::string frames = name.substr(0, name.find('#')); !frames.empty())
            remove_leftovers(folder, frames);
        try {
            continues_ = !out.force && read_state(path_, fingerprint_, state_);
        } catch (const StateError&) {
            bad_input("{} is damaged, from which this run would go on; add --force to begin anew", path_);
        }
        const int done = continues_ ? static_cast<int>(state_.numbers["done"]) : range.first - 1;
        for (int frame = range.first; frame <= done; ++frame) continues_ &= file_exists(frame_path(out.pattern, frame));
        if (continues_) next_ = done + 1;
    }
    int next() const { return next_; }
    // The first frame of which no file may exist: the run may have been stopped while it wrote one.
    int first_free() const { return continues_ ? next_ + 1 : next_; }
    void begin(GridSynthesis& synthesis) const
    {
        if (continues_ && !state_.fields.empty()) return synthesis.restore(state_);
        done(next_ - 1, synthesis);
    }
    // A frame is complete.
    void done(int frame, const GridSynthesis& synthesis) const
    {
        StateFile state = synthesis.save();
        state.numbers["done"] = frame;
        write_state(path_, fingerprint_, state);
    }
    void finished() const
    {
        std::error_code ignored;
        std::filesystem::remove(path_, ignored);
    }

  private:
    std::string path_, fingerprint_;
    StateFile state_;
    bool continues_ = false;
    int next_;
};

// What a video or a picture is, for comparison.
std::string signature_of(const std::string& path)
{
    if (path.empty()) return "none\n";
    return has_frame_pattern(path) ? FilesOfFrames(path, path).signature("video")
                                   : fmt::format("video: {}\n", file_signature(path));
}

// ---------------------------------------------------------------------------------------------------- synthesis ------

// Colours are compared and mixed as they are seen, with dark tones spread by the square root.
void change_tones(Raster& frame, bool seen)
{
    for (float& v : frame.values) v = seen ? std::sqrt(std::max(v, 0.0f)) : std::max(v, 0.0f) * std::max(v, 0.0f);
}

std::string made_from(const SynthesisOptions& o)
{
    return fmt::format("{} {} {} {} {} {}\n", o.history, o.patch, o.guide_weight, o.history_weight, o.motion, o.still);
}

std::vector<int> square_sizes(int patch, const Video& video, const std::string& path)
{
    const Raster& frame = video.frames.front();
    constexpr int kSmallest = 5;
    if (std::min(frame.width, frame.height) < patch)
        bad_input("{} has {} x {} pixels, smaller than a square of {}; use a larger video, or --patch", path,
                  frame.width, frame.height, patch);
    std::vector<int> sizes;
    for (int size = patch; size >= kSmallest && sizes.size() < 3; size = (size / 2) | 1) sizes.push_back(size);
    return sizes;
}

std::unique_ptr<GridSynthesis> start_synthesis(const Video& video, const std::string& path,
                                               const SynthesisOptions& options)
{
    const Raster& first = video.frames.front();
    GridSynthesisParams params;
    params.sizes = square_sizes(options.patch, video, path);
    params.history_weight = options.history_weight, params.guide_weight = options.guide_weight;
    params.seed = options.out.seed;
    TexelLayout layout;
    layout.channels = first.channels, layout.history = options.history, layout.guided = !first.guide.empty();
    try {
        return std::make_unique<GridSynthesis>(
            video_patches(video, {.history = options.history, .smoothing = options.motion, .still = options.still}),
            layout, params);
    } catch (const Error& error) {
        throw Error(error.code, fmt::format("{}: {}", path, error.what()));
    }
}

// Smoothed brightness as the guide, so that its second percentile is 0 and its 98th is 1: dark matches dark, and bright
// matches bright.
void guide_by_brightness(Video& video, float blur)
{
    std::vector<float> all;
    for (Raster& frame : video.frames) {
        frame.guide = smoothed(brightness(frame), frame.width, frame.height, blur);
        all.insert(all.end(), frame.guide.begin(), frame.guide.end());
    }
    const auto percentile = [&all](double share) {
        const auto at = all.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(all.size() - 1));
        std::nth_element(all.begin(), at, all.end());
        return *at;
    };
    const float low = percentile(0.02), high = percentile(0.98), scale = high > low ? 1 / (high - low) : 0;
    for (Raster& frame : video.frames)
        for (float& g : frame.guide) g = clamp01((g - low) * scale);
}

// ------------------------------------------------------------------------------------------------- the commands ------

void make_footage(const FootageOptions& options)
{
    using Kind = MadeVideoParams::Kind;
    const std::map<std::string, Kind> kinds = {
        {"ripples", Kind::ripples}, {"fire", Kind::fire}, {"clouds", Kind::clouds}, {"boiling", Kind::boiling}};
    const FrameRange range = range_of(options.out.frames).value_or(FrameRange{1, 48, 1});
    check_pictures(options.out, range, range.first);
    if (options.kind == "boiling" && !options.out.pattern.ends_with(".exr"))
        bad_input("--output {}: boiling has a distance for each of 20 heights, which only .exr can hold",
                  options.out.pattern);
    MadeVideoParams params;
    params.kind = kinds.at(options.kind);
    const PictureSize size = parse_size(options.size);
    params.width = size.width, params.height = size.height, params.frames = range.count(),
    params.seed = options.out.seed;
    params.drift = {options.drift[0], options.drift[1]}, params.turn = options.turn;
    expect_video_fits(options.out.pattern, params.width, params.height, options.kind == "boiling" ? 21 : 3,
                      static_cast<size_t>(range.count()));
    const Video video = make_video(params);
    make_frames("footage", options.out, range, range.first, [&](int frame) {
        write_video_frame(options.out.pattern, frame, video.frames[frame - range.first], video.channels);
    });
}

void transfer(const TransferOptions& options)
{
    const VideoOutput& out = options.synthesis.out;
    for (const std::string* input : {&options.texture, &options.onto}) expect_other_files(out.pattern, *input);
    Video target = read_video(options.onto, range_of(out.frames));
    const FrameRange range{target.first, target.first + static_cast<int>(target.frames.size()) - 1, 1};
    const UnfinishedVideo unfinished(out, range,
                                     fmt::format("{}{} {}\n{}{}", made_from(options.synthesis), options.guide_blur,
                                                 options.flow_blur, signature_of(options.texture),
                                                 signature_of(options.onto)));
    check_pictures(out, range, unfinished.first_free());
    Video texture = read_video(options.texture);
    for (Video* video : {&texture, &target}) {
        for (Raster& frame : video->frames) change_tones(frame, true);
        guide_by_brightness(*video, options.guide_blur);
    }
    const std::vector<OpticalFlow> flows = flows_back(target, options.flow_blur);
    const std::unique_ptr<GridSynthesis> synthesis = start_synthesis(texture, options.texture, options.synthesis);
    square_sizes(options.synthesis.patch, target, options.onto); // which the output is as large as
    unfinished.begin(*synthesis);
    make_frames("transfer", out, range, unfinished.next(), [&](int frame) {
        const size_t i = frame - range.first;
        const Raster& like = target.frames[i];
        Raster made = synthesis->next(like.width, like.height, like.guide, i > 0 ? &flows[i - 1] : nullptr);
        change_tones(made, false);
        write_video_frame(out.pattern, frame, made, {});
        unfinished.done(frame, *synthesis);
    });
    unfinished.finished();
}

// The channels are distances [cells] at successive heights, the lowest first. In the volume y is up, x to the right of
// the picture and z down.
void write_surface(const EnlargeOptions& options, int number, const Raster& frame)
{
    const Vec3i size(frame.width, frame.channels, frame.height);
    const Vec3i edge = Vec3i::Ones(); // of air, which the surface is closed with
    const Topology topology = Topology::covering(-edge, size + edge);
    const auto distances = [&](float unit) {
        Field<float> phi(topology, kBoilingBand * unit);
        for_each_tile(topology, [&](int tile) {
            for (int c = 0; c < kTileCells; ++c) {
                const Vec3i cell = topology.first_cell(tile) + cell_in_tile(c);
                if ((cell.array() >= 0).all() && (cell.array() < size.array()).all())
                    phi.tile(tile)[c] = unit * frame.at(cell.x(), cell.z())[cell.y()];
            }
        });
        return phi;
    };
    if (!options.mesh.empty()) {
        const Box3f box{Vec3f::Zero(), options.voxel * size.cast<float>()};
        write_mesh(frame_path(options.mesh, number), contour(distances(1), options.voxel, box).mesh);
    }
    if (options.volume.empty()) return;
    const Field<float> phi = distances(options.voxel);
    write_fields(frame_path(options.volume, number), {{"surface", &phi, true}}, options.voxel);
}

// The wanted guide of each frame: a picture for all of them, or a sequence.
std::vector<std::vector<float>> wanted_guides(const EnlargeOptions& options, const FrameRange& range, PictureSize& size)
{
    if (options.guide.empty()) return {};
    std::vector<std::vector<float>> guides;
    const auto add = [&](const Raster& frame) {
        guides.push_back(brightness(frame));
        size = {frame.width, frame.height};
    };
    if (has_frame_pattern(options.guide)) {
        const Video video = read_video(options.guide, range);
        for (const Raster& frame : video.frames) add(frame);
    } else
        add(read_video_frame(options.guide));
    return guides;
}

void enlarge(const EnlargeOptions& options)
{
    const VideoOutput& out = options.synthesis.out;
    const FrameRange range = range_of(out.frames).value_or(FrameRange{1, 48, 1});
    check_pictures(out, range, range.last + 1); // the name; the files once the input is known
    expect_other_files(out.pattern, options.example);
    if (options.guide.empty() == options.size.empty())
        bad_input("enlarge: give either --guide, a picture of the size that is wanted, or --size");
    Video example = read_video(options.example);
    const UnfinishedVideo unfinished(out, range,
                                     fmt::format("{}{} {} {} {}\n{}{}", made_from(options.synthesis), options.size,
                                                 options.volume, options.mesh, options.voxel,
                                                 signature_of(options.example), signature_of(options.guide)));
    const int free = unfinished.first_free();
    check_pictures(out, range, free);
    if (!options.volume.empty()) check_output("--volume", options.volume, {".vdb"}, range, free, out.force);
    if (!options.mesh.empty()) check_output("--mesh", options.mesh, {".ply", ".obj"}, range, free, out.force);
    const bool has_guide = !example.frames.front().guide.empty();
    if (has_guide && options.guide.empty())
        bad_input("{} has a channel \"guide\": give the wanted values with --guide", options.example);
    if (!has_guide && !options.guide.empty())
        bad_input("{} has no channel \"guide\" that --guide could be compared with; write it as .exr with one",
                  options.example);
    PictureSize size = options.size.empty() ? PictureSize() : parse_size(options.size);
    const std::vector<std::vector<float>> guides = wanted_guides(options, range, size);
    const bool colors = example.channels.empty();
    if (colors)
        for (Raster& frame : example.frames) change_tones(frame, true);
    if (!colors && !out.pattern.ends_with(".exr"))
        bad_input("--output {}: {} has {} channels, which only .exr can hold", out.pattern, options.example,
                  example.channels.size());
    if (colors && !(options.volume.empty() && options.mesh.empty()))
        bad_input("{} has colours, and a surface needs distances at several heights", options.example);
    if (std::min(size.width, size.height) < options.synthesis.patch)
        bad_input("{} x {} pixels are smaller than a square of {}; use --patch", size.width, size.height,
                  options.synthesis.patch);
    const std::unique_ptr<GridSynthesis> synthesis = start_synthesis(example, options.example, options.synthesis);
    unfinished.begin(*synthesis);
    make_frames("enlarge", out, range, unfinished.next(), [&](int frame) {
        const std::vector<float> none;
        const std::vector<float>& guide =
            guides.empty() ? none : guides[guides.size() == 1 ? 0 : static_cast<size_t>(frame - range.first)];
        Raster made = synthesis->next(size.width, size.height, guide, nullptr);
        if (colors) change_tones(made, false);
        write_video_frame(out.pattern, frame, made, example.channels);
        if (!(options.volume.empty() && options.mesh.empty())) write_surface(options, frame, made);
        unfinished.done(frame, *synthesis);
    });
    unfinished.finished();
}

// --------------------------------------------------------------------------------------------------- the parser ------

void add_output_options(CLI::App* command, VideoOutput& out, int& threads, const std::string& frames_help)
{
    command->add_option("-o,--output", out.pattern, "The frames to write: out.####.png, .exr or .jpg")->required();
    command->add_option("--frames", out.frames, frames_help);
    command->add_option("--seed", out.seed, "Seed of the random numbers; default 1")->check(CLI::Range(0, 1 << 30));
    command->add_flag("--force", out.force, "Overwrite existing files");
    command->add_option("-j,--threads", threads, "Number of threads; default all cores")->check(CLI::Range(1, 1024));
}

void add_synthesis_options(CLI::App* command, SynthesisOptions& options)
{
    command
        ->add_option("--patch", options.patch,
                     "Edge of the squares that are compared [pixels], then half and a quarter of it; default 33, at "
                     "least as large as what is seen in the texture")
        ->check(CLI::Range(5, 129));
    command
        ->add_option("--history", options.history,
                     "How many frames before the current one have to fit too, 0 to 3; default 1")
        ->check(CLI::Range(0, 3));
    command->add_option("--history-weight", options.history_weight, "Their weight against the current frame; default 1")
        ->check(CLI::Range(0.0, 1000.0));
    command->add_option("--guide-weight", options.guide_weight, "Weight of the guide against the texture; default 0.5")
        ->check(CLI::Range(0.0, 1000.0));
    command
        ->add_option("--motion", options.motion,
                     "The example's motion that is larger than this is removed from it [pixels]; default 24")
        ->check(CLI::Range(1.0, 1000.0));
    command->add_flag("--still", options.still, "The example has no large motion: do not look for it");
}

void add_footage_command(CLI::App& app, std::function<void()>& action, int& threads)
{
    CLI::App* command = app.add_subcommand("footage", "Write an example video that is made by code");
    const auto options = std::make_shared<FootageOptions>();
    command->add_option("kind", options->kind, "ripples, fire, clouds or boiling (distances to a surface, as .exr)")
        ->required()
        ->check(CLI::IsMember({"ripples", "fire", "clouds", "boiling"}));
    add_output_options(command, options->out, threads, "Their numbers; default 1-48");
    command->add_option("--size", options->size, "Pixels; default 128x128");
    command->add_option("--drift", options->drift, "Of ripples [pixels/frame], to the right and down; default 1.5 0.6")
        ->expected(2)
        ->check(CLI::Range(-100.0, 100.0));
    command->add_option("--turn", options->turn, "Of ripples about the middle [radians/frame]; default 0")
        ->check(CLI::Range(-1.0, 1.0));
    command->callback([options, &action] { action = [options] { make_footage(*options); }; });
}

void add_transfer_command(CLI::App& app, std::function<void()>& action, int& threads)
{
    CLI::App* command =
        app.add_subcommand("transfer", "Give a video the looks of another: its motion and its light and shade stay");
    const auto options = std::make_shared<TransferOptions>();
    command->add_option("--texture", options->texture, "The looks: an image sequence (clouds.####.png) or a film")
        ->required();
    command->add_option("--onto", options->onto, "The video that gets them")->required();
    add_output_options(command, options->synthesis.out, threads, "Only these frames of the video that gets the looks");
    add_synthesis_options(command, options->synthesis);
    command
        ->add_option("--guide-blur", options->guide_blur,
                     "Light and shade finer than this are not kept [pixels]; default 4")
        ->check(CLI::Range(0.0, 100.0));
    command->add_option("--flow-blur", options->flow_blur, "Nor motion finer than this [pixels]; default 4")
        ->check(CLI::Range(0.0, 100.0));
    command->callback([options, &action] { action = [options] { transfer(*options); }; });
}

void add_enlarge_command(CLI::App& app, std::function<void()>& action, int& threads)
{
    CLI::App* command =
        app.add_subcommand("enlarge", "Continue a small video on a larger plane, with all its channels");
    const auto options = std::make_shared<EnlargeOptions>();
    command->add_option("example", options->example, "An image sequence (boiling.####.exr) or a film")->required();
    add_output_options(command, options->synthesis.out, threads, "Their numbers; default 1-48");
    command->add_option("--guide", options->guide,
                        "A picture, or a sequence, that is compared with the example's channel \"guide\"; the output "
                        "gets its size");
    command->add_option("--size", options->size, "Pixels, for an example without a guide");
    add_synthesis_options(command, options->synthesis);
    command->add_option("--volume", options->volume,
                        "Also write the channels as a level set, out.####.vdb: they are distances, in pixels, at "
                        "successive heights");
    command->add_option("--mesh", options->mesh, "Also write its surface, out.####.ply");
    command->add_option("--voxel", options->voxel, "Size of a pixel in both [metres]; default 0.01")
        ->check(CLI::Range(1e-6, 1e6));
    command->callback([options, &action] { action = [options] { enlarge(*options); }; });
}

} // namespace

void add_video_commands(CLI::App& app, std::function<void()>& action, int& threads)
{
    add_footage_command(app, action, threads);
    add_transfer_command(app, action, threads);
    add_enlarge_command(app, action, threads);
}

} // namespace spindrift
