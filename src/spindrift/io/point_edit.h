// Edits attributes of the points of a VDB file. Everything that is not changed is written as it was read, bit for bit:
// attributes that Particles cannot hold (strings, groups, matrices, quaternions), 64-bit values, codecs, names of
// grids, metadata, and other grids of the file.
//
//     PointEdit edit("in.vdb");
//     edit.particles.v[0] = Vec3f::Zero();
//     edit.write("out.vdb", {"v"});
#pragma once

#include "spindrift/io/vdb.h"

#include <memory>
#include <set>

namespace spindrift {

class PointEdit {
  public:
    // Throws like read_particles().
    explicit PointEdit(const std::string& path);
    ~PointEdit();

    // The points of all grids as from read_particles(), but with pscale as an attribute, and each group as an attribute
    // group_<name> of zeros and ones. Values may be changed and attributes added, nothing else.
    Particles particles;

    // Throws Error(bad_input) if a named attribute cannot be used through `particles`: `read` must not hold integers
    // that exceed 32 bits, `written` no strings, matrices or quaternions.
    void expect_usable(const std::set<std::string>& read, const std::set<std::string>& written) const;

    // Writes the file with the attributes `changed` taken from `particles`, without the points whose entry in `keep` is
    // zero; an empty `keep` keeps all. An attribute keeps its type if that can hold all values of the type in
    // `particles`; otherwise (such as 16-bit floats) it becomes float, int32 or vec3s.
    void write(const std::string& path, const std::set<std::string>& changed, const std::vector<uint8_t>& keep = {});

  private:
    struct File;
    std::string path_;
    std::unique_ptr<File> file_;
};

} // namespace spindrift
