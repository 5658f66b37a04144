#include "spindrift/io/vdb_archive.h"

#include "spindrift/io/atomic_file.h"
#include "spindrift/io/file_start.h"
#include "spindrift/io/vdb_foreign.h"

#include <mutex>
#include <openvdb/io/Archive.h>
#include <openvdb/io/GridDescriptor.h>
#include <sstream>

namespace spindrift::vdb {

namespace {

// Header of a VDB file: magic number, format and library versions, a flag, and the id as 36 characters.
constexpr size_t kIdBegin = 21;
constexpr size_t kIdSize = 36;
constexpr std::string_view kMagic(" BDV\0\0\0\0", 8);

// An id computed from all bytes but the id itself, as a UUID of version 8 ("custom"). OpenVDB generates version 4
// (random), so version 8 marks an id that is also a checksum.
std::string content_id(std::string_view bytes)
{
    const auto hash = [&](uint64_t seed) {
        const uint64_t head = hash_bytes(bytes.substr(0, kIdBegin), seed);
        return hash_bytes(bytes.substr(kIdBegin + kIdSize), head);
    };
    const uint64_t a = hash(1), b = hash(2);
    return fmt::format("{:08x}-{:04x}-8{:03x}-{:04x}-{:012x}", a >> 32, a >> 16 & 0xffff, a & 0xfff,
                       (b >> 48 & 0x3fff) | 0x8000, b & 0xffffffffffff);
}

// OpenVDB treats a scale below 14 micrometres as zero and refuses to create it, though it can read it. Grids with such
// cells are created with cells magnified by a power of two, far larger than any other, and their transform is patched
// in the bytes of the file.
constexpr double kTiny = 2e-5, kMagnified = 0x1p40, kLargest = 1e5;

// The numbers of a transform as stored in a file.
std::string bytes_of_transform(double edge, bool corners)
{
    const double inverse = 1 / edge;
    std::ostringstream bytes;
    if (!corners) openvdb::Vec3d(0.5 * edge).write(bytes);
    for (const double value : {edge, edge, inverse, inverse * inverse, 0.5 * inverse})
        openvdb::Vec3d(value).write(bytes);
    return bytes.str();
}

void shrink_magnified(const openvdb::GridCPtrVec& grids, std::string& bytes)
{
    for (const auto& grid : grids) {
        const double edge = grid->voxelSize()[0];
        if (edge < kLargest) continue;
        const bool corners = grid->transform().indexToWorld(openvdb::Vec3d(0)) == openvdb::Vec3d(0);
        const std::string from = bytes_of_transform(edge, corners), to = bytes_of_transform(edge / kMagnified, corners);
        const size_t at = bytes.find(from);
        if (at == std::string::npos) fail("voxels of {} m cannot be written", edge / kMagnified);
        bytes.replace(at, from.size(), to);
    }
}

// OpenVDB makes its stream-based file code available to derived classes only. Using it instead of openvdb::io::File
// gives a stream that throws at a premature end, and files with grid offsets (so that other programs can load single
// grids) without a detour over the disk.
class MemoryArchive : public openvdb::io::Archive {
  public:
    std::string to_bytes(const openvdb::GridCPtrVec& grids, const openvdb::MetaMap& metadata)
    {
        setCompression(openvdb::io::COMPRESS_BLOSC | openvdb::io::COMPRESS_ACTIVE_MASK);
        std::string bytes = written(grids, metadata);
        shrink_magnified(grids, bytes);
        bytes.replace(kIdBegin, kIdSize, content_id(bytes));
        return bytes;
    }

    // The grids without compression of values, fast; uses no threads. Inactive values that are all equal, which most of
    // an inner node of a sparse grid is, are left out: an eighth of a megabyte for each grid otherwise.
    std::string to_plain_bytes(const openvdb::GridCPtrVec& grids, const openvdb::MetaMap& metadata)
    {
        setCompression(openvdb::io::COMPRESS_ACTIVE_MASK);
        setGridStatsMetadataEnabled(false);
        return written(grids, metadata);
    }

    Contents from_bytes(std::string bytes, const Wanted& wanted)
    {
        std::istringstream in(std::move(bytes));
        in.exceptions(std::ios::failbit | std::ios::badbit);
        stream_metadata_.reset(new openvdb::io::StreamMetadata);
        openvdb::io::setStreamMetadataPtr(in, stream_metadata_, /*transfer=*/false);
        readHeader(in);
        openvdb::io::setVersion(in, libraryVersion(), fileVersion());
        openvdb::io::setDataCompression(in, compression());

        Contents contents;
        openvdb::MetaMap& metadata = contents.typed_metadata;
        metadata.readMeta(in);
        for (auto it = metadata.beginMeta(); it != metadata.endMeta(); ++it)
            contents.metadata[it->first] = it->second->str();
        read_all(in, wanted, contents);
        return contents;
    }

