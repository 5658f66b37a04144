#include "spindrift/io/vdb.h"

#include "spindrift/base/random.h"
#include "spindrift/io/atomic_file.h"
#include "temp_folder.h"

#include <fstream>
#include <numeric>
#include <openvdb/openvdb.h>
#include <openvdb/points/PointAttribute.h>
#include <openvdb/points/PointConversion.h>
#include <openvdb/points/PointCount.h>
#include <openvdb/points/PointGroup.h>
#include <pthread.h>

using namespace spindrift;
namespace points = openvdb::points;

// Suppressions for the leak sanitizer. On damaged files, OpenVDB leaks the node that it is reading and OpenImageIO a
// string per error message; both happen inside the libraries.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions()
{
    return "leak:*RootNode*readTopology*\nleak:*PagedInputStream::createHandle*\nleak:*ImageInput::geterror*\n";
}

namespace {

constexpr float kVoxel = 0.1f;

// Random particles in a box, in random order, with one attribute of each type.
Particles random_particles(size_t count, const Vec3f& center, float size, uint64_t seed = 1)
{
    Particles particles;
    particles.resize(count);
    Random random(seed);
    const auto vector = [&] { return Vec3f(random.uniform(-1, 1), random.uniform(-1, 1), random.uniform(-1, 1)); };
    auto& age = particles.attribute<float>("age");
    auto& kind = particles.attribute<int32_t>("kind");
    auto& rest = particles.attribute<Vec3f>("rest");
    for (size_t i = 0; i < count; ++i) {
        particles.P[i] = center + size * vector();
        particles.v[i] = 10 * vector();
        particles.id[i] = static_cast<int>(i);
        age[i] = random.uniform();
        kind[i] = static_cast<int32_t>(random.bits());
        rest[i] = vector();
    }
    return particles;
}

// place[id] is the index of the particle with that id.
std::vector<size_t> places_by_id(const Particles& particles)
{
    std::vector<size_t> place(particles.size(), particles.size());
    for (size_t i = 0; i < particles.size(); ++i) place.at(static_cast<size_t>(particles.id[i])) = i;
    return place;
}

// Writes and reads back; returns the particles ordered by id.
Particles round_trip(const Particles& particles, float voxel)
{
    const TempFolder folder;
    write_particles(folder / "p.vdb", particles, voxel, 0.05f);
    const Particles back = read_particles(folder / "p.vdb").particles;
    EXPECT_EQ(back.size(), particles.size());
    Particles ordered = back;
    const auto place = places_by_id(back);
    for (size_t i = 0; i < place.size(); ++i) {
        ordered.P[i] = back.P[place[i]], ordered.v[i] = back.v[place[i]], ordered.id[i] = back.id[place[i]];
        ordered.attribute<float>("age")[i] = back.find<float>("age")->at(place[i]);
        ordered.attribute<int32_t>("kind")[i] = back.find<int32_t>("kind")->at(place[i]);
        ordered.attribute<Vec3f>("rest")[i] = back.find<Vec3f>("rest")->at(place[i]);
    }
    return ordered;
}

float largest_error(const Particles& a, const Particles& b)
{
    float largest = 0;
    for (size_t i = 0; i < a.size(); ++i) largest = std::max(largest, (a.P[i] - b.P[i]).cwiseAbs().maxCoeff());
    return largest;
}

// A file as written by another program: with a random id (version 4) instead of a checksum.
void write_foreign(const std::string& path, const openvdb::GridCPtrVec& grids) { openvdb::io::File(path).write(grids); }

std::string as_foreign(std::string bytes) { return bytes.replace(21, 36, "01234567-89ab-4def-8123-456789abcdef"); }

// Without flushing to disk like write_file(), for tests that write thousands of files.
void write_quickly(const std::string& path, const std::string& bytes)
{
    std::ofstream(path, std::ios::binary) << bytes;
}

// Every reading function must fail cleanly.
void expect_unreadable(const std::string& path)
{
    EXPECT_TRUE(contains(error_of(ExitCode::failed, [&] { check_vdb(path); }), path));
    EXPECT_TRUE(contains(error_of(ExitCode::failed, [&] { describe_vdb(path); }), path));
    EXPECT_TRUE(contains(error_of(ExitCode::failed, [&] { read_particles(path); }), path));
    EXPECT_TRUE(contains(error_of(ExitCode::failed, [&] { read_field(path, "surface"); }), path));
}

Field<float> ball(const Topology& topology, float radius)
{
    Field<float> field(topology, 0.0f, 1000.0f);
    for (int t = 0; t < topology.tile_count(); ++t)
        for (int c = 0; c < kTileCells; ++c) {
            const Vec3i cell = topology.first_cell(t) + cell_in_tile(c);
            field.tile(t)[c] = cell.cast<float>().norm() - radius;
        }
    return field;
}

} // namespace

TEST(VdbPoints, EveryArrayRoundTrips)
{
    const Particles particles = random_particles(20000, Vec3f::Zero(), 2);
    const Particles back = round_trip(particles, kVoxel);
    EXPECT_EQ(back.id, particles.id);
    EXPECT_TRUE(back.v == particles.v);
    EXPECT_TRUE(back.attributes == particles.attributes);
    EXPECT_LT(largest_error(back, particles), 1e-5f * kVoxel);
    EXPECT_GT(largest_error(back, particles), 0.0f); // quantisation to 16 bits is visible
}

TEST(VdbPoints, PositionsRoundTripWithin1e4OfAVoxelFarFromTheOrigin)
{
    for (const Vec3f& center : {Vec3f(1000, -2000, 3000), Vec3f(-8000, 8000, 0), Vec3f(0.03f, 0.01f, -0.07f)}) {
        const Particles particles = random_particles(5000, center, 3);
        for (const float voxel : {0.013f, 0.1f, 1.7f})
            EXPECT_LT(largest_error(round_trip(particles, voxel), particles), 1e-4f * voxel)
                << center.transpose() << voxel;
    }
}

