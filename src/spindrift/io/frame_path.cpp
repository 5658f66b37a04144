#include "spindrift/io/frame_path.h"

#include "spindrift/base/error.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <optional>
#include <string_view>

namespace spindrift {

namespace {

// Position of the frame number in a pattern: text[begin, end), and its number of digits.
struct Slot {
    size_t begin = 0, end = 0;
    int digits = 1;
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The number slot that starts at `at`, if any.
std::optional<Slot> slot_at(std::string_view text, size_t at)
{
    const auto digit = [&](size_t i) { return i < text.size() && is_digit(text[i]); };
    if (text[at] == '#') {
        const size_t end = std::min(text.find_first_not_of('#', at), text.size());
        return Slot{at, end, static_cast<int>(end - at)};
    }
    if (text.substr(at, 2) == "$F") {
        if (!digit(at + 2)) return Slot{at, at + 2, 1};
        return Slot{at, at + 3, std::max(1, text[at + 2] - '0')};
    }
    if (text[at] == '%') {
        if (text.substr(at, 2) == "%d") return Slot{at, at + 2, 1};
        if (text.substr(at, 2) == "%0" && digit(at + 2) && text.substr(at + 3, 1) == "d")
            return Slot{at, at + 4, std::max(1, text[at + 2] - '0')};
    }
    return std::nullopt;
}

// The last slot in the file name, since a folder or a take may be called "shot#2".
std::optional<Slot> find_slot(std::string_view pattern)
{
    std::optional<Slot> last;
    const size_t slash = pattern.rfind('/');
    for (size_t at = slash == std::string_view::npos ? 0 : slash + 1; at < pattern.size(); ++at) {
        const auto slot = slot_at(pattern, at);
        if (!slot) continue;
        last = slot;
        at = slot->end - 1;
    }
    return last;
}

// Parses an integer at the start of `text` and removes it.
std::optional<int> take_int(std::string_view& text)
{
    int value = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc()) return std::nullopt;
    text.remove_prefix(rest - text.data());
    return value;
}

} // namespace

bool has_frame_pattern(const std::string& pattern) { return find_slot(pattern).has_value(); }

std::string frame_path(const std::string& pattern, int frame)
{
    const auto slot = find_slot(pattern);
    if (!slot) return pattern;
    const std::string number =
        fmt::format("{}{:0{}}", frame < 0 ? "-" : "", std::abs(static_cast<long long>(frame)), slot->digits);
    return pattern.substr(0, slot->begin) + number + pattern.substr(slot->end);
}

std::vector<int> frames_on_disk(const std::string& pattern)
{
    namespace fs = std::filesystem;
    std::vector<int> frames;
    const auto slot = find_slot(pattern);
    if (!slot) return frames;

    const size_t name_begin = pattern.rfind('/') == std::string::npos ? 0 : pattern.rfind('/') + 1;
    const std::string folder = name_begin == 0 ? "." : pattern.substr(0, name_begin);
    const std::string name_pattern = pattern.substr(name_begin);
    const std::string prefix = pattern.substr(name_begin, slot->begin - name_begin);

    std::error_code error;
    for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
        const std::string name = it->path().filename().string();
        if (!name.starts_with(prefix)) continue;
        std::string_view rest = std::string_view(name).substr(prefix.size());
        const auto frame = take_int(rest);
        // Formatting the number again distinguishes splash.7.vdb from the requested splash.0007.vdb.
        if (frame && frame_path(name_pattern, *frame) == name) frames.push_back(*frame);
    }
    std::sort(frames.begin(), frames.end());
    return frames;
}

FrameRange parse_frame_range(const std::string& text)
{
    const auto reject = [&](const char* why) {
        bad_input("frame range \"{}\" {}; write it like 10-40, 7, -5--1 or, for every second frame, 10-40x2", text,
                  why);
    };
    std::string_view rest = text;
    const auto first = take_int(rest);
    if (!first) reject("does not start with a whole number");
    if (rest.empty()) return {*first, *first};
    if (rest.front() != '-') reject("has something other than \"-\" after its first frame");
    rest.remove_prefix(1);
    const auto last = take_int(rest);
    if (!last || !(rest.empty() || rest.front() == 'x')) reject("does not end with a whole number");
    if (*last < *first) reject("ends before it starts");
    const long long count = static_cast<long long>(*last) - *first + 1;
    if (count > std::numeric_limits<int>::max()) reject("has too many frames");
    if (rest.empty()) return {*first, *last};
    rest.remove_prefix(1);
    const auto step = take_int(rest);
    if (!step || !rest.empty() || *step < 1) reject("has a step that is not a whole number above 0");
    return {*first, static_cast<int>(*last - (static_cast<long long>(*last) - *first) % *step), *step};
}

} // namespace spindrift
