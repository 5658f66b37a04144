// Points of a VDB file, to change some of what they carry. Whatever is not changed is written as it was read, bit for
// bit: attributes that a Particles cannot hold (strings, groups, matrices, quaternions), 64-bit values, codecs, names
// of grids, metadata, and other grids of the file.
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
    // Throws as read_particles() does.
    explicit PointEdit(const std::string& path);
    ~PointEdit();

    // The points of all grids as read_particles() gives them, but with pscale among the attributes, and each group as
    // an attribute group_<name> of zeros and ones. Only values may be changed, or attributes added.
    Particles particles;

    // Throws Error(bad_input) if what is named cannot be used through `particles`: `read` must not hold integers of
    // more than 32 bits, `written` no strings, matrices or quaternions.
    void expect_usable(const std::set<std::string>& read, const std::set<std::string>& written) const;

    // Writes the file with what `particles` has of the attributes `changed`, without the points whose entry in `keep`
    // is zero; an empty `keep` keeps all. An attribute keeps its type if that holds all values that `particles` can
    // have; otherwise, as with numbers of 16 bits, it becomes float, int32 or vec3s.
    void write(const std::string& path, const std::set<std::string>& changed, const std::vector<uint8_t>& keep = {});

  private:
    struct File;
    std::string path_;
    std::unique_ptr<File> file_;
};

} // namespace spindrift
