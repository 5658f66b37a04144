#include "spindrift/cli/ax_command.h"

#include "spindrift/base/error.h"
#include "spindrift/base/interrupt.h"
#include "spindrift/base/parallel.h"
#include "spindrift/base/printable.h"
#include "spindrift/engine/progress.h"
#include "spindrift/expression/volume_files.h"
#include "spindrift/io/atomic_file.h"
#include "spindrift/io/frame_path.h"
#include "spindrift/io/point_edit.h"
#include "spindrift/io/point_file.h"
#include "spindrift/points/attribute_checks.h"

#include <atomic>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <optional>
#include <tbb/task_arena.h>
#include <thread>

namespace spindrift {

namespace {

// ---------------------------------------------------------------------------------------------------- the options

double parse_number(const std::string& option, std::string_view text)
{
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
        bad_input("--set {}: '{}' is not a number", option, text);
    return value;
}

// name=1.5 or name=1,0,0
void add_parameter(const std::string& option, ExpressionParameters& parameters)
{
    const size_t equals = option.find('=');
    if (equals == std::string::npos || equals == 0) bad_input("--set {}: write name=value or name=x,y,z", option);
    std::vector<double> numbers;
    std::string_view rest = std::string_view(option).substr(equals + 1);
    for (size_t comma = 0; comma != std::string_view::npos;) {
        comma = rest.find(',');
        numbers.push_back(parse_number(option, rest.substr(0, comma)));
        if (comma != std::string_view::npos) rest.remove_prefix(comma + 1);
    }
    const std::string name = option.substr(0, equals);
    if (numbers.size() == 1)
        parameters[name] = numbers[0];
    else if (numbers.size() == 3)
        parameters[name] = Vec3d(numbers[0], numbers[1], numbers[2]).cast<float>().eval();
    else
        bad_input("--set {}: a parameter has one number or three", option);
}

// The text of the expression, and its name in error messages.
std::pair<std::string, std::string> read_expression(const std::string& text_or_path)
{
    if (!text_or_path.ends_with(".ax")) return {text_or_path, "expression"};
    try {
        return {read_file(text_or_path), text_or_path};
    } catch (const Error& e) {
        bad_input("{}", e.what());
    }
}

// A file without a frame number in its name counts as frame 1.
std::vector<int> frames_of(const AxOptions& options)
{
    if (!has_frame_pattern(options.in)) {
        if (!options.frames.empty()) bad_input("--frames: {} has no frame number pattern such as ####", options.in);
        if (!file_exists(options.in)) bad_input("there is no file {}", options.in);
        return {1};
    }
    if (!has_frame_pattern(options.out))
        bad_input("--out {} has no frame number pattern such as ####, but --in has one", options.out);
    std::vector<int> frames = frames_on_disk(options.in);
    if (frames.empty()) bad_input("no file matches {}", options.in);
    if (options.frames.empty()) return frames;
    const FrameRange range = parse_frame_range(options.frames);
    std::vector<int> wanted;
    for (int frame = range.first; frame <= range.last; frame += range.step) {
        if (!std::binary_search(frames.begin(), frames.end(), frame))
            bad_input("--frames {}: there is no file {}", options.frames, frame_path(options.in, frame));
        wanted.push_back(frame);
    }
    return wanted;
}

void check_outputs(const AxOptions& options, const std::vector<int>& frames)
{
    for (const std::string* path : {&options.in, &options.out})
        if (!path->ends_with(".vdb")) bad_input("{}: expressions work on VDB files, whose names end in .vdb", *path);
    for (const int frame : frames) {
        const std::string out = frame_path(options.out, frame);
        std::error_code ignored;
        if (std::filesystem::equivalent(frame_path(options.in, frame), out, ignored))
            bad_input("{} is the input; write to another file", out);
        if (!options.force && file_exists(out)) bad_input("{} exists already; add --force to overwrite it", out);
    }
}

// ----------------------------------------------------------------------------------------------------------- frames --

void warn(const std::string& text) { std::fputs(("spindrift: warning: " + printable(text) + "\n").c_str(), stderr); }

// One expression, compiled once for all frames.
class FrameWork {
  public:
    FrameWork(const AxOptions& options, bool on_points) : options_(options)
    {
        ExpressionOptions chosen;
        chosen.loop_limit = options.loop_limit;
        for (const std::string& option : options.parameters) add_parameter(option, chosen.parameters);
        const auto [text, label] = read_expression(options.expression);
        if (on_points)
            points_.emplace(label, text, chosen);
        else
            volumes_.emplace(label, text, chosen);
    }

