// Files that a scene names, one per frame or one for all frames. A frame without a file uses the nearest earlier one,
// or the first.
#pragma once

#include <string>
#include <vector>

namespace spindrift {

class FilesOfFrames {
  public:
    // Throws bad_input if no file matches. `where` is the position of the parameter in the scene. An empty pattern
    // matches no files and is allowed.
    FilesOfFrames(const std::string& pattern, const std::string& where);

    bool none() const { return files_.empty(); }
    std::string at(int frame) const;
    // Lines that identify the files, for the record.
    std::string signature(const std::string& name) const;

  private:
    std::vector<std::pair<int, std::string>> files_; // by frame
};

} // namespace spindrift