  private:
    std::string written(const openvdb::GridCPtrVec& grids, const openvdb::MetaMap& metadata)
    {
        std::ostringstream out;
        out.exceptions(std::ios::failbit | std::ios::badbit);
        openvdb::io::Archive::write(out, grids, /*seekable=*/true, metadata);
        return std::move(out).str();
    }

    void read_all(std::istream& in, const Wanted& wanted, Contents& contents)
    {
        NamedGridMap by_name;
        std::vector<std::pair<openvdb::io::GridDescriptor, openvdb::GridBase::Ptr>> chosen;
        const int count = readGridCount(in);
        for (int i = 0; i < count; ++i) {
            openvdb::io::GridDescriptor descriptor;
            const openvdb::GridBase::Ptr grid = descriptor.read(in);
            contents.names.push_back(descriptor.gridName());
            const bool chose = wanted(descriptor.gridName(), descriptor.gridType());
            // Without offsets in the file, a grid can only be skipped by reading it.
            if (chose || !inputHasGridOffsets()) {
                readGrid(grid, descriptor, in);
                by_name[descriptor.uniqueName()] = grid;
            }
            if (chose) chosen.emplace_back(descriptor, grid);
            if (inputHasGridOffsets()) descriptor.seekToEnd(in);
        }
        for (const auto& [descriptor, grid] : chosen) {
            if (descriptor.isInstance()) connectInstance(descriptor, by_name);
            contents.grids.push_back(grid);
        }
    }

    openvdb::io::StreamMetadata::Ptr stream_metadata_; // the stream keeps a pointer to this pointer
};

// Returns whether the file has a checksum.
bool check_header(const std::string& path, std::string_view bytes)
{
    if (bytes.empty()) fail("{} is empty", path);
    const bool starts_well = bytes.substr(0, kMagic.size()) == kMagic.substr(0, std::min(kMagic.size(), bytes.size()));
    if (!starts_well) fail("{} is not a VDB file", path);
    if (bytes.size() < kIdBegin + kIdSize) fail("{} is cut short: it ends inside the header", path);
    const std::string_view id = bytes.substr(kIdBegin, kIdSize);
    if (id[14] != '8') return false;
    if (id != content_id(bytes)) fail("{} is damaged or cut short: its checksum does not match", path);
    return true;
}

openvdb::MetaMap meta_map(const FileMetadata& metadata)
{
    openvdb::MetaMap map;
    for (const auto& [name, value] : metadata) map.insertMeta(name, openvdb::StringMetadata(value));
    return map;
}

} // namespace

void initialize()
{
    static std::once_flag once;
    std::call_once(once, [] { openvdb::initialize(); });
}

void write_grids(const std::string& path, const openvdb::GridCPtrVec& grids, const FileMetadata& metadata)
{
    write_grids(path, grids, meta_map(metadata));
}

void write_grids(const std::string& path, const openvdb::GridCPtrVec& grids, const openvdb::MetaMap& metadata)
{
    std::string bytes;
    try {
        bytes = MemoryArchive().to_bytes(grids, metadata);
    } catch (const std::exception& e) {
        fail("cannot write {}: {}", path, e.what());
    }
    write_file(path, bytes);
}

Contents read_grids(const std::string& path, const Wanted& wanted)
{
    initialize();
    if (!may_start_with(path, kMagic)) fail("{} is not a VDB file", path);
    std::string bytes = read_file(path);
    if (!check_header(path, bytes)) return read_foreign_grids(path, bytes.size(), wanted);
    return reading(path, [&] { return grids_from_bytes(std::move(bytes), wanted); });
}

Contents grids_from_bytes(std::string bytes, const Wanted& wanted)
{
    return MemoryArchive().from_bytes(std::move(bytes), wanted);
}

std::string grids_to_plain_bytes(const Contents& contents)
{
    return MemoryArchive().to_plain_bytes({contents.grids.begin(), contents.grids.end()}, contents.typed_metadata);
}

openvdb::math::Transform::Ptr make_transform(float voxel, bool corners)
{
    const double edge = static_cast<double>(voxel);
    const double written = edge < kTiny ? kMagnified * edge : edge;
    auto transform = openvdb::math::Transform::createLinearTransform(written);
    if (!corners) transform->postTranslate(openvdb::Vec3d(0.5 * written));
    return transform;
}

} // namespace spindrift::vdb
