// Shared by the vdb_* sources: grids to bytes and back. Includes OpenVDB, which costs many seconds of compilation, so
// no other file should include it.
#pragma once

#include "spindrift/base/error.h"
#include "spindrift/io/vdb.h"

#include <functional>
#include <openvdb/openvdb.h>
#include <optional>
#include <shared_mutex>

namespace spindrift::vdb {

// Registers OpenVDB's types. Idempotent and thread-safe.
void initialize();

// Writes the file atomically. Equal grids give equal bytes.
void write_grids(const std::string& path, const openvdb::GridCPtrVec& grids, const FileMetadata& metadata);
void write_grids(const std::string& path, const openvdb::GridCPtrVec& grids, const openvdb::MetaMap& metadata);

struct Contents {
    openvdb::GridPtrVec grids;      // those accepted by `wanted`, in file order, completely read
    std::vector<std::string> names; // of all grids of the file
    FileMetadata metadata;
    openvdb::MetaMap typed_metadata; // the same with the types of the file
};
using Wanted = std::function<bool(const std::string& name, const std::string& type)>;
// Throws Error(failed) naming the file unless it is a complete, undamaged VDB file.
// OpenVDB trusts the counts in a file: wrong ones make it write out of bounds or allocate gigabytes. Files of this
// program have a checksum. All others are read in a child process with limits, which returns the grids as a file
// written by OpenVDB; this process reads only that.
Contents read_grids(const std::string& path, const Wanted& wanted);

// Must be held by a thread that uses OpenVDB's locks: a child process forked meanwhile would inherit them locked and
// wait forever.
std::shared_lock<std::shared_mutex> no_child_processes();

// Transform of a grid with values at cell centres or corners.
openvdb::math::Transform::Ptr make_transform(float voxel, bool corners);

// The grid that write_particles() writes.
openvdb::GridBase::Ptr points_to_write(const std::string& path, const Particles& particles, float voxel, float pscale,
                                       const std::vector<Eigen::Vector4f>& orient = {});

// For point grids: the bounds of the points [m], the lines of describe_vdb() about their attributes, and a consistency
// check of their leaves. All do nothing for other grids.
std::optional<openvdb::BBoxd> bounds_of_points(const openvdb::GridBase& grid, const std::string& path);
std::string describe_points(const openvdb::GridBase& grid, const std::string& path);
void validate_points(const openvdb::GridBase& grid, const std::string& path);

// Runs `body` and converts whatever it throws into an Error(failed) about `path`: damaged files make OpenVDB throw all
// kinds of exceptions.
template <class Body> auto reading(const std::string& path, const Body& body)
{
    try {
        return body();
    } catch (const Error&) {
        throw;
    } catch (const std::ios_base::failure&) {
        fail("{} is damaged: it ends too early or refers to data beyond its end", path);
    } catch (const std::bad_alloc&) {
        fail("{} is damaged or too large: it needs more memory than is available", path);
    } catch (const std::exception& e) {
        fail("{} is not a readable VDB file: {}", path, e.what());
    }
}

} // namespace spindrift::vdb
