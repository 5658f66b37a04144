// Tells how a run is going: a line with the time left on a terminal, plain lines when piped, JSON lines for machines.
#pragma once

#include "pipeline/stage.h"

namespace spindrift {

class Progress {
  public:
    enum class Style { terminal, plain, json };
    explicit Progress(Style style) : style_(style) {}
    virtual ~Progress() = default;
    // Terminal if standard output is one.
    static Style suitable();

    // `to_do` is the number of frames that will be reported.
    virtual void stage_starts(const std::string& stage, const FrameRange& range, int to_do);
    virtual void frame_done(int frame, const FrameReport& report);
    virtual void stage_ends();
    // A line of text for people, a message object for machines.
    virtual void say(const std::string& text);

  private:
    Style style_;
    std::string stage_;
    int last_ = 0, done_ = 0, to_do_ = 0;
    std::chrono::steady_clock::time_point start_;
};

// "12 s", "3 min 05 s", "2 h 10 min".
std::string duration_text(double seconds);
// "512 B", "3.4 MB", "1.2 GB".
std::string size_text(double bytes);
std::string json_string(const std::string& text);

} // namespace spindrift
