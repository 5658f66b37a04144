// The frames of one stage on disk, and the record of what they were made from.
//
// The record is a text file beside the frames: a fingerprint of everything that went into them, and two lines a frame, one
// before it is written and one, with its size, after. With it a later run knows which frames are done, which are left over
// from a kill, and which files are not ours and must not be overwritten.
#pragma once

#include "io/frame_path.h"

#include <cstdint>
#include <map>
#include <string>

namespace spindrift {

// Holds a folder for this process until it ends, however it ends; throws Error(failed) if another process has it.
class FolderLock {
  public:
    explicit FolderLock(const std::string& folder);
    ~FolderLock();
    FolderLock(const FolderLock&) = delete;

  private:
    int descriptor_ = -1;
};

class StageCache {
  public:
    // Reads the record, if there is one.
    StageCache(const std::string& folder, const std::string& pattern, const std::string& fingerprint);

    // True if the frames on disk were made from something else.
    bool outdated() const { return outdated_; }
    // Removes outdated frames of ours, so that none of them is taken for a new one.
    void clear();
    // A frame that is complete and made from `input` (a signature of the input file; empty for none). Throws
    // Error(failed) for a file that is not ours, or was damaged since it was written.
    bool has(int frame, const std::string& input = {});
    std::string path(int frame) const { return frame_path(pattern_, frame); }
    // To be called before and after the frame's file is written.
    void begin(int frame);
    void finish(int frame, const std::string& input = {});

    const std::string& fingerprint() const { return fingerprint_; }
    std::string state_path() const;

  private:
    struct Entry {
        int64_t size = -1; // -1: begun, not finished
        std::string input;
    };
    void append(const std::string& line);

    std::string folder_, pattern_, fingerprint_;
    std::map<int, Entry> entries_;
    bool outdated_ = false, started_ = false;
};

// Size and time of change of a file, to notice when it was replaced.
std::string file_signature(const std::string& path);

} // namespace spindrift
