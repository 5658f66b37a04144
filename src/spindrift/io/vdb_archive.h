// Shared by the vdb_* sources: grids to bytes and back. Includes OpenVDB, which costs many seconds of compilation, so
// no other file should include it.
#pragma once

#include "spindrift/base/error.h"
#include "spindrift/io/vdb.h"

#include <functional>
#include <openvdb/openvdb.h>
#include <optional>

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
// program have a checksum; all others are read by read_foreign_grids().
Contents read_grids(const std::string& path, const Wanted& wanted);

// A file in memory; throws whatever OpenVDB throws. The bytes must be trusted.
Contents grids_from_bytes(std::string bytes, const Wanted& wanted);
// The grids without compression: fast to write and to read. Uses one thread.
std::string grids_to_plain_bytes(const Contents& contents);

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
