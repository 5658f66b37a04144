// VDB files as other programs write them: points with all kinds of attributes, volumes with tiles. Without a checksum,
// which would reject every case at once, and half of them without compression, so that changes reach counts and
// offsets.
#include "fuzz/targets.h"
#include "spindrift/base/error.h"
#include "spindrift/io/atomic_file.h"
#include "spindrift/io/point_edit.h"
#include "spindrift/io/point_file.h"
#include "spindrift/io/vdb.h"

#include <filesystem>
#include <openvdb/io/File.h>
#include <openvdb/io/Stream.h>
#include <openvdb/openvdb.h>
#include <openvdb/points/PointConversion.h>
#include <openvdb/points/PointGroup.h>
#include <sstream>
#include <unistd.h>

namespace spindrift::fuzz {

namespace {

namespace points = openvdb::points;

points::PointDataGrid::Ptr point_grid()
{
    std::vector<openvdb::Vec3f> places;
    for (int i = 0; i < 30; ++i) places.emplace_back(0.13f * float(i), 0.2f * float(i % 7), 0.1f * float(i % 3));
    const points::PointAttributeVector<openvdb::Vec3f> wrapper(places);
    const auto transform = openvdb::math::Transform::createLinearTransform(0.2);
    auto grid = points::createPointDataGrid<points::FixedPointCodec<false>, points::PointDataGrid>(places, *transform);
    auto& tree = grid->tree();
    points::appendAttribute<openvdb::Vec3f, points::TruncateCodec>(tree, "v", openvdb::Vec3f(1, 2, 3));
    points::appendAttribute<int32_t>(tree, "id");
    points::appendAttribute<float>(tree, "pscale", 0.1f);
    points::appendAttribute<double>(tree, "mass");
    points::appendAttribute<int64_t>(tree, "big");
    points::appendAttribute<float>(tree, "list", 0.0f, 3);
    points::appendGroup(tree, "wet");
    for (auto leaf = tree.beginLeaf(); leaf; ++leaf) {
        points::AttributeWriteHandle<int32_t> id(leaf->attributeArray("id"));
        points::AttributeWriteHandle<double> mass(leaf->attributeArray("mass"));
        for (openvdb::Index i = 0; i < leaf->pointCount(); ++i) id.set(i, int32_t(i) + 3), mass.set(i, 0.5 * i);
    }
    grid->setName("points");
    return grid;
}

openvdb::GridPtrVec volume_grids()
{
    auto density = openvdb::FloatGrid::create(0);
    density->setName("density"), density->setGridClass(openvdb::GRID_FOG_VOLUME);
    density->setTransform(openvdb::math::Transform::createLinearTransform(0.1));
    density->fill(openvdb::CoordBBox(openvdb::Coord(3), openvdb::Coord(30, 14, 16)), 0.5f);
    density->tree().setValue(openvdb::Coord(100, 3, 70), 2); // all within one root node, which takes 0.3 MB
    auto velocity = openvdb::Vec3SGrid::create(openvdb::Vec3f(0));
    velocity->setName("vel"), velocity->setGridClass(openvdb::GRID_STAGGERED);
    velocity->setTransform(density->transform().copy());
    velocity->tree().setValue(openvdb::Coord(1, 2, 3), openvdb::Vec3f(1, 2, 3));
    auto fine = openvdb::DoubleGrid::create(1);
    fine->setName("temperature"), fine->setTransform(density->transform().copy());
    fine->tree().setValue(openvdb::Coord(0), 300);
    return {density, velocity, fine};
}

// As a file with the offsets of its grids, or as a stream without.
std::string file_of(const openvdb::GridPtrVec& grids, uint32_t compression, bool stream)
{
    openvdb::MetaMap metadata;
    metadata.insertMeta("creator", openvdb::StringMetadata("another program"));
    std::string bytes;
    if (stream) {
        std::ostringstream out;
        openvdb::io::Stream writer(out);
        writer.setCompression(compression);
        writer.write(grids, metadata);
        bytes = out.str();
    } else {
        const std::string path = fmt::format("{}/spindrift_fuzz_{}.vdb", scratch_folder(), ::getpid());
        openvdb::io::File writer(path);
        writer.setCompression(compression);
        writer.write(grids, metadata);
        writer.close();
        bytes = read_file(path);
        std::filesystem::remove(path);
    }
    bytes.replace(21, 36, "12345678-1234-4234-8234-123456789abc"); // OpenVDB writes a random one
    return bytes;
}

std::vector<std::string> in_all_ways(const openvdb::GridPtrVec& grids)
{
    std::vector<std::string> files;
    const uint32_t none = openvdb::io::COMPRESS_NONE, mask = openvdb::io::COMPRESS_ACTIVE_MASK;
    for (const uint32_t compression :
         {none, mask, mask | openvdb::io::COMPRESS_BLOSC, mask | openvdb::io::COMPRESS_ZIP})
        files.push_back(file_of(grids, compression, false));
    files.push_back(file_of(grids, openvdb::io::COMPRESS_NONE, true));
    return files;
}

// Volumes without compression of any kind take 0.2 MB for each scalar grid, which is zeros but for a few kilobytes: one
// file with all grids, and others with one of them.
std::vector<std::string> volume_files()
{
    const openvdb::GridPtrVec grids = volume_grids();
    std::vector<std::string> files;
    const uint32_t none = openvdb::io::COMPRESS_NONE, mask = openvdb::io::COMPRESS_ACTIVE_MASK;
    for (const uint32_t compression : {mask, mask | openvdb::io::COMPRESS_BLOSC, mask | openvdb::io::COMPRESS_ZIP})
        files.push_back(file_of(grids, compression, false));
    files.push_back(file_of(grids, mask, true));
    files.push_back(file_of(grids, none, false));
    for (const bool stream : {false, true}) files.push_back(file_of({grids.front()}, none, stream));
    return files;
}

// Each read starts a child process, which dominates the time of a case: half of the cases are read in one way, half in
// the other.
bool one_in_two(const std::string& bytes) { return hash_bytes(bytes) % 2 == 0; }

// Reads as an expression that moves points does.
void delete_a_point(const std::string& path, const std::string& to)
{
    PointEdit edit(path);
    std::vector<uint8_t> keep(edit.particles.size(), 1);
    if (keep.size() > 1) keep[1] = 0;
    for (Vec3f& x : edit.particles.P) x += Vec3f::Constant(0.3f);
    edit.write(to, {"P", "v", "group_wet"}, keep);
}

void read_point_file(const std::string& bytes, const std::string& folder)
{
    const std::string path = folder + "/case.vdb";
    put_file(path, bytes);
    if (hash_bytes(bytes) % 4 == 1) return delete_a_point(path, folder + "/other.vdb");
    if (one_in_two(bytes)) return void(describe_vdb(path));
    const ParticleFile file = read_points(path);
    file.particles.for_each_array([&](const std::string& name, const auto& array) {
        if (array.size() != file.particles.size()) found("the array " + name + " has a wrong length");
    });
    for (const Vec3f& x : file.particles.P)
        if (!x.allFinite()) found("a point is not finite");
}

void read_volume_file(const std::string& bytes, const std::string& folder)
{
    const std::string path = folder + "/case.vdb";
    put_file(path, bytes);
    if (one_in_two(bytes)) return void(describe_vdb(path));
    const FieldSet fields = read_fields(path, {}, {"density", "vel", "temperature"});
    for (const auto& [name, file] : fields.numbers)
        for (const float value : file.field.values())
            if (!std::isfinite(value)) found("a value is not finite");
}

// A certain digit of the header's id would announce a checksum if it were an 8.
std::string mutate_vdb(const std::string& seed, Random& random)
{
    std::string bytes = mutate_bytes(seed, random);
    if (bytes.size() > 60) bytes[21 + 14] = '4';
    return bytes;
}

} // namespace

std::vector<Target> vdb_targets()
{
    const auto point_seeds = [] {
        openvdb::initialize();
        return in_all_ways({point_grid()});
    };
    const auto volume_seeds = [] {
        openvdb::initialize();
        return volume_files();
    };
    return {{"vdb-points", "vdb", point_seeds, mutate_vdb, read_point_file},
            {"vdb-volumes", "vdb", volume_seeds, mutate_vdb, read_volume_file}};
}

} // namespace spindrift::fuzz