TEST(VdbPoints, PointsOnCellFacesRoundTrip)
{
    Particles particles = random_particles(1000, Vec3f::Zero(), 1);
    Random random(3);
    for (Vec3f& p : particles.P)
        for (int axis = 0; axis < 3; ++axis) {
            const float face = std::floor(random.uniform(-20, 20)) * kVoxel;
            p[axis] = random.uniform() < 0.5f ? face : std::nextafter(face, -1e9f);
        }
    EXPECT_LT(largest_error(round_trip(particles, kVoxel), particles), 1e-4f * kVoxel);
}

TEST(VdbPoints, RadiusVoxelAndMetadataRoundTrip)
{
    const TempFolder folder;
    write_particles(folder / "p.vdb", random_particles(100, Vec3f::Zero(), 1), kVoxel, 0.0625f,
                    {{"frame", "12"}, {"text", "naïve \"quotes\"\n"}});
    const ParticleFile file = read_particles(folder / "p.vdb");
    EXPECT_EQ(file.voxel, kVoxel);
    EXPECT_EQ(file.pscale, 0.0625f);
    EXPECT_FALSE(file.particles.attributes.contains("pscale"));
    EXPECT_EQ(file.metadata.at("frame"), "12");
    EXPECT_EQ(file.metadata.at("text"), "naïve \"quotes\"\n");
}

TEST(VdbPoints, VaryingRadiusIsAnAttribute)
{
    const TempFolder folder;
    Particles particles = random_particles(100, Vec3f::Zero(), 1);
    particles.attribute<float>("pscale").assign(100, 0.5f);
    particles.attribute<float>("pscale")[3] = 0.25f;
    write_particles(folder / "p.vdb", particles, kVoxel, 1);
    const ParticleFile file = read_particles(folder / "p.vdb");
    EXPECT_EQ(file.pscale, 0);
    const auto place = places_by_id(file.particles);
    EXPECT_EQ(file.particles.find<float>("pscale")->at(place[3]), 0.25f);
    EXPECT_EQ(file.particles.find<float>("pscale")->at(place[4]), 0.5f);
}

TEST(VdbPoints, ParticlesOfOneCellKeepTheirOrder)
{
    const TempFolder folder;
    Particles particles;
    particles.resize(5000);
    Random random(5);
    for (size_t i = 0; i < particles.size(); ++i) {
        const Vec3f cell(std::floor(random.uniform(-9, 9)), std::floor(random.uniform(-9, 9)), 0);
        particles.P[i] = kVoxel * (cell + Vec3f(random.uniform(0.1f, 0.9f), random.uniform(0.1f, 0.9f), 0.5f));
        particles.id[i] = static_cast<int>(i);
    }
    write_particles(folder / "p.vdb", particles, kVoxel, 0.05f);
    const Particles back = read_particles(folder / "p.vdb").particles;
    const auto cell = [](const Vec3f& p) { return Vec3i((p / kVoxel).array().floor().cast<int>()); };
    int shared = 0;
    for (size_t i = 1; i < back.size(); ++i) {
        if (cell(back.P[i]) != cell(back.P[i - 1])) continue;
        EXPECT_LT(back.id[i - 1], back.id[i]);
        ++shared;
    }
    EXPECT_EQ(shared, 5000 - 18 * 18); // the particles of each cell are consecutive
}

TEST(VdbPoints, FilesAreByteIdenticalForAnyThreadCount)
{
    const TempFolder folder;
    const Particles particles = random_particles(100000, Vec3f(5, -3, 2), 4);
    std::vector<std::string> files;
    for (const int threads : {1, 2, 7, 0}) {
        set_thread_count(threads);
        write_particles(folder / "p.vdb", particles, kVoxel, 0.05f, {{"frame", "1"}});
        files.push_back(read_file(folder / "p.vdb"));
    }
    set_thread_count(0);
    for (const std::string& file : files) EXPECT_TRUE(file == files[0]);
    EXPECT_EQ(files[0][21 + 14], '8'); // a custom id, not a random one

    Particles other = particles;
    other.v[77].x() += 1e-6f;
    write_particles(folder / "p.vdb", other, kVoxel, 0.05f, {{"frame", "1"}});
    EXPECT_NE(read_file(folder / "p.vdb").substr(21, 36), files[0].substr(21, 36));
}

// Read by OpenVDB itself, as other programs do.
TEST(VdbPoints, OpenVdbItselfReadsTheFile)
{
    const TempFolder folder;
    const Particles particles = random_particles(30000, Vec3f(-1, 2, 3), 2);
    write_particles(folder / "p.vdb", particles, kVoxel, 0.05f);
    openvdb::initialize();
    openvdb::io::File file(folder / "p.vdb");
    file.open();
    EXPECT_TRUE(file.hasGrid("particles"));
    const auto grid = openvdb::gridPtrCast<points::PointDataGrid>(file.readGrid("particles"));
    EXPECT_EQ(points::pointCount(grid->tree()), 30000u);
    EXPECT_EQ(file.compression(), openvdb::io::COMPRESS_BLOSC | openvdb::io::COMPRESS_ACTIVE_MASK);

    for (auto leaf = grid->tree().cbeginLeaf(); leaf; ++leaf) {
        leaf->validateOffsets();
        const auto& set = leaf->attributeSet();
        EXPECT_EQ(set.getConst("P")->type(), openvdb::NamePair("vec3s", "fxpt16"));
        EXPECT_EQ(set.getConst("v")->type(), openvdb::NamePair("vec3s", "null"));
        EXPECT_EQ(set.getConst("id")->type(), openvdb::NamePair("int32", "null"));
        EXPECT_EQ(set.getConst("pscale")->type(), openvdb::NamePair("float", "null"));
        EXPECT_TRUE(set.getConst("pscale")->isUniform());
        const points::AttributeHandle<openvdb::Vec3f> position(*set.getConst("P"));
        const points::AttributeHandle<int32_t> id(*set.getConst("id"));
        for (auto index = leaf->beginIndexOn(); index; ++index) {
            const auto world = grid->indexToWorld(position.get(*index) + index.getCoord().asVec3d());
            const Vec3f& expected = particles.P[id.get(*index)];
            EXPECT_LT((Vec3d(world[0], world[1], world[2]) - expected.cast<double>()).norm(), 2e-5 * kVoxel);
        }
    }
}

