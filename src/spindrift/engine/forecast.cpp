#include "spindrift/engine/forecast.h"

#include "spindrift/base/child_process.h"
#include "spindrift/base/error.h"
#include "spindrift/base/interrupt.h"
#include "spindrift/base/memory.h"
#include "spindrift/base/parallel.h"
#include "spindrift/engine/cache.h"

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <sstream>

namespace spindrift {

namespace {

namespace fs = std::filesystem;

// Target number of cells times frames of a rehearsal, and CPU time that a stage may take, all threads together [s]. A
// grid of a few tiles predicts little about a large one, so small shots are hardly coarsened.
constexpr double kCellFrames = 1e7, kSeconds = 15, kSecondsCoarse = 5;
constexpr double kLeastCoarser = 1.25, kMostCoarser = 256;
// Multiple of that time after which a frame is not completed.
constexpr double kPatience = 2;
constexpr const char* kCutShort = "cut_short"; // a number of a stage that could not complete the frame after the last

class TemporaryFolder {
  public:
    TemporaryFolder()
    {
        std::string pattern = (fs::temp_directory_path() / "spindrift_rehearsal_XXXXXX").string();
        if (!::mkdtemp(pattern.data())) fail("cannot make a temporary folder {}", pattern);
        path_ = pattern;
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    ~TemporaryFolder()
    {
        std::error_code ignored;
        fs::remove_all(path_, ignored);
    }
    const std::string& path() const { return path_; }

  private:
    std::string path_;
};

// Without the record: it has a few kilobytes for any number of frames, and these would be multiplied along with them.
double bytes_in(const std::string& folder)
{
    double bytes = 0;
    std::error_code error;
    for (const auto& entry : fs::recursive_directory_iterator(folder, error))
        if (entry.is_regular_file(error) && entry.path().filename() != StageCache::kRecord)
            bytes += static_cast<double>(entry.file_size(error));
    return bytes;
}

// Totals of a stage up to a frame: the maximum of each number, all its files [bytes] and the time [s].
struct Reached {
    int frame = 0;
    std::map<std::string, double> most;
    double disk = 0, seconds = 0;
};

struct Rehearsed {
    std::vector<Reached> frames;
    // Memory of the process [bytes]: the peak of the run, what is still held after it, and the peak including process
    // exit, where libraries clean up.
    double memory = 0, kept = 0, whole = 0;
    bool cut = false; // in the first frame already, so that there are none
};
using Run = std::map<std::string, Rehearsed>; // by stage name

// The output of rehearse_stage(): a line per frame, then one for the memory.
//     frame 12 disk 34567 seconds 0.12 particles 1000 tiles 20
//     memory 4000000 kept 3000000
// A last frame that is said again with cut_short 1 was followed by one that took too long; without any frame there is
// only a line "cut_short 1".
Rehearsed read_rehearsal(const std::string& text)
{
    Rehearsed rehearsed;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string name;
        double value = 0;
        Reached now = rehearsed.frames.empty() ? Reached() : rehearsed.frames.back();
        while (words >> name >> value) {
            if (name == "memory")
                rehearsed.memory = value;
            else if (name == kCutShort && rehearsed.frames.empty())
                rehearsed.cut = true;
            else if (name == "kept")
                rehearsed.kept = value;
            else if (name == "frame")
                now.frame = static_cast<int>(value);
            else if (name == "disk")
                now.disk = value;
            else if (name == "seconds")
                now.seconds += value;
            else
                now.most[name] = std::max(now.most[name], value);
        }
        if (!line.starts_with("frame")) continue;
        if (now.most.contains(kCutShort)) rehearsed.frames.pop_back(); // said once more
        rehearsed.frames.push_back(std::move(now));
    }
    return rehearsed;
}

// Writes those lines; throws OutOfTime at the end of the frame in which the time limit is reached.
class Recorder : public Progress {
  public:
    struct OutOfTime {};

    Recorder(std::string folder, double seconds) : Progress(Style::quiet), folder_(std::move(folder)), time_(seconds) {}
    void stage_starts(const std::string&, const FrameRange&, int) override {}
    void frame_done(int frame, const FrameReport& report) override
    {
        fmt::print("frame {} disk {:.0f} seconds {}", frame, bytes_in(folder_), report.times.total());
        for (const auto& [name, value] : report.numbers) fmt::print(" {} {}", name, value);
        fmt::print("\n");
        ++frames_, last_frame_ = frame;
        if (out_of_time()) throw OutOfTime();
    }
    // By the CPU time of this process, which is independent of the load of the machine.
    bool out_of_time() const { return static_cast<double>(std::clock()) > time_ * CLOCKS_PER_SEC; }
    // The frame after the last was not completed.
    void frame_cut() const
    {
        if (frames_ > 0) fmt::print("frame {} disk {:.0f} ", last_frame_, bytes_in(folder_));
        fmt::print("{} 1\n", kCutShort);
    }
    void stage_ends() override {}
    void say(const std::string&) override {}
    void warn(const std::string&) override {}

