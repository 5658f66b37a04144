// Files that a scene names for its frames, one a frame or one for all. A frame without a file takes the nearest one
// before it, or the first.
#pragma once

#include <string>
#include <vector>

namespace spindrift {

class FilesOfFrames {
  public:
    // Throws bad_input if no file matches. `where` is the parameter's place in the scene; an empty pattern has none.
    FilesOfFrames(const std::string& pattern, const std::string& where);

    bool none() const { return files_.empty(); }
    std::string at(int frame) const;
    // Lines that say which files these are.
    std::string signature(const std::string& name) const;

  private:
    std::vector<std::pair<int, std::string>> files_; // with their frames
};

} // namespace spindrift
