// Reports the progress of a run: one line with the time left on a terminal, plain lines when piped, JSON lines for
// programs.
#pragma once

#include "spindrift/engine/stage.h"

#include <condition_variable>
#include <mutex>
#include <thread>

namespace spindrift {

// Predicts the time of the remaining frames from those that are done. Simulations slow down as liquid spreads and smoke
// grows, so the mean of all frames underestimates. This extrapolates a line fitted to the later half of the frames,
// with a slope reduced by two standard errors and never negative.
class TimeLeft {
  public:
    void add(double seconds) { frames_.push_back(seconds); }
    // [s]; zero if no frame is done.
    double of(int frames) const;

  private:
    std::vector<double> frames_; // [s]
};

class Progress {
  public:
    enum class Style { terminal, plain, json, quiet };
    explicit Progress(Style style);
    virtual ~Progress();
    Progress(const Progress&) = delete;
    // `terminal` if standard output is a terminal, else `plain`.
    static Style suitable();

    // `to_do` is the number of frames that will be reported.
    virtual void stage_starts(const std::string& stage, const FrameRange& range, int to_do);
    virtual void frame_done(int frame, const FrameReport& report);
    virtual void stage_ends();
    // Runs `work`; if it takes longer than a second, reports what is being done.
    template <class Work> void busy_with(const std::string& what, const Work& work)
    {
        const struct Ends {
            Progress& progress;
            ~Ends() { progress.finish(); }
        } ends{*this};
        stage_starts(what, {1, 1}, -1);
        work();
    }
    // Prints a line of text, or a message object in JSON.
    virtual void say(const std::string& text);
    // The same for warnings; these go to standard error even if progress is quiet.
    virtual void warn(const std::string& text);

  private:
    using Clock = std::chrono::steady_clock;
    void refresh_line(const std::stop_token& stop);
    std::string unfinished_line() const;
    void print(const std::string& line);
    void finish();
    double seconds_left(double spent_on_frame) const;

    const Style style_;
    std::mutex mutex_; // guards all below, which the ticker reads
    std::condition_variable_any woken_;
    std::string stage_, numbers_;
    bool running_ = false;
    int next_ = 0, last_ = 0, step_ = 1, done_ = 0, to_do_ = 0;
    TimeLeft time_left_;
    Clock::time_point start_, frame_start_, last_line_;
    std::jthread ticker_; // last: stops before the members that it reads are destroyed
};

// "12 s", "3 min 05 s", "2 h 10 min".
std::string duration_text(double seconds);
// "512 B", "3.4 MB", "1.2 GB".
std::string size_text(double bytes);
std::string json_string(const std::string& text);

} // namespace spindrift
