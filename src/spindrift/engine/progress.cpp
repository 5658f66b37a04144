#include "spindrift/engine/progress.h"

#include "spindrift/base/frame_share.h"
#include "spindrift/base/printable.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace spindrift {

namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kTick = std::chrono::seconds(1);
constexpr auto kSilence = std::chrono::seconds(30); // longest silence on a pipe
constexpr double kShortestShown = 1;                // [s]
constexpr const char* kClearLine = "\r\x1b[K";

int terminal_width()
{
    winsize size = {};
    return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col - 1 : 79;
}

// Write errors, such as a full disk behind a log, must not end a computation: ignore them.
void put(std::FILE* file, const std::string& text)
{
    std::fputs(text.c_str(), file);
    std::fflush(file);
}

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

} // namespace

double TimeLeft::of(int frames) const
{
    if (frames_.empty() || frames <= 0) return 0;
    constexpr size_t kFewest = 6;
    const size_t count = std::min(frames_.size(), std::max(kFewest, frames_.size() / 2));
    const double* recent = frames_.data() + (frames_.size() - count);
    const double n = static_cast<double>(count), middle = 0.5 * (n - 1);
    double mean = 0, xy = 0, xx = 0, rest = 0;
    for (size_t i = 0; i < count; ++i) mean += recent[i] / n;
    const auto from_middle = [&](size_t i) { return static_cast<double>(i) - middle; };
    for (size_t i = 0; i < count; ++i) xy += from_middle(i) * (recent[i] - mean), xx += from_middle(i) * from_middle(i);
    double slope = 0;
    if (count >= 4) {
        slope = xy / xx;
        for (size_t i = 0; i < count; ++i) rest += std::pow(recent[i] - mean - slope * from_middle(i), 2);
        slope = std::max(0.0, slope - 2 * std::sqrt(rest / (n - 2) / xx)); // two standard errors
    }
    const double first = n - middle, last = first + frames - 1; // of the remaining frames, relative to the middle
    return frames * (mean + slope * 0.5 * (first + last));
}

Progress::Style Progress::suitable() { return ::isatty(STDOUT_FILENO) ? Style::terminal : Style::plain; }

std::string duration_text(double seconds)
{
    if (seconds < 10) return fmt::format("{:.1f} s", seconds);
    const auto s = static_cast<long>(std::lround(seconds));
    if (s < 60) return fmt::format("{} s", s);
    if (s < 3600) return fmt::format("{} min {:02} s", s / 60, s % 60);
    return fmt::format("{} h {:02} min", s / 3600, s / 60 % 60);
}

std::string size_text(double bytes)
{
    constexpr const char* units[] = {"B", "kB", "MB", "GB", "TB"};
    int unit = 0;
    while (bytes >= 1000 && unit < 4) bytes /= 1000, ++unit;
    return fmt::format("{:.{}f} {}", bytes, unit == 0 || bytes >= 100 ? 0 : 1, units[unit]);
}

// Bytes that are not UTF-8, and control characters outside ASCII, are escaped as printable() does.
std::string json_string(const std::string& text)
{
    std::string out = "\"";
    const auto put_plain = [&](std::string_view part) {
        for (const char c : printable(part)) {
            if (c == '"' || c == '\\') out += '\\';
            out += c;
        }
    };
    size_t begin = 0;
    for (size_t i = 0; i <= text.size(); ++i) {
        const bool control = i < text.size() && static_cast<unsigned char>(text[i]) < 0x20;
        if (i < text.size() && !control) continue;
        put_plain(std::string_view(text).substr(begin, i - begin));
        if (control) out += fmt::format("\\u{:04x}", static_cast<int>(text[i]));
        begin = i + 1;
    }
    return out + '"';
}

Progress::Progress(Style style) : style_(style)
{
    if (style_ == Style::terminal || style_ == Style::plain)
        ticker_ = std::jthread([this](const std::stop_token& stop) { refresh_line(stop); });
}

Progress::~Progress()
{
    finish(); // so that an error message starts on a new line
}

// Frames can take minutes: update the line in between.
void Progress::refresh_line(const std::stop_token& stop)
{
    std::unique_lock lock(mutex_);
    while (!stop.stop_requested()) {
        woken_.wait_for(lock, stop, kTick, [] { return false; });
        const auto silence = style_ == Style::terminal ? Clock::duration(kTick) : Clock::duration(kSilence);
        if (!running_ || stop.stop_requested() || Clock::now() - std::max(last_line_, frame_start_) < silence) continue;
        print(unfinished_line());
    }
}

double Progress::seconds_left(double spent_on_frame) const
{
    const int frames = std::max(0, to_do_ - done_);
    const double later = time_left_.of(frames) - time_left_.of(1);
    if (const auto share = static_cast<double>(frame_share()); share > 0) {
        const double frame = spent_on_frame / share;
        return frame - spent_on_frame + (done_ > 0 ? later : frame * (frames - 1));
    }
    return std::max(time_left_.of(frames) - spent_on_frame, later);
}

