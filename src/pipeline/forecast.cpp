#include "pipeline/forecast.h"

#include "base/error.h"

#include <algorithm>
#include <ctime>
#include <filesystem>

namespace spindrift {

namespace {

namespace fs = std::filesystem;

// Of a rehearsal: cells times frames that it has about, and how long a stage of it may take, all threads together [s].
// A grid of a few tiles says little about a large one, so that small shots are hardly made coarser.
constexpr double kCellFrames = 1e7, kSeconds = 15;
constexpr double kLeastCoarser = 1.25, kMostCoarser = 256;

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

struct OutOfTime {};

// Writes nothing, and remembers what stages report.
class Recorder : public Progress {
  public:
    Recorder() : Progress(Style::quiet) {}
    void stage_starts(const std::string&, const FrameRange&, int) override {}
    void frame_done(int frame, const FrameReport& report) override
    {
        for (const auto& [name, value] : report.numbers) most[name] = std::max(most[name], value);
        seconds += report.times.total();
        last = frame;
        if (static_cast<double>(std::clock() - start_) > kSeconds * CLOCKS_PER_SEC) throw OutOfTime();
    }
    void stage_ends() override {}
    void say(const std::string&) override {}
    void warn(const std::string&) override {}

    std::map<std::string, double> most;
    double seconds = 0;
    std::optional<int> last;

  private:
    std::clock_t start_ = std::clock(); // of the process, whatever else the machine does
};

double bytes_in(const std::string& folder)
{
    double bytes = 0;
    std::error_code error;
    for (const auto& entry : fs::recursive_directory_iterator(folder, error))
        if (entry.is_regular_file(error)) bytes += static_cast<double>(entry.file_size(error));
    return bytes;
}

// One run, coarser for each stage than its coarseness(k) by a factor.
Forecast run_coarsely(ShotOptions options, const std::vector<const Stage*>& stages, const FrameRange& frames, double k,
                      double factor)
{
    const TemporaryFolder folder;
    options.folder = folder.path(), options.rehearsal = true;
    for (const Stage* stage : stages)
        for (const std::string& set : stage->coarser(factor * stage->coarseness(k))) options.overrides.push_back(set);
    Forecast found;
    int last = frames.last;
    for (const Stage* stage : stages) {
        Recorder recorder;
        const bool one_frame = stage->rehearsal() == Stage::Rehearsal::one_frame;
        options.only_stage = stage->name();
        options.frames = FrameRange{one_frame ? last : frames.first, last};
        try {
            Shot(options).run(recorder);
        } catch (const OutOfTime&) {
        } catch (const Error& error) {
            if (error.code == ExitCode::interrupted) throw;
            break; // coarsely it cannot be done, and nothing that reads it either
        } catch (const std::bad_alloc&) {
            break;
        }
        if (!recorder.last) break;
        last = *recorder.last;
        const double share = frames.count() / (one_frame ? 1.0 : last - frames.first + 1.0);
        found[stage->name()] = {recorder.most, share * bytes_in(folder.path() + "/" + stage->name()),
                                share * recorder.seconds};
    }
    return found;
}

} // namespace

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

Forecast rehearse(ShotOptions options, const std::vector<const Stage*>& stages, const FrameRange& frames)
{
    double cells = 0;
    for (const Stage* stage : stages) cells = std::max(cells, stage->estimate().cells);
    const double k = std::clamp(std::cbrt(cells * frames.count() / kCellFrames), kLeastCoarser, kMostCoarser);
    const Forecast coarse = run_coarsely(options, stages, frames, k, 2);
    const Forecast fine = run_coarsely(options, stages, frames, k, 1);
    Forecast forecast;
    for (const Stage* stage : stages) {
        const auto f = fine.find(stage->name()), c = coarse.find(stage->name());
        if (f == fine.end() || c == coarse.end()) continue;
        const double k1 = stage->coarseness(k);
        const Growth growth = stage->growth();
        const bool volume = growth.most == 3, with_margins = volume && growth.least < 3;
        Foreseen& foreseen = forecast[stage->name()];
        for (const auto& [name, value] : f->second.most) {
            const auto other = c->second.most.find(name);
            const double before = other == c->second.most.end() ? 0 : other->second;
            foreseen.most[name] =
                volume ? extrapolated_volume(value, before, k1) : extrapolated(value, before, k1, growth);
        }
        foreseen.disk = with_margins ? extrapolated_volume(f->second.disk, c->second.disk, k1)
                                     : extrapolated(f->second.disk, c->second.disk, k1, growth);
        // Steps become shorter with the cells.
        foreseen.seconds = extrapolated(f->second.seconds, c->second.seconds, k1, {growth.least, growth.most + 1});
    }
    return forecast;
}

} // namespace spindrift
