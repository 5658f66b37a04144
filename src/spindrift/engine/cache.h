// The frames of one stage on disk, and the record of what they were computed from.
//
// The record is a text file in the same folder. It lists every ingredient of the frames, and two lines per frame: one
// before its files are written and one, with their sizes, after. From it a later run knows which frames are complete,
// which were interrupted by a kill, and which files it did not write and must not overwrite.
#pragma once

#include "spindrift/io/frame_path.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace spindrift {

// Locks a folder for this process until the process ends in any way. Throws Error(failed) if another process holds the
// lock.
class FolderLock {
  public:
    explicit FolderLock(const std::string& folder);
    ~FolderLock();
    FolderLock(const FolderLock&) = delete;

  private:
    int descriptor_ = -1;
};

// The first difference between two `made_from` texts, for people: "flip was 0.97 and is 0.5 now". An input whose frames
// differ reads "liquid has changed".
std::string what_differs(const std::string& before, const std::string& now);
// All differences, in the same wording.
std::vector<std::string> all_differences(const std::string& before, const std::string& now);

class StageCache {
  public:
    // Reads the record if it exists. Frames are <folder>/<name>.####.<ending>, one file per ending. `made_from` lists
    // everything that the frames depend on, as lines "parameter = value", or "thing: signature" where there is no value
    // to show.
    StageCache(const std::string& folder, const std::string& name, const std::vector<std::string>& endings,
               const std::string& made_from);

    // True if a record exists.
    bool exists() const { return exists_; }
    // outdated() is true if the frames on disk have a different `made_from`; what_changed() is the first difference,
    // for people.
    bool outdated() const { return outdated_; }
    std::string what_changed() const { return what_differs(recorded_made_from_, made_from_); }
    // The `made_from` of the frames on disk.
    const std::string& recorded() const { return recorded_made_from_; }
    // Throws Error(failed) if a file of these frames is not ours or changed since it was written. If the frames are
    // outdated, checks all recorded files, because a new version will move them.
    void expect_only_ours(const FrameRange& range) const;
    // Throws Error(failed) if any recorded file changed since it was written.
    void expect_unchanged() const;
    // Removes the record, the state and all recorded files. For caches that have no complete frame left.
    void clear();
    // Names of all recorded files, without the folder, whether they exist or not.
    std::vector<std::string> files() const;
    // Frames whose recorded files all exist with the recorded size, ascending.
    std::vector<int> frames() const;

    // True if all files of the frame exist with the size they were written with.
    bool complete(int frame) const;
    // As complete(), and computed from this input (a signature of the input file; empty for none).
    bool has(int frame, const std::string& input = {}) const;
    // The files of a frame; other stages read the first.
    std::vector<std::string> paths(int frame) const;
    std::string path(int frame) const { return file(frame, endings_.front()); }
    // Call before and after writing the files of a frame. begin() throws as expect_only_ours() does.
    void begin(int frame);
    void finish(int frame, const std::string& input = {}, int unconverged = 0);
    // Complete frames with solves that ended above their tolerance, and the number of those solves.
    std::map<int, int> unconverged() const;

    const std::string& fingerprint() const { return fingerprint_; }
    std::string state_path() const { return folder_ + "/" + kState; }
    static constexpr const char *kRecord = "spindrift.record", *kState = "spindrift.state";

  private:
    static constexpr int64_t kUnfinished = -1;
    struct Entry {
        std::map<std::string, int64_t> sizes; // bytes by ending, or kUnfinished
        std::string input;
        int unconverged = 0;
    };
    void read_record();
    bool read_line(const std::string& line);
    static std::string line_of(int frame, const Entry& entry);
    void append(const std::string& line);
    void expect_ours(int frame, const std::string& ending) const;
    std::string record_path() const { return folder_ + "/" + kRecord; }
    std::string file(int frame, const std::string& ending) const
    {
        return frame_path(folder_ + "/" + name_ + ".####." + ending, frame);
    }

    std::string folder_, name_;
    std::vector<std::string> endings_;
    std::string made_from_, fingerprint_, recorded_made_from_;
    std::map<int, Entry> entries_;
    bool exists_ = false, outdated_ = false;
    bool appendable_ = false; // the record exists on disk and its last line is complete
};

// A hash of a `made_from` text.
std::string fingerprint_of(const std::string& made_from);
// Size and modification time of a file, to notice when it was replaced; empty if it does not exist.
std::string file_signature(const std::string& path);

} // namespace spindrift