std::string Progress::unfinished_line() const
{
    const double spent = seconds_since(frame_start_);
    if (to_do_ < 0) return fmt::format("{}  {} so far", stage_, duration_text(spent));
    std::string line = fmt::format("{} {}/{}  this frame {} so far", stage_, next_, last_, duration_text(spent));
    if (const float share = frame_share(); share > 0) line += fmt::format(" ({:.0f}%)", 100 * share);
    if (const double left = seconds_left(spent); left >= kShortestShown)
        line += fmt::format(", {} left", duration_text(left));
    return line + numbers_;
}

// Replaces the line on a terminal, truncated to its width because a wrapped line cannot be replaced. Appends a line
// elsewhere.
void Progress::print(const std::string& line)
{
    last_line_ = Clock::now();
    if (style_ == Style::terminal)
        put(stdout, fmt::format("{}{:.{}}", kClearLine, line, terminal_width()));
    else
        put(stdout, fmt::format("{}\n", line));
}

void Progress::stage_starts(const std::string& stage, const FrameRange& range, int to_do)
{
    const int there = range.count() - to_do;
    {
        const std::lock_guard lock(mutex_);
        stage_ = stage, numbers_.clear(), done_ = 0, to_do_ = to_do;
        next_ = range.last - (to_do - 1) * range.step, last_ = range.last, step_ = range.step;
        time_left_ = {};
        set_frame_share(0);
        start_ = frame_start_ = last_line_ = Clock::now();
        running_ = true;
        if (to_do < 0) return; // no frames
        if (style_ == Style::json) {
            put(stdout,
                fmt::format("{{\"stage\": {}, \"event\": \"start\", \"first\": {}, \"last\": {}, \"to_do\": {}}}\n",
                            json_string(stage), range.first, range.last, to_do));
            return;
        }
    }
    if (there > 0) say(fmt::format("{}: {} of {} frames are already done", stage, there, range.count()));
}

void Progress::frame_done(int frame, const FrameReport& report)
{
    const std::lock_guard lock(mutex_);
    ++done_;
    time_left_.add(seconds_since(frame_start_));
    set_frame_share(0);
    frame_start_ = Clock::now();
    next_ = frame + step_;
    const double left = seconds_left(0);
    if (style_ == Style::quiet) return;
    if (style_ == Style::json) {
        std::string numbers, phases;
        for (const auto& [name, value] : report.numbers) numbers += fmt::format(", {}: {}", json_string(name), value);
        if (report.unconverged > 0) numbers += fmt::format(", \"unconverged\": {}", report.unconverged);
        for (const auto& [name, seconds] : report.times.phases())
            phases += fmt::format("{}{}: {:.6f}", phases.empty() ? "" : ", ", json_string(name), seconds);
        put(stdout,
            fmt::format(
                "{{\"stage\": {}, \"event\": \"frame\", \"frame\": {}{}, \"seconds\": {:.6f}, \"phases\": {{{}}}, "
                "\"seconds_left\": {:.1f}}}\n",
                json_string(stage_), frame, numbers, report.times.total(), phases, left));
        return;
    }
    std::string phases;
    numbers_.clear();
    for (const auto& [name, value] : report.numbers)
        numbers_ += value == std::floor(value) ? fmt::format("  {} {:.0f}", printable(name), value)
                                               : fmt::format("  {} {:.4g}", printable(name), value);
    if (report.unconverged > 0) numbers_ += fmt::format("  unconverged {}", report.unconverged);
    for (const auto& [name, seconds] : report.times.phases())
        phases += fmt::format("{}{} {:.2f}", phases.empty() ? "" : ", ", name, seconds);
    const std::string to_go = left >= kShortestShown ? fmt::format(", {} left", duration_text(left)) : "";
    const double seconds = report.times.total();
    // A narrow terminal truncates the line: put the most important part first.
    if (style_ == Style::terminal)
        print(fmt::format("{} {}/{}  {:.2f} s{}{}", stage_, frame, last_, seconds, to_go, numbers_));
    else
        print(fmt::format("{} {}/{}{}  {:.2f} s ({}){}", stage_, frame, last_, numbers_, seconds, phases, to_go));
}

// Clears the progress line of a terminal.
void Progress::finish()
{
    const std::lock_guard lock(mutex_);
    if (running_ && style_ == Style::terminal) print("");
    running_ = false;
}

void Progress::stage_ends()
{
    finish();
    const double spent = seconds_since(start_);
    if (style_ == Style::json)
        put(stdout, fmt::format("{{\"stage\": {}, \"event\": \"end\", \"frames\": {}, \"seconds\": {:.3f}}}\n",
                                json_string(stage_), done_, spent));
    else if (done_ > 0)
        say(fmt::format("{}: {} frame{} in {}", stage_, done_, done_ == 1 ? "" : "s", duration_text(spent)));
}

void Progress::say(const std::string& text)
{
    const std::lock_guard lock(mutex_);
    if (style_ == Style::quiet) return;
    if (style_ == Style::json)
        put(stdout, fmt::format("{{\"event\": \"message\", \"text\": {}}}\n", json_string(text)));
    else
        put(stdout, fmt::format("{}{}\n", style_ == Style::terminal ? kClearLine : "", printable(text)));
}

void Progress::warn(const std::string& text)
{
    if (style_ == Style::quiet)
        put(stderr, fmt::format("spindrift: {}\n", printable(text)));
    else
        say(text);
}

} // namespace spindrift
