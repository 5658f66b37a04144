// Tells how a run is going: a line with the time left on a terminal, plain lines when piped, JSON lines for machines.
#pragma once

#include "spindrift/engine/stage.h"

#include <condition_variable>
#include <mutex>
#include <thread>

namespace spindrift {

// How long frames still to come will take, from those that are done. Simulations get slower as liquid spreads and smoke
// grows, so that the mean of all frames says too little: this is a line through the later half of them, which rises by
// what the frames are sure to tell, and never falls.
class TimeLeft {
  public:
    void add(double seconds) { frames_.push_back(seconds); }
    // [s]; zero if nothing is known.
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
    // Terminal if standard output is one.
    static Style suitable();

    // `to_do` is the number of frames that will be reported.
    virtual void stage_starts(const std::string& stage, const FrameRange& range, int to_do);
    virtual void frame_done(int frame, const FrameReport& report);
    virtual void stage_ends();
    // While `work` runs, says after a second what takes the time.
    template <class Work> void busy_with(const std::string& what, const Work& work)
    {
        const struct Ends {
            Progress& progress;
            ~Ends() { progress.finish(); }
        } ends{*this};
        stage_starts(what, {1, 1}, -1);
        work();
    }
    // A line of text for people, a message object for machines.
    virtual void say(const std::string& text);
    // The same for what may not be as it was meant; said on standard error even if progress is quiet.
    virtual void warn(const std::string& text);

  private:
    using Clock = std::chrono::steady_clock;
    void tell_now_and_then(const std::stop_token& stop);
    std::string unfinished_line() const;
    void print(const std::string& line);
    void finish();
    double seconds_left(double spent_on_frame) const;

    const Style style_;
    std::mutex mutex_; // of all below, which the ticker reads
    std::condition_variable_any woken_;
    std::string stage_, numbers_;
    bool running_ = false;
    int next_ = 0, last_ = 0, step_ = 1, done_ = 0, to_do_ = 0;
    TimeLeft time_left_;
    Clock::time_point start_, frame_start_, last_line_;
    std::jthread ticker_; // last: it ends before what it reads
};

// "12 s", "3 min 05 s", "2 h 10 min".
std::string duration_text(double seconds);
// "512 B", "3.4 MB", "1.2 GB".
std::string size_text(double bytes);
std::string json_string(const std::string& text);

} // namespace spindrift
