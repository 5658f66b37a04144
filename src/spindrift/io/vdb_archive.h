// What the VDB translation units share: grids to bytes and back. For them alone, because it includes OpenVDB, which
// costs many seconds of compilation.
#pragma once

#include "spindrift/base/error.h"
#include "spindrift/io/vdb.h"

#include <functional>
#include <openvdb/openvdb.h>
#include <optional>
#include <shared_mutex>

namespace spindrift::vdb {

// Registers OpenVDB's types; any number of calls from any thread.
void initialize();

// Writes the file atomically. Equal grids give equal bytes.
void write_grids(const std::string& path, const openvdb::GridCPtrVec& grids, const FileMetadata& metadata);
void write_grids(const std::string& path, const openvdb::GridCPtrVec& grids, const openvdb::MetaMap& metadata);

struct Contents {
    openvdb::GridPtrVec grids;      // the wanted ones, in the order of the file, completely read
    std::vector<std::string> names; // of all grids of the file
    FileMetadata metadata;
    openvdb::MetaMap typed_metadata; // the same as it is in the file
};
using Wanted = std::function<bool(const std::string& name, const std::string& type)>;
// Throws Error(failed) that names the file for anything that is not a whole, undamaged VDB file.
// OpenVDB trusts the numbers in a file: wrong ones make it write beyond its memory, or ask for gigabytes. Files of this
// program have a checksum. All others are read in a child process with limits, which hands the grids back as a file
// that OpenVDB has written: nothing but that is read here.
Contents read_grids(const std::string& path, const Wanted& wanted);

// Held by a thread that uses locks of OpenVDB, so that no child process is made meanwhile: it would wait for them
// forever.
std::shared_lock<std::shared_mutex> no_child_processes();

// The transform of a grid whose values lie at cell centres or corners.
openvdb::math::Transform::Ptr make_transform(float voxel, bool corners);

// The grid that write_particles() writes.
openvdb::GridBase::Ptr points_to_write(const std::string& path, const Particles& particles, float voxel, float pscale,
                                       const std::vector<Eigen::Vector4f>& orient = {});

// For grids of points: the box around them [m], the lines of describe_vdb() about their attributes, and a check that
// their leaves are sound. All do nothing for other grids.
std::optional<openvdb::BBoxd> bounds_of_points(const openvdb::GridBase& grid, const std::string& path);
std::string describe_points(const openvdb::GridBase& grid, const std::string& path);
void validate_points(const openvdb::GridBase& grid, const std::string& path);

// Runs `body` and turns whatever it throws into an Error(failed) about `path`. Damaged files make OpenVDB throw all
// kinds of exceptions.
template <class Body> auto reading(const std::string& path, const Body& body)
{
    try {
        return body();
    } catch (const Error&) {
        throw;
    } catch (const std::ios_base::failure&) {
        fail("{} is damaged: it ends too early or points beyond its end", path);
    } catch (const std::bad_alloc&) {
        fail("{} is damaged or too large: it asks for more memory than there is", path);
    } catch (const std::exception& e) {
        fail("{} is not a readable VDB file: {}", path, e.what());
    }
}

} // namespace spindrift::vdb