TEST(VdbPoints, FewOrNoParticlesRoundTrip)
{
    const TempFolder folder;
    write_particles(folder / "none.vdb", Particles(), kVoxel, 0.05f, {{"frame", "3"}});
    EXPECT_EQ(read_particles(folder / "none.vdb").particles.size(), 0u);
    EXPECT_EQ(read_particles(folder / "none.vdb").metadata.at("frame"), "3");
    check_vdb(folder / "none.vdb");

    const Particles one = random_particles(1, Vec3f(-7, -7, -7), 0.1f);
    EXPECT_LT(largest_error(round_trip(one, kVoxel), one), 1e-4f * kVoxel);
}

TEST(VdbPoints, UnwritableParticlesAreAnErrorAndKeepTheExistingFile)
{
    const TempFolder folder;
    const std::string path = folder / "p.vdb";
    const Particles good = random_particles(100, Vec3f::Zero(), 1);
    write_particles(path, good, kVoxel, 0.05f);
    const auto error_for = [&](const Particles& particles, float voxel) {
        const std::string message = error_of(ExitCode::failed, [&] { write_particles(path, particles, voxel, 0.05f); });
        EXPECT_EQ(read_particles(path).particles.size(), 100u);
        return message;
    };
    Particles bad = good;
    bad.P[42].y() = std::nanf("");
    EXPECT_TRUE(contains(error_for(bad, kVoxel), "1 of 300 numbers of \"P\" are not finite"));
    bad.P[42].y() = 1e30f;
    EXPECT_TRUE(contains(error_for(bad, kVoxel), "too far"));
    bad = good;
    bad.v.pop_back();
    EXPECT_TRUE(contains(error_for(bad, kVoxel), "99 values of \"v\""));
    bad = good;
    bad.attribute<float>("P");
    EXPECT_TRUE(contains(error_for(bad, kVoxel), "\"P\""));
    bad = good;
    bad.attribute<float>("two words");
    EXPECT_TRUE(contains(error_for(bad, kVoxel), "\"two words\""));
    error_for(good, 0);
    error_for(good, std::nanf(""));
}

namespace {

// Points made by OpenVDB's generic conversion, with positions in the given codec.
template <class Codec> points::PointDataGrid::Ptr foreign_points(const std::vector<openvdb::Vec3f>& positions,
                                                                 const openvdb::math::Transform& transform)
{
    openvdb::initialize();
    return points::createPointDataGrid<Codec, points::PointDataGrid>(positions, transform);
}

std::vector<openvdb::Vec3f> some_positions(int count)
{
    std::vector<openvdb::Vec3f> positions;
    Random random(9);
    for (int i = 0; i < count; ++i)
        positions.emplace_back(random.uniform(-3, 3), random.uniform(-3, 3), random.uniform(-3, 3));
    return positions;
}

// Adds an attribute with value(i) for the point with index i.
template <class T, class Codec, class Value> void add_attribute(points::PointDataGrid& grid,
                                                                const std::vector<openvdb::Vec3f>& positions,
                                                                const std::string& name, const Value& value)
{
    std::vector<T> values;
    for (size_t i = 0; i < positions.size(); ++i) values.push_back(value(i));
    const points::PointAttributeVector<openvdb::Vec3f> wrapper(positions);
    const auto index = openvdb::tools::createPointIndexGrid<openvdb::tools::PointIndexGrid>(wrapper, grid.transform());
    points::appendAttribute<T, Codec>(grid.tree(), name);
    const points::PointAttributeVector<T> source(values);
    points::populateAttribute<points::PointDataTree, openvdb::tools::PointIndexTree, points::PointAttributeVector<T>>(
        grid.tree(), index->tree(), name, source);
}

} // namespace

