// The frames of one stage on disk, and the record of what they were made from.
//
// The record is a text file beside the frames: everything that went into them, and two lines a frame, one before its
// files are written and one, with their sizes, after. With it a later run knows which frames are done, which are left
// over from a kill, and which files are not ours and must not be overwritten.
#pragma once

#include "spindrift/io/frame_path.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

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

// The first thing that differs between two texts of what frames were made from, for people: "flip was 0.97 and is 0.5
// now". An input whose frames differ is "liquid has changed".
std::string what_differs(const std::string& before, const std::string& now);
// All that differ, each in such words.
std::vector<std::string> all_differences(const std::string& before, const std::string& now);

class StageCache {
  public:
    // Reads the record, if there is one. Frames are <folder>/<name>.####.<ending>, one file for each ending.
    // `made_from` is everything the frames depend on: lines "parameter = value", or "thing: signature" for what has no
    // value to show.
    StageCache(const std::string& folder, const std::string& name, const std::vector<std::string>& endings,
               const std::string& made_from);

    // True if there is a record.
    bool exists() const { return exists_; }
    // True if the frames on disk were made from something else, and the first thing that differs, for people.
    bool outdated() const { return outdated_; }
    std::string what_changed() const { return what_differs(recorded_made_from_, made_from_); }
    // What the frames on disk were made from.
    const std::string& recorded() const { return recorded_made_from_; }
    // Throws Error(failed) if a file of these frames, or any file of outdated frames, which a new version will move, is
    // not ours or was changed since it was written.
    void expect_only_ours(const FrameRange& range) const;
    // Throws Error(failed) if any file that the record knows was changed since it was written.
    void expect_unchanged() const;
    // Removes the record and the little that belongs to it if no frame is complete, or none is left.
    void clear();
    // Names of all files that the record knows, without the folder, whether they are there or not.
    std::vector<std::string> files() const;
    // Frames whose recorded files are all there, ascending.
    std::vector<int> frames() const;

    // A frame whose files are all there as they were written...
    bool complete(int frame) const;
    // ... from this input (a signature of the input file; empty for none).
    bool has(int frame, const std::string& input = {}) const;
    // The files of a frame; the first is the one that other stages read.
    std::vector<std::string> paths(int frame) const;
    std::string path(int frame) const { return file(frame, endings_.front()); }
    // To be called before and after the frame's files are written. begin() throws as expect_only_ours() does.
    void begin(int frame);
    void finish(int frame, const std::string& input = {}, int unconverged = 0);
    // Complete frames in which solves ended above their tolerance, and how many of them did.
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
    bool appendable_ = false; // the record on disk is there and whole
};

// A hash of everything that frames were made from.
std::string fingerprint_of(const std::string& made_from);
// Size and time of change of a file, to notice when it was replaced; empty if there is none.
std::string file_signature(const std::string& path);

} // namespace spindrift
