#include "spindrift/io/vdb_archive.h"

#include "spindrift/base/child_process.h"
#include "spindrift/base/interrupt.h"
#include "spindrift/io/atomic_file.h"
#include "spindrift/io/file_start.h"

#include <cstring>
#include <mutex>
#include <openvdb/io/Archive.h>
#include <openvdb/io/GridDescriptor.h>
#include <sstream>
#include <unistd.h>

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

std::shared_mutex& child_mutex()
{
    static std::shared_mutex mutex;
    return mutex;
}

// More than any well-formed file needs: a leaf of equal vectors takes 80 bytes in a file, 6 kB in memory, and several
// times that during the transfer to the parent. Small files, which may be malicious, get little.
ChildLimits limits_for(size_t file_bytes)
{
    const size_t machine =
        static_cast<size_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(::sysconf(_SC_PAGE_SIZE));
    return {std::min(machine, (size_t(256) << 20) + 512 * file_bytes),
            30 + static_cast<unsigned>(std::min<size_t>(file_bytes >> 22, 100000))};
}

// Names and types of a file's grids, serialised between processes: their number, then name and type of each, with
// sizes.
using GridNames = std::vector<std::pair<std::string, std::string>>;

std::string packed(const GridNames& names)
{
    std::string out;
    const auto add_number = [&](uint64_t n) { out.append(reinterpret_cast<const char*>(&n), sizeof n); };
    const auto add_text = [&](const std::string& text) { add_number(text.size()), out += text; };
    add_number(names.size());
    for (const auto& [name, type] : names) add_text(name), add_text(type);
    return out;
}

// Removes what packed() wrote from the front of `bytes`; false if it is malformed.
bool unpack(std::string& bytes, GridNames& names)
{
    std::string_view rest = bytes;
    bool ok = true;
    const auto number = [&] {
        uint64_t n = 0;
        ok &= rest.size() >= sizeof n;
        if (ok) std::memcpy(&n, rest.data(), sizeof n), rest.remove_prefix(sizeof n);
        return n;
    };
    const auto text = [&] {
        const uint64_t size = number();
        ok &= size <= rest.size();
        if (!ok) return std::string();
        const std::string taken(rest.substr(0, size));
        rest.remove_prefix(size);
        return taken;
    };
    for (uint64_t left = number(); left > 0 && ok; --left) {
        std::string name = text();
        names.emplace_back(std::move(name), text());
    }
    bytes.erase(0, bytes.size() - rest.size());
    return ok;
}

// In the child: returns the names, and the wanted grids as a new file.
std::string read_and_pack(const std::string& path, const std::string& bytes, const Wanted& wanted)
{
    return reading(path, [&] {
        GridNames names;
        const auto note = [&](const std::string& name, const std::string& type) {
            names.emplace_back(name, type);
            return wanted(name, type);
        };
        const Contents contents = MemoryArchive().from_bytes(bytes, note);
        for (const openvdb::GridBase::Ptr& grid : contents.grids) validate_points(*grid, path);
        return packed(names) +
               MemoryArchive().to_plain_bytes({contents.grids.begin(), contents.grids.end()}, contents.typed_metadata);
    });
}

Contents read_foreign(const std::string& path, std::string bytes, const Wanted& wanted)
{
    std::unique_lock alone(child_mutex());
    ChildResult read = run_in_child(
        limits_for(bytes.size()), [&] { return read_and_pack(path, bytes, wanted); }, [&] { alone.unlock(); });
    bytes = {};
    check_interrupt(); // an interrupt ends the child, too
    constexpr const char* remedy = "write it again with the program that made it";
    if (read.end == ChildEnd::out_of_memory)
        fail("{} is damaged or too large: it needs more memory than is available; {}", path, remedy);
    if (read.end == ChildEnd::out_of_time)
        fail("{} is damaged or too large: reading it takes too long; {}", path, remedy);
    GridNames names;
    if (read.end == ChildEnd::crashed || !unpack(read.bytes, names))
        fail("{} is damaged: the VDB reader crashes on it; {}", path, remedy);
    Contents contents = reading(path, [&] {
        const auto lock = no_child_processes();
        return MemoryArchive().from_bytes(std::move(read.bytes), [](const auto&, const auto&) { return true; });
    });
    contents.names.clear();
    for (const auto& [name, type] : names) contents.names.push_back(name), wanted(name, type);
    return contents;
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
    if (!check_header(path, bytes)) return read_foreign(path, std::move(bytes), wanted);
    return reading(path, [&] {
        const auto lock = no_child_processes();
        return MemoryArchive().from_bytes(std::move(bytes), wanted);
    });
}

std::shared_lock<std::shared_mutex> no_child_processes() { return std::shared_lock(child_mutex()); }

openvdb::math::Transform::Ptr make_transform(float voxel, bool corners)
{
    const double edge = static_cast<double>(voxel);
    const double written = edge < kTiny ? kMagnified * edge : edge;
    auto transform = openvdb::math::Transform::createLinearTransform(written);
    if (!corners) transform->postTranslate(openvdb::Vec3d(0.5 * written));
    return transform;
}

} // namespace spindrift::vdb