TEST(VdbPoints, ForeignPointsOfAnyTypeAreRead)
{
    const TempFolder folder;
    const auto positions = some_positions(3000);
    const auto transform = openvdb::math::Transform::createLinearTransform(0.25);
    const auto grid = foreign_points<points::NullCodec>(positions, *transform);
    const auto number = [](size_t i) { return static_cast<double>(i); };
    add_attribute<openvdb::Vec3d, points::NullCodec>(
        *grid, positions, "v", [&](size_t i) { return openvdb::Vec3d(number(i), 0.5, -number(i)); });
    add_attribute<int64_t, points::NullCodec>(*grid, positions, "id", [](size_t i) { return static_cast<int64_t>(i); });
    add_attribute<double, points::NullCodec>(*grid, positions, "mass", [&](size_t i) { return number(i) / 4; });
    add_attribute<float, points::TruncateCodec>(*grid, positions, "heat",
                                                [](size_t i) { return static_cast<float>(i % 64); });
    add_attribute<bool, points::NullCodec>(*grid, positions, "flag", [](size_t i) { return i % 3 == 0; });
    add_attribute<openvdb::Vec3i, points::NullCodec>(
        *grid, positions, "cell", [](size_t i) { return openvdb::Vec3i(static_cast<int>(i), 1, -2); });
    add_attribute<int16_t, points::NullCodec>(*grid, positions, "small",
                                              [](size_t i) { return static_cast<int16_t>(i); });
    add_attribute<openvdb::math::Quats, points::NullCodec>(*grid, positions, "orient",
                                                           [](size_t) { return openvdb::math::Quats(0, 0, 0, 1); });
    add_attribute<float, points::NullCodec>(*grid, positions, "pscale", [](size_t) { return 0.125f; });
    points::appendGroup(grid->tree(), "wet");
    grid->setName("splash");
    const auto second = foreign_points<points::NullCodec>(some_positions(7), *transform);
    second->setName("later");
    const auto volume = openvdb::FloatGrid::create(1);
    volume->setName("first");
    write_foreign(folder / "f.vdb", {volume, grid, second});

    const ParticleFile file = read_particles(folder / "f.vdb", {.grid = "splash", .velocity = {}});
    const Particles& read = file.particles;
    ASSERT_EQ(read.size(), 3000u);
    EXPECT_EQ(file.voxel, 0.25f);
    EXPECT_EQ(file.pscale, 0.125f);
    std::vector<std::string> names;
    for (const auto& [name, array] : read.attributes) names.push_back(name);
    EXPECT_EQ(names, (std::vector<std::string>{"cell", "flag", "heat", "mass", "small"}));
    for (size_t i = 0; i < read.size(); ++i) {
        const auto id = static_cast<size_t>(read.id[i]);
        const auto x = static_cast<float>(id);
        EXPECT_LT((read.P[i] - Vec3f(positions[id].x(), positions[id].y(), positions[id].z())).norm(), 1e-6f);
        EXPECT_EQ(read.v[i], Vec3f(x, 0.5f, -x));
        EXPECT_EQ(read.find<float>("mass")->at(i), x / 4);
        EXPECT_EQ(read.find<float>("heat")->at(i), static_cast<float>(id % 64));
        EXPECT_EQ(read.find<int32_t>("flag")->at(i), id % 3 == 0);
        EXPECT_EQ(read.find<Vec3f>("cell")->at(i), Vec3f(x, 1, -2));
        EXPECT_EQ(read.find<int32_t>("small")->at(i), static_cast<int32_t>(id));
    }
}

TEST(VdbPoints, SeveralPointGridsFormOneSet)
{
    const TempFolder folder;
    const auto transform = openvdb::math::Transform::createLinearTransform(0.25);
    const auto make = [&](int count, const std::string& name) {
        const auto grid = foreign_points<points::NullCodec>(some_positions(count), *transform);
        grid->setName(name);
        return grid;
    };
    const auto one = make(40, "one"), two = make(30, "two");
    add_attribute<openvdb::Vec3f, points::NullCodec>(*one, some_positions(40), "velocity",
                                                     [](size_t) { return openvdb::Vec3f(1, 2, 3); });
    add_attribute<openvdb::Vec3d, points::NullCodec>(*two, some_positions(30), "flow",
                                                     [](size_t) { return openvdb::Vec3d(4, 5, 6); });
    add_attribute<float, points::NullCodec>(*two, some_positions(30), "heat", [](size_t) { return 7.0f; });
    add_attribute<float, points::NullCodec>(*two, some_positions(30), "pscale", [](size_t) { return 0.5f; });
    write_foreign(folder / "f.vdb", {one, two});

    const Particles all = read_particles(folder / "f.vdb").particles;
    ASSERT_EQ(all.size(), 70u);
    for (size_t i = 0; i < 70; ++i) {
        EXPECT_EQ(all.v[i], i < 40 ? Vec3f(1, 2, 3) : Vec3f(0, 0, 0));
        EXPECT_EQ(all.find<float>("heat")->at(i), i < 40 ? 0.0f : 7.0f);
        EXPECT_EQ(all.find<float>("pscale")->at(i), i < 40 ? 0.0f : 0.5f);
        EXPECT_EQ(all.find<Vec3f>("flow")->at(i), i < 40 ? Vec3f(0, 0, 0) : Vec3f(4, 5, 6));
    }
    const Particles second = read_particles(folder / "f.vdb", {.grid = "two", .velocity = "flow"}).particles;
    ASSERT_EQ(second.size(), 30u);
    EXPECT_EQ(second.v[3], Vec3f(4, 5, 6));
    const auto message = [&](const PointNames& names) {
        return error_of(ExitCode::failed, [&] { read_particles(folder / "f.vdb", names); });
    };
    EXPECT_TRUE(contains(message({.grid = "three", .velocity = {}}), "no points named \"three\" (grids: one, two)"));
    EXPECT_TRUE(contains(message({.grid = "two", .velocity = "speed"}),
                         "no vector \"speed\" for the velocity (vectors: flow)"));
}

TEST(VdbPoints, PositionsMayBeDoubles)
{
    const TempFolder folder;
    const std::vector<openvdb::Vec3d> positions = {{0.125, 0.25, 0.5}, {1.0 / 3, 2, -3}};
    openvdb::initialize();
    const auto grid = points::createPointDataGrid<points::NullCodec, points::PointDataGrid>(
        positions, *openvdb::math::Transform::createLinearTransform(0.1));
    // OpenVDB's conversion writes floats; other writers may not.
    const auto descriptor =
        points::AttributeSet::Descriptor::create(points::TypedAttributeArray<openvdb::Vec3d>::attributeType());
    for (auto leaf = grid->tree().beginLeaf(); leaf; ++leaf) {
        const auto count = static_cast<openvdb::Index>(leaf->pointCount());
        leaf->replaceAttributeSet(new points::AttributeSet(descriptor, count), true);
        points::AttributeWriteHandle<openvdb::Vec3d> handle(leaf->attributeArray("P"));
        for (openvdb::Index i = 0; i < handle.size(); ++i) handle.set(i, openvdb::Vec3d(0.25, -0.25, 0.125));
    }
    write_foreign(folder / "f.vdb", {grid});
    const Particles read = read_particles(folder / "f.vdb").particles;
    ASSERT_EQ(read.size(), 2u);
    for (const Vec3f& p : read.P)
        for (int a = 0; a < 3; ++a) {
            const float within = Vec3f(0.25f, -0.25f, 0.125f)[a], cells = p[a] / 0.1f - within;
            EXPECT_NEAR(cells, std::round(cells), 1e-4f);
        }
}