  private:
    std::string folder_;
    double time_; // CPU time limit of the stage, all threads together [s]
    int frames_ = 0, last_frame_ = 0;
};

// The first, a middle and the last frame.
FrameRange some_frames(const FrameRange& all)
{
    const int half = (all.last - all.first) / 2;
    if (half == 0) return {all.last, all.last};
    return {all.last - 2 * half, all.last, half};
}

// Runs all stages once, each coarsened by `factor` times its coarseness(k), each in a process of its own.
Run run_coarsely(const ShotOptions& options, const std::vector<const Stage*>& stages, const FrameRange& frames,
                 double k, double factor)
{
    const TemporaryFolder folder;
    std::vector<std::string> always = {"rehearse", fs::absolute(options.scene).string(), "-o", folder.path(),
                                       "-j",       std::to_string(thread_count())};
    for (const std::string& set : options.overrides) always.push_back("--set=" + set);
    for (const Stage* stage : stages)
        for (const std::string& set : stage->coarser(factor * stage->coarseness(k))) always.push_back("--set=" + set);
    Run run;
    FrameRange reached = frames;
    for (const Stage* stage : stages) {
        const bool all = stage->rehearsal() == Stage::Rehearsal::all_frames;
        const FrameRange wanted = all ? reached : some_frames(reached);
        std::vector<std::string> command = always;
        for (const std::string& word : {std::string("--stage"), stage->name(), std::string("--seconds"),
                                        std::to_string(factor > 1 ? kSecondsCoarse : kSeconds), std::string("--frames"),
                                        fmt::format("{}-{}x{}", wanted.first, wanted.last, wanted.step)})
            command.push_back(word);
        const ProgramResult rehearsal = run_this_program(command);
        Rehearsed found = read_rehearsal(rehearsal.output);
        found.whole = rehearsal.memory;
        if (found.frames.empty()) { // cannot run this coarse, or not in time, so neither can its readers
            if (found.cut) run[stage->name()] = std::move(found);
            break;
        }
        if (all) { // complete, including files written at the end
            reached.last = found.frames.back().frame;
            found.frames.back().disk = bytes_in(folder.path() + "/" + stage->name());
        } else if (found.frames.back().frame < wanted.last) {
            reached.first = reached.last = found.frames.back().frame;
        }
        run[stage->name()] = std::move(found);
    }
    return run;
}

// Disk space of all frames of a stage that ran only some of them, interpolated linearly in between.
double disk_between(const std::vector<Reached>& some, const FrameRange& frames)
{
    double sum = 0, before = 0;
    std::vector<double> each;
    for (const Reached& at : some) each.push_back(at.disk - std::exchange(before, at.disk));
    for (size_t i = 0; i + 1 < each.size(); ++i) sum += 0.5 * (each[i] + each[i + 1]);
    return frames.count() * (each.size() > 1 ? sum / static_cast<double>(each.size() - 1) : each[0]);
}

// The totals that a stage would have reached after all frames. Where the run was cut short, extrapolates with the
// growth of the coarser run; if that was cut short too, its last frame stands for those that follow.
Reached completed(const Rehearsed& run, const Rehearsed& coarser, const FrameRange& frames, bool all_frames)
{
    Reached end = run.frames.back();
    if (!all_frames) {
        end.disk = disk_between(run.frames, frames);
        end.seconds *= static_cast<double>(frames.count()) / static_cast<double>(run.frames.size());
        return end;
    }
    const auto same = std::ranges::find(coarser.frames, end.frame, &Reached::frame);
    if (same != coarser.frames.end()) {
        const Reached& last = coarser.frames.back();
        const auto growth = [](double from, double to) { return from > 0 ? to / from : 1; };
        for (auto& [name, value] : end.most)
            if (const auto then = same->most.find(name); then != same->most.end())
                value *= growth(then->second, last.most.at(name));
        end.disk *= growth(same->disk, last.disk), end.seconds *= growth(same->seconds, last.seconds);
        end.frame = last.frame;
    }
    const double done = end.frame - frames.first + 1;
    end.disk *= frames.count() / done, end.seconds *= frames.count() / done;
    return end;
}

} // namespace

bool is_cut_short(const Foreseen& foreseen) { return foreseen.number(kCutShort) > 0; }

double extrapolated(double fine, double coarse, double k1, const Growth& growth)
{
    if (!(fine > 0)) return 0;
    const double power = coarse > 0 ? std::log2(fine / coarse) : growth.most;
    return fine * std::pow(k1, std::clamp(power, growth.least, growth.most));
}

double extrapolated_volume(double fine, double coarse, double k1)
{
    if (!(fine > 0)) return 0;
    // (a / k + b)^3
    const double a = 2 * k1 * (std::cbrt(fine) - std::cbrt(coarse)), b = std::cbrt(fine) - a / k1;
    return std::clamp(std::pow(a + b, 3.0), fine, fine * std::pow(k1, 3.0));
}

void rehearse_stage(ShotOptions options, const StageKinds& kinds, double seconds)
{
    options.rehearsal = true;
    Recorder recorder(options.folder + "/" + options.only, seconds);
    Shot shot(options, kinds);
    interrupt_after(kPatience * seconds);
    try {
        shot.run(recorder);
    } catch (const Recorder::OutOfTime&) {
    } catch (const Error& error) {
        if (error.code != ExitCode::interrupted || !recorder.out_of_time()) throw;
        recorder.frame_cut();
    }
    fmt::print("memory {:.0f} kept {:.0f}\n", peak_memory(), held_memory());
}

Forecast rehearse(const ShotOptions& options, const std::vector<const Stage*>& stages, const FrameRange& frames)
{
    double cells = 0;
    for (const Stage* stage : stages) cells = std::max(cells, stage->estimate().cells);
    const double k = std::clamp(std::cbrt(cells * frames.count() / kCellFrames), kLeastCoarser, kMostCoarser);
    const Run coarse = run_coarsely(options, stages, frames, k, 2);
    const Run fine = run_coarsely(options, stages, frames, k, 1);
    Forecast forecast, shown, shown_coarsely; // at the scene's resolution, and in both runs
    for (const Stage* stage : stages) {
        const auto f = fine.find(stage->name()), c = coarse.find(stage->name());
        if ((f != fine.end() && f->second.cut) || (c != coarse.end() && c->second.cut)) {
            const Estimate rough = stage->estimate();
            forecast[stage->name()] = {{{kCutShort, 1}}, rough.disk, rough.memory + held_memory(), 0};
            continue;
        }
        if (f == fine.end() || c == coarse.end()) continue;
        const bool all_frames = stage->rehearsal() == Stage::Rehearsal::all_frames;
        const Reached at = completed(f->second, c->second, frames, all_frames);
        const Reached before = completed(c->second, c->second, frames, all_frames);
        shown[stage->name()].most = f->second.frames.back().most;
        shown_coarsely[stage->name()].most = c->second.frames.back().most;
        const Stage::Measure lead = stage->follows();
        if (const auto leader = forecast.find(lead.stage); leader != forecast.end()) {
            const double there = leader->second.number(lead.number), then = shown[lead.stage].number(lead.number);
            const double share = then > 0 ? there / then : 1;
            Foreseen& foreseen = forecast[stage->name()];
            foreseen = {at.most, share * at.disk, 0, share * at.seconds};
            for (auto& [name, value] : foreseen.most) value *= share;
            continue;
        }
        const double k1 = stage->coarseness(k);
        const Growth growth = stage->growth();
        const bool volume = growth.most == 3, with_margins = volume && growth.least < 3;
        Foreseen& foreseen = forecast[stage->name()];
        for (const auto& [name, value] : at.most) {
            const auto other = before.most.find(name);
            const double less = other == before.most.end() ? 0 : other->second;
            if (value == less) // does not depend on the resolution
                foreseen.most[name] = value;
            else
                foreseen.most[name] =
                    volume ? extrapolated_volume(value, less, k1) : extrapolated(value, less, k1, growth);
        }
        foreseen.disk = with_margins ? extrapolated_volume(at.disk, before.disk, k1)
                                     : extrapolated(at.disk, before.disk, k1, growth);
        // If a crowd was cut short, the files that it writes at the end are missing: use the estimate instead.
        if (k1 == 1 && all_frames && f->second.frames.back().frame < frames.last)
            foreseen.disk = stage->estimate().disk;
        // Time steps shrink with the cell size: one more power of the resolution.
        foreseen.seconds = extrapolated(at.seconds, before.seconds, k1, {growth.least, growth.most + 1});
    }
    for (const Stage* stage : stages) {
        const auto foreseen = forecast.find(stage->name());
        if (foreseen == forecast.end() || !shown.contains(stage->name())) continue;
        const Rehearsed &f = fine.at(stage->name()), &c = coarse.at(stage->name());
        // Start from the measured memory of the finer run and add the growth that the stage predicts from its numbers,
        // scaled by how well that prediction matched the measured difference between the two runs. Differences within
        // the noise are ignored.
        constexpr double kNoise = 1e7; // [bytes]
        const double said = stage->memory(shown), needed = stage->memory(forecast);
        const double ratio = (f.memory - c.memory + kNoise) / (said - stage->memory(shown_coarsely) + kNoise);
        const double memory = f.memory + std::clamp(ratio, 0.5, 2.0) * (needed - said);
        foreseen->second.memory = std::max({memory, f.whole, f.kept + stage->memory_of_helpers()});
    }
    return forecast;
}

} // namespace spindrift
