#include "pipeline/progress.h"

#include "base/printable.h"

#include <cmath>
#include <cstdio>
#include <fmt/format.h>
#include <unistd.h>

namespace spindrift {

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

std::string json_string(const std::string& text)
{
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\')
            out += '\\', out += c;
        else if (static_cast<unsigned char>(c) < 0x20)
            out += fmt::format("\\u{:04x}", static_cast<int>(c));
        else
            out += c;
    }
    return out + '"';
}

void Progress::stage_starts(const std::string& stage, const FrameRange& range, int to_do)
{
    stage_ = stage, last_ = range.last, done_ = 0, to_do_ = to_do;
    start_ = std::chrono::steady_clock::now();
    const int there = range.count() - to_do;
    if (style_ == Style::json)
        fmt::print("{{\"stage\": {}, \"event\": \"start\", \"first\": {}, \"last\": {}, \"to_do\": {}}}\n",
                   json_string(stage), range.first, range.last, to_do);
    else if (there > 0)
        say(fmt::format("{}: {} of {} frames are there already", stage, there, range.count()));
    std::fflush(stdout);
}

void Progress::frame_done(int frame, const FrameReport& report)
{
    ++done_;
    const double spent = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    const double left = spent / done_ * std::max(0, to_do_ - done_);
    if (style_ == Style::json) {
        std::string numbers, phases;
        for (const auto& [name, value] : report.numbers) numbers += fmt::format(", {}: {}", json_string(name), value);
        for (const auto& [name, seconds] : report.times.phases())
            phases += fmt::format("{}{}: {:.6f}", phases.empty() ? "" : ", ", json_string(name), seconds);
        fmt::print("{{\"stage\": {}, \"event\": \"frame\", \"frame\": {}{}, \"seconds\": {:.6f}, \"phases\": {{{}}}, "
                   "\"seconds_left\": {:.1f}}}\n",
                   json_string(stage_), frame, numbers, report.times.total(), phases, left);
    } else {
        std::string numbers, phases;
        for (const auto& [name, value] : report.numbers)
            numbers += value == std::floor(value) ? fmt::format("  {} {:.0f}", name, value)
                                                  : fmt::format("  {} {:.4g}", name, value);
        for (const auto& [name, seconds] : report.times.phases())
            phases += fmt::format("{}{} {:.2f}", phases.empty() ? "" : ", ", name, seconds);
        if (style_ == Style::terminal)
            fmt::print("\r\x1b[K{} {}/{}{}  {:.2f} s a frame, {} left", stage_, frame, last_, numbers, spent / done_,
                       duration_text(left));
        else
            fmt::print("{} {}/{}{}  {:.2f} s ({})\n", stage_, frame, last_, numbers, report.times.total(), phases);
    }
    std::fflush(stdout);
}

void Progress::stage_ends()
{
    const double spent = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    if (style_ == Style::json)
        fmt::print("{{\"stage\": {}, \"event\": \"end\", \"frames\": {}, \"seconds\": {:.3f}}}\n", json_string(stage_),
                   done_, spent);
    else if (done_ > 0)
        fmt::print("{}{}: {} frames in {}\n", style_ == Style::terminal ? "\r\x1b[K" : "", stage_, done_,
                   duration_text(spent));
    std::fflush(stdout);
}

void Progress::say(const std::string& text)
{
    if (style_ == Style::json)
        fmt::print("{{\"event\": \"message\", \"text\": {}}}\n", json_string(text));
    else
        fmt::print("{}{}\n", style_ == Style::terminal ? "\r\x1b[K" : "", printable(text));
    std::fflush(stdout);
}

} // namespace spindrift