TEST(VdbPoints, PositionsOfAnyCodecAreReadAndMissingIdsGenerated)
{
    const TempFolder folder;
    const auto positions = some_positions(500);
    openvdb::math::Mat4d matrix = openvdb::math::Mat4d::identity();
    matrix.postRotate(openvdb::math::Y_AXIS, 0.3);
    matrix.preScale(openvdb::Vec3d(0.2, 0.2, 0.2));
    const auto transform = openvdb::math::Transform::createLinearTransform(matrix);
    const auto check = [&](const points::PointDataGrid::Ptr& grid, float tolerance) {
        add_attribute<openvdb::Vec3f, points::TruncateCodec>(*grid, positions, "vel",
                                                             [](size_t) { return openvdb::Vec3f(1, 2, 3); });
        write_foreign(folder / "f.vdb", {grid});
        const Particles read = read_particles(folder / "f.vdb").particles;
        ASSERT_EQ(read.size(), positions.size());
        for (size_t i = 0; i < read.size(); ++i) {
            EXPECT_EQ(read.id[i], static_cast<int32_t>(i));
            EXPECT_EQ(read.v[i], Vec3f(1, 2, 3));
        }
        EXPECT_TRUE(read.attributes.empty());
        // The sets must match: each given point has a read one nearby.
        for (const openvdb::Vec3f& p : positions) {
            float nearest = kInfinity;
            for (const Vec3f& q : read.P) nearest = std::min(nearest, (q - Vec3f(p.x(), p.y(), p.z())).norm());
            EXPECT_LT(nearest, tolerance);
        }
    };
    check(foreign_points<points::NullCodec>(positions, *transform), 1e-6f);
    check(foreign_points<points::TruncateCodec>(positions, *transform), 1e-4f);
    check(foreign_points<points::FixedPointCodec<false>>(positions, *transform), 1e-5f);
    check(foreign_points<points::FixedPointCodec<true>>(positions, *transform), 2e-3f);
}

TEST(VdbPoints, ErrorForAFileWithoutPointsListsItsGrids)
{
    const TempFolder folder;
    const Topology topology = Topology::covering(Vec3i::Zero(), Vec3i(8, 8, 8));
    const Field<float> field = ball(topology, 3);
    write_fields(folder / "f.vdb", {{"surface", &field}, {"density", &field}}, kVoxel);
    const std::string message = error_of(ExitCode::failed, [&] { read_particles(folder / "f.vdb"); });
    EXPECT_TRUE(contains(message, "surface, density")) << message;
}

TEST(VdbFields, ValuesAndTilesRoundTripWithNegativeCells)
{
    const TempFolder folder;
    const Topology topology = Topology::covering(Vec3i(-40, -17, -3), Vec3i(25, 9, 30));
    const Field<float> field = ball(topology, 10);
    write_fields(folder / "f.vdb", {{"surface", &field, true}}, kVoxel, {{"frame", "1"}});
    const FieldFile file = read_field(folder / "f.vdb", "surface");
    ASSERT_EQ(file.topology->codes(), topology.codes());
    EXPECT_EQ(file.voxel, kVoxel);
    EXPECT_EQ(file.field.background(), 1000.0f);
    EXPECT_LT((file.origin - Vec3f::Constant(kVoxel / 2)).norm(), 1e-7f);
    EXPECT_FALSE(file.corners);
    EXPECT_TRUE(std::equal(field.values().begin(), field.values().end(), file.field.values().begin()));
}

TEST(VdbFields, OpenVdbReadsEachValueAtItsCell)
{
    const TempFolder folder;
    const Topology topology = Topology::covering(Vec3i(-8, -8, -8), Vec3i(8, 16, 8));
    Field<float> field = ball(topology, 5);
    const int empty = topology.find(Vec3i(0, 1, 0));
    std::fill_n(field.tile(empty), kTileCells, field.background()); // needs no leaf
    field.tile(0)[offset_in_tile(1, 2, 3)] = field.background();
    write_fields(folder / "f.vdb", {{"surface", &field, true, false}, {"corner", &field, false, true}}, kVoxel);

    openvdb::initialize();
    openvdb::io::File file(folder / "f.vdb");
    file.open();
    const auto grid = openvdb::gridPtrCast<openvdb::FloatGrid>(file.readGrid("surface"));
    EXPECT_EQ(grid->getGridClass(), openvdb::GRID_LEVEL_SET);
    EXPECT_EQ(grid->tree().leafCount(), static_cast<openvdb::Index32>(topology.tile_count() - 1));
    EXPECT_EQ(grid->activeVoxelCount(), topology.cell_count() - kTileCells - 1);
    const auto expect_near = [](const openvdb::Vec3d& a, double x, double y, double z) {
        EXPECT_LT((a - openvdb::Vec3d(x, y, z)).length(), 1e-6);
    };
    expect_near(grid->indexToWorld(openvdb::Coord(2, -1, 0)), 0.25, -0.05, 0.05);
    for (const Vec3i& cell : {Vec3i(2, -1, 0), Vec3i(-8, 7, 3), Vec3i(1, 12, 4)})
        EXPECT_EQ(grid->tree().getValue(openvdb::Coord(cell.x(), cell.y(), cell.z())), field.at(cell));

    const auto corner = file.readGrid("corner");
    EXPECT_EQ(corner->getGridClass(), openvdb::GRID_FOG_VOLUME);
    expect_near(corner->indexToWorld(openvdb::Coord(2, -1, 0)), 0.2, -0.1, 0);
    EXPECT_TRUE(read_field(folder / "f.vdb", "corner").corners);
    EXPECT_EQ(read_field(folder / "f.vdb", "surface").topology->tile_count(), topology.tile_count() - 1);
}