    void run(int frame) const
    {
        const std::string in = frame_path(options_.in, frame), out = frame_path(options_.out, frame);
        ExpressionContext context;
        context.frame = frame;
        context.fps = options_.fps;
        context.dt = 1 / options_.fps;
        context.time = (frame - 1) / options_.fps;
        const Kernel& kernel = points_ ? points_->kernel() : volumes_->kernel();
        if (!kernel.volumes().empty()) {
            add_volumes(in, context);
            if (!options_.volumes.empty()) add_volumes(frame_path(options_.volumes, frame), context);
        }
        points_ ? run_points(in, out, context) : run_on_volumes(*volumes_, in, out, context);
    }

  private:
    void run_points(const std::string& in, const std::string& out, const ExpressionContext& context) const
    {
        const std::unique_ptr<PointEdit> file = open(in);
        expect_finite(in, file->particles);
        std::set<std::string> read, written;
        for (const KernelName& attribute : points_->kernel().attributes()) {
            read.insert(attribute.name);
            if (attribute.written) written.insert(attribute.name);
        }
        for (const KernelName& attribute : points_->kernel().neighbour_attributes()) read.insert(attribute.name);
        file->expect_usable(read, written);
        std::vector<uint8_t> keep;
        points_->run(file->particles, context, keep);
        for (const auto& [name, array] : file->particles.attributes)
            if (const size_t bad = count_non_finite(array))
                warn(fmt::format(
                    "{}: the attribute \"{}\" of {} of {} points is not finite and is written unchanged; set "
                    "it where they are created, or in the expression with isfinite()",
                    in, name, bad, file->particles.size()));
        file->write(out, written, keep);
    }

    static std::unique_ptr<PointEdit> open(const std::string& path)
    {
        try {
            return std::make_unique<PointEdit>(path);
        } catch (const Error& e) {
            bad_input("{}", e.what()); // report as bad input: the user named the file
        }
    }

    const AxOptions& options_;
    std::optional<Expression> points_;
    std::optional<VolumeExpression> volumes_;
};

// Runs as many frames concurrently as there are threads, one thread each. Fewer frames run one by one on all threads.
void for_each_frame(const std::vector<int>& frames, const std::function<void(int)>& body)
{
    const size_t threads = thread_count();
    if (frames.size() < 2 * threads) {
        for (const int frame : frames) body(frame);
        return;
    }
    std::atomic<size_t> next = 0;
    std::mutex mutex;
    std::exception_ptr thrown; // of the first frame that failed; frames already started are finished
    size_t first_failed = frames.size();
    const auto work = [&] {
        tbb::task_arena alone(1);
        for (size_t i; (i = next++) < frames.size();) try {
                check_interrupt();
                alone.execute([&] { body(frames[i]); });
            } catch (...) {
                next = frames.size(); // stops the other workers after their current frame
                const std::scoped_lock lock(mutex);
                if (i < first_failed) first_failed = i, thrown = std::current_exception();
            }
    };
    std::vector<std::jthread> workers;
    for (size_t t = 0; t < threads; ++t) workers.emplace_back(work);
    workers.clear(); // joins the threads
    if (thrown) std::rethrow_exception(thrown);
}

} // namespace

AxOptions::AxOptions() : loop_limit(kDefaultLoopLimit) {}

void run_ax_command(const AxOptions& options)
{
    const std::vector<int> frames = frames_of(options);
    check_outputs(options, frames);
    const bool on_points =
        options.target.empty() ? has_points(frame_path(options.in, frames.front())) : options.target == "points";
    const FrameWork work(options, on_points);
    catch_interrupts();
    const bool watched = Progress::suitable() == Progress::Style::terminal;
    Progress progress(watched ? Progress::Style::terminal : Progress::Style::quiet);
    const int count = static_cast<int>(frames.size());
    progress.stage_starts("ax", {frames.back() - count + 1, frames.back()}, count);
    for_each_frame(frames, [&](int frame) {
        try {
            FrameReport report;
            report.times.measure("run", [&] { work.run(frame); });
            progress.frame_done(frame, report);
        } catch (const Error& e) {
            const std::string which = frames.size() > 1 ? fmt::format("{}: ", frame_path(options.in, frame)) : "";
            throw Error(e.code, which + e.what());
        }
    });
    progress.stage_ends();
    fmt::print("wrote {} frame{} of {} to {}\n", frames.size(), frames.size() == 1 ? "" : "s",
               on_points ? "points" : "volumes", printable(options.out));
}

} // namespace spindrift
