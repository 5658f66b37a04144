// Frame patterns of file sequences: splash.####.vdb, splash.%04d.vdb, splash.$F4.vdb, splash.$F.vdb.
#pragma once

#include <string>
#include <vector>

namespace spindrift {

bool has_frame_pattern(const std::string& pattern);
// File name of one frame; a negative frame gets a minus sign before the padded digits.
std::string frame_path(const std::string& pattern, int frame);
// Existing frames, ascending.
std::vector<int> frames_on_disk(const std::string& pattern);

// Every `step`-th frame from `first` to `last`; `last` is one of them.
struct FrameRange {
    int first = 1, last = 1, step = 1;
    int count() const { return (last - first) / step + 1; }
};
// "10-40", "7", "-5--1", "1-30x2" (1, 3, ... 29). Throws bad_input for anything else and for an end before the start.
FrameRange parse_frame_range(const std::string& text);

} // namespace spindrift