TEST(VdbFields, VelocitiesLieInTheBandOfTheLevelSet)
{
    const TempFolder folder;
    const Topology topology = Topology::covering(Vec3i::Constant(-16), Vec3i::Constant(16));
    Field<float> phi(topology, 0);
    Field<Vec3f> velocity(topology, Vec3f::Zero());
    constexpr float kBand = 3 * kVoxel;
    for (int t = 0; t < topology.tile_count(); ++t)
        for (int i = 0; i < kTileCells; ++i) {
            const Vec3f x = kVoxel * ((topology.first_cell(t) + cell_in_tile(i)).cast<float>() + Vec3f::Constant(0.5f));
            phi.tile(t)[i] = std::clamp(x.norm() - 10 * kVoxel, -kBand, kBand);
            velocity.tile(t)[i] = x;
        }
    std::fill_n(phi.tile(topology.tile_count()), kTileCells, kBand);
    write_fields(folder / "f.vdb", {{"surface", &phi, true}}, kVoxel, {}, {{"vel", &velocity, &phi}});

    openvdb::io::File file(folder / "f.vdb");
    file.open();
    const auto surface = openvdb::gridPtrCast<openvdb::FloatGrid>(file.readGrid("surface"));
    const auto vel = openvdb::gridPtrCast<openvdb::Vec3SGrid>(file.readGrid("vel"));
    EXPECT_EQ(surface->getGridClass(), openvdb::GRID_LEVEL_SET);
    EXPECT_NE(vel->getGridClass(), openvdb::GRID_STAGGERED);
    EXPECT_EQ(vel->getVectorType(), openvdb::VEC_CONTRAVARIANT_RELATIVE);
    EXPECT_EQ(surface->activeVoxelCount(), vel->activeVoxelCount());
    EXPECT_EQ(surface->transform(), vel->transform());
    size_t active = 0;
    for (auto it = vel->cbeginValueOn(); it; ++it, ++active) {
        EXPECT_TRUE(surface->tree().isValueOn(it.getCoord()));
        const openvdb::Vec3d x = vel->indexToWorld(it.getCoord());
        EXPECT_LT((openvdb::Vec3d(*it) - x).length(), 1e-5);
        EXPECT_LT(std::abs(x.length() - 10 * static_cast<double>(kVoxel)), static_cast<double>(kBand) + 1e-5);
    }
    EXPECT_GT(active, 6000u); // 4 pi 10^2 cells times the width of the band
    // The interior is outside the band but has negative distance.
    EXPECT_FALSE(surface->tree().isValueOn(openvdb::Coord(0, 0, 0)));
    EXPECT_EQ(surface->tree().getValue(openvdb::Coord(0, 0, 0)), -kBand);
}

TEST(VdbFields, FilesAreByteIdenticalForAnyThreadCount)
{
    const TempFolder folder;
    const Topology topology = Topology::covering(Vec3i(-40, -40, -40), Vec3i(40, 40, 40));
    const Field<float> field = ball(topology, 20);
    std::vector<std::string> files;
    for (const int threads : {1, 2, 0}) {
        set_thread_count(threads);
        write_fields(folder / "f.vdb", {{"a", &field}, {"b", &field}}, kVoxel);
        files.push_back(read_file(folder / "f.vdb"));
    }
    EXPECT_TRUE(files[0] == files[1] && files[1] == files[2]);
}

TEST(VdbFields, ForeignActiveTilesBecomeCells)
{
    const TempFolder folder;
    openvdb::initialize();
    const auto grid = openvdb::FloatGrid::create(-1);
    grid->setName("density");
    grid->sparseFill(openvdb::CoordBBox(openvdb::Coord(-256), openvdb::Coord(-129)), 3,
                     true); // an active tile on a higher level
    grid->tree().setValue(openvdb::Coord(5, -6, 7), 8);
    ASSERT_GT(grid->tree().activeTileCount(), 0u);
    grid->setTransform(openvdb::math::Transform::createLinearTransform(0.5));
    write_foreign(folder / "f.vdb", {grid});
    const FieldFile file = read_field(folder / "f.vdb", "density");
    EXPECT_EQ(file.topology->tile_count(), 16 * 16 * 16 + 1);
    EXPECT_EQ(file.field.at(Vec3i(-256, -129, -200)), 3);
    EXPECT_EQ(file.field.at(Vec3i(-128, -129, -200)), -1);
    EXPECT_EQ(file.field.at(Vec3i(5, -6, 7)), 8);
    EXPECT_EQ(file.field.at(Vec3i(5, -6, 6)), -1);
    EXPECT_EQ(file.voxel, 0.5f);
    EXPECT_TRUE(file.corners);
}

TEST(VdbFields, SeveralForeignGridsAreReadAtOnce)
{
    const TempFolder folder;
    openvdb::initialize();
    const auto density = openvdb::FloatGrid::create(0);
    density->setName("density");
    density->tree().setValue(openvdb::Coord(1, -2, 3), 0.1f);
    density->setTransform(openvdb::math::Transform::createLinearTransform(0.25));
    density->transform().postTranslate(openvdb::Vec3d(10, 0, -3));
    density->setSaveFloatAsHalf(true);
    const auto color = openvdb::Vec3SGrid::create();
    color->setName("Cd");
    color->tree().setValue(openvdb::Coord(0, 9, 0), openvdb::Vec3f(1, 2, 3));
    const auto other = openvdb::FloatGrid::create(0);
    other->setName("fuel");
    write_foreign(folder / "f.vdb", {density, color, other});
    const FieldSet set = read_fields(folder / "f.vdb", {"density"}, {"temperature", "Cd"});
    ASSERT_EQ(set.numbers.size(), 1u);
    ASSERT_EQ(set.vectors.size(), 1u);
    const FieldFile& file = set.numbers.at("density");
    EXPECT_NEAR(file.field.at(Vec3i(1, -2, 3)), 0.1f, 1e-4f);
    EXPECT_EQ(file.voxel, 0.25f);
    EXPECT_EQ(file.origin, Vec3f(10, 0, -3));
    EXPECT_EQ(set.vectors.at("Cd").field.at(Vec3i(0, 9, 0)), Vec3f(1, 2, 3));
    EXPECT_TRUE(contains(error_of(ExitCode::failed, [&] { read_fields(folder / "f.vdb", {"flames"}); }),
                         "no grid \"flames\" (grids: density, Cd, fuel)"));
}

TEST(VdbFields, UnsupportedGridsAreErrors)
{
    const TempFolder folder;
    openvdb::initialize();
    const auto huge = openvdb::FloatGrid::create(0);
    huge->setName("huge");
    huge->sparseFill(openvdb::CoordBBox(openvdb::Coord(0), openvdb::Coord((1 << 15) - 1)), 1, true);
    const auto vector = openvdb::Vec3SGrid::create();
    vector->setName("vel");
    const auto flat = openvdb::FloatGrid::create(0);
    flat->setName("flat");
    flat->transform().preScale(openvdb::Vec3d(1, 2, 1));
    const auto number = openvdb::DoubleGrid::create(0.5);
    number->setName("double");
    number->tree().setValue(openvdb::Coord(-1, 0, 1), 0.25);
    write_foreign(folder / "f.vdb", {huge, vector, flat, number});
    const auto error_for = [&](const char* name) {
        return error_of(ExitCode::failed, [&] { read_field(folder / "f.vdb", name); });
    };
    EXPECT_TRUE(contains(error_for("huge"), "too large"));
    EXPECT_TRUE(contains(error_for("vel"), "vec3s"));
    EXPECT_TRUE(contains(error_for("flat"), "not cubes"));
    EXPECT_TRUE(contains(error_for("nothing"), "huge, vel, flat, double"));
    EXPECT_EQ(read_field(folder / "f.vdb", "double").field.at(Vec3i(-1, 0, 1)), 0.25f);
}

TEST(VdbDescribe, NamesGridsTypesBoundsAndAttributes)
{
    const TempFolder folder;
    Particles particles = random_particles(100, Vec3f::Zero(), 1);
    particles.attribute<float>("age").assign(100, 0.5f);
    particles.attribute<float>("age")[7] = 2.5f;
    write_particles(folder / "p.vdb", particles, 0.25f, 0.0625f, {{"frame", "12"}});
    const std::string text = describe_vdb(folder / "p.vdb");
    for (const char* part :
         {"1 grid", "metadata frame = 12", "grid particles", "voxel         0.25 m", "points        100",
          "attribute     age float:null, 0.5 to 2.5", "attribute     id int32:null, 0 to 99",
          "attribute     P vec3s:fxpt16", "attribute     pscale float:null, 0.0625 to 0.0625"})
        EXPECT_TRUE(contains(text, part)) << part << " in\n" << text;

    const Topology topology = Topology::covering(Vec3i(-8, 0, 0), Vec3i(8, 8, 8));
    const Field<float> field = ball(topology, 3);
    write_fields(folder / "f.vdb", {{"surface", &field, true}}, kVoxel);
    const std::string fields = describe_vdb(folder / "f.vdb");
    for (const char* part :
         {"grid surface", "float", "Level Set", "active        1024", "(-0.8, 0, 0) to (0.8, 0.8, 0.8)"})
        EXPECT_TRUE(contains(fields, part)) << part << " in\n" << fields;
}

TEST(VdbDamage, ErrorNamesAFileThatIsNotVdb)
{
    const TempFolder folder;
    expect_unreadable(folder / "missing.vdb");
    expect_unreadable(folder.path());
    write_file(folder / "empty.vdb", "");
    expect_unreadable(folder / "empty.vdb");
    write_file(folder / "text.vdb",
               "solid cube\n  facet normal 0 0 1\n and so on, long enough to hold a header and more\n");
    EXPECT_TRUE(contains(error_of(ExitCode::failed, [&] { check_vdb(folder / "text.vdb"); }), "not a VDB file"));
    Random random(4);
    for (const size_t length : {3, 60, 1000, 100000}) {
        std::string noise(length, '\0');
        for (char& c : noise) c = static_cast<char>(random.bits());
        write_file(folder / "noise.vdb", noise);
        expect_unreadable(folder / "noise.vdb");
    }
}

// Truncated at many lengths, as one of our files (with a checksum) and as a foreign one (without).
TEST(VdbDamage, EveryTruncationIsDetected)
{
    const TempFolder folder;
    const Topology topology = Topology::covering(Vec3i(-8, -8, -8), Vec3i(8, 8, 8));
    const Field<float> field = ball(topology, 5);
    write_fields(folder / "f.vdb", {{"surface", &field}, {"other", &field}}, kVoxel);
    write_particles(folder / "p.vdb", random_particles(3000, Vec3f::Zero(), 1), kVoxel, 0.05f);
    for (const char* name : {"f.vdb", "p.vdb"}) {
        const std::string ours = read_file(folder / name), foreign = as_foreign(ours);
        write_quickly(folder / "whole.vdb", foreign);
        check_vdb(folder / "whole.vdb"); // a changed id alone is harmless
        const auto expect_detected = [&](const std::string& bytes, size_t length) {
            write_quickly(folder / "cut.vdb", bytes.substr(0, length));
            EXPECT_TRUE(contains(error_of(ExitCode::failed, [&] { check_vdb(folder / "cut.vdb"); }), "cut.vdb"))
                << length;
        };
        int checked = 0;
        for (size_t length = 0; length < ours.size(); length += length < 300 ? 1 : 389) {
            expect_detected(ours, length);
            if (checked++ % 10 == 0) expect_detected(foreign, length); // a process each
        }
        write_quickly(folder / "cut.vdb", foreign.substr(0, foreign.size() - 1));
        EXPECT_TRUE(contains(error_of(ExitCode::failed, [&] { check_vdb(folder / "cut.vdb"); }), "cut.vdb"));
    }
}

TEST(VdbDamage, SingleChangedBitIsDetected)
{
    const TempFolder folder;
    write_particles(folder / "p.vdb", random_particles(3000, Vec3f::Zero(), 1), kVoxel, 0.05f);
    const std::string whole = read_file(folder / "p.vdb");
    for (size_t at = 0; at < whole.size(); at += at < 400 ? 1 : 211) {
        if (at == 21 + 14) continue; // the version of the id, which tells whether it is a checksum
        std::string changed = whole;
        changed[at] = static_cast<char>(changed[at] ^ 0x10);
        write_quickly(folder / "bit.vdb", changed);
        EXPECT_TRUE(contains(error_of(ExitCode::failed, [&] { check_vdb(folder / "bit.vdb"); }), "bit.vdb")) << at;
    }
}

// A fork inherits the locks that other threads hold at that moment, TBB's for instance, and waits for them forever.
TEST(VdbDamage, ForeignFilesAreReadWithoutForkingThisProcess)
{
    static int forks = 0;
    ASSERT_EQ(::pthread_atfork([] { ++forks; }, nullptr, nullptr), 0);
    const TempFolder folder;
    write_particles(folder / "p.vdb", random_particles(100, Vec3f::Zero(), 1), kVoxel, 0.05f);
    write_quickly(folder / "foreign.vdb", as_foreign(read_file(folder / "p.vdb")));
    EXPECT_EQ(read_particles(folder / "foreign.vdb").particles.size(), 100u);
    EXPECT_EQ(forks, 0);
}

// Without compression, so that the changed bytes are counts, offsets and values.
TEST(VdbDamage, CorruptForeignPointsAreRejectedOrRead)
{
    const TempFolder folder;
    openvdb::initialize();
    const auto transform = openvdb::math::Transform::createLinearTransform(0.5);
    const auto grid = foreign_points<points::FixedPointCodec<false>>(some_positions(100), *transform);
    points::appendAttribute<float>(grid->tree(), "heat", 0.5f);
    points::appendGroup(grid->tree(), "wet");
    grid->setName("points");
    openvdb::io::File file(folder / "whole.vdb");
    file.setCompression(openvdb::io::COMPRESS_NONE);
    file.write({grid});
    file.close();
    const std::string whole = read_file(folder / "whole.vdb");
    ASSERT_EQ(read_particles(folder / "whole.vdb").particles.size(), 100u);
    constexpr uint32_t odd[] = {0, 1, 0x7f, 0xffff, 0x7fffffff, 0xffffffff, 0x80000000, 1000};
    // Most of the file is empty masks: change only nonzero bytes.
    std::vector<size_t> places;
    for (size_t at = 60; at + 4 <= whole.size(); ++at)
        if (whole[at] != 0) places.push_back(at);
    int refused = 0;
    for (int i = 0; i < 200; ++i) {
        Random random(5, static_cast<uint64_t>(i));
        std::string changed = whole;
        const size_t at = places[random.bits() % places.size()];
        std::memcpy(changed.data() + at, &odd[random.bits() % std::size(odd)], 4);
        write_quickly(folder / "changed.vdb", changed);
        try {
            const Particles read = read_particles(folder / "changed.vdb").particles;
            read.for_each_array([&](const std::string&, const auto& array) { EXPECT_EQ(array.size(), read.size()); });
        } catch (const Error& error) {
            EXPECT_TRUE(contains(error.what(), "changed.vdb")) << error.what();
            ++refused;
        }
    }
    EXPECT_GT(refused, 20);
}

TEST(VdbDamage, LengthOfGigabytesIsRejected)
{
    const TempFolder folder;
    write_particles(folder / "p.vdb", random_particles(100, Vec3f::Zero(), 1), kVoxel, 0.05f);
    std::string bytes = as_foreign(read_file(folder / "p.vdb"));
    const size_t name = bytes.find("particles"); // preceded by its length
    const uint32_t length = 0xfffffff0;
    std::memcpy(bytes.data() + name - sizeof length, &length, sizeof length);
    write_quickly(folder / "long.vdb", bytes);
    EXPECT_TRUE(contains(error_of(ExitCode::failed, [&] { check_vdb(folder / "long.vdb"); }), "long.vdb is damaged"));
}

TEST(VdbFields, HugeConstantRegionIsRejectedBeforeAllocation)
{
    const TempFolder folder;
    openvdb::initialize();
    const auto grid = openvdb::FloatGrid::create(0);
    grid->setName("density");
    grid->sparseFill(openvdb::CoordBBox(openvdb::Coord(0), openvdb::Coord(1023)), 3, true);
    write_foreign(folder / "f.vdb", {grid});
    const std::string message = error_of(ExitCode::failed, [&] { read_field(folder / "f.vdb", "density"); });
    EXPECT_TRUE(contains(message, "1073741824 active cells in constant regions")) << message;
}

TEST(VdbFields, NonFiniteValuesAreRejected)
{
    const TempFolder folder;
    openvdb::initialize();
    const auto grid = openvdb::FloatGrid::create(0);
    grid->setName("density");
    grid->tree().setValue(openvdb::Coord(1, 2, 3), std::nanf(""));
    grid->tree().setValue(openvdb::Coord(4, 2, 3), INFINITY);
    write_foreign(folder / "f.vdb", {grid});
    const std::string message = error_of(ExitCode::failed, [&] { read_field(folder / "f.vdb", "density"); });
    EXPECT_TRUE(contains(message, "\"density\" of ")) << message;
    EXPECT_TRUE(contains(message, "has 2 values that are not finite")) << message;
}
