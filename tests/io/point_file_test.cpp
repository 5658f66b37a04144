#include "spindrift/io/point_file.h"

#include "io/temp_folder.h"
#include "spindrift/io/atomic_file.h"

#include <algorithm>
#include <cstring>

using namespace spindrift;

namespace {

ParticleFile read_text(const std::string& text, const PointNames& names = {})
{
    const TempFolder folder;
    write_file(folder / "p.ply", text);
    return read_points(folder / "p.ply", names);
}

std::string error_for(const std::string& text, const PointNames& names = {})
{
    return error_of(ExitCode::bad_input, [&] { read_text(text, names); });
}

std::string header(const std::string& format, int count, const std::string& properties)
{
    return "ply\nformat " + format + " 1.0\nelement vertex " + std::to_string(count) + "\n" + properties +
           "end_header\n";
}

const std::string kPlace = "property float x\nproperty float y\nproperty float z\n";

template <class T> std::string bytes_of(T value, bool reversed)
{
    std::string raw(sizeof(T), '\0');
    std::memcpy(raw.data(), &value, sizeof(T));
    if (reversed) std::reverse(raw.begin(), raw.end());
    return raw;
}

} // namespace

TEST(PointFile, PlyCloudHasPositionsVelocitiesAndAttributes)
{
    const auto file = read_text(header("ascii", 2,
                                       "property double x\nproperty double y\nproperty double z\n"
                                       "property float vx\nproperty float vy\nproperty float vz\nproperty uchar id\n"
                                       "property float heat\nproperty float Cd_x\nproperty float Cd_y\n"
                                       "property float Cd_z\nproperty list uchar int tags\n") +
                                "0.5 1 2 3 4 5 7 0.25 1 0 0.5 2 9 9\n-1 -2 -3 -4 -5 -6 8 0.75 0 1 0 0\n");
    const Particles& p = file.particles;
    EXPECT_EQ(p.P, (std::vector<Vec3f>{{0.5f, 1, 2}, {-1, -2, -3}}));
    EXPECT_EQ(p.v, (std::vector<Vec3f>{{3, 4, 5}, {-4, -5, -6}}));
    EXPECT_EQ(p.id, (std::vector<int32_t>{7, 8}));
    ASSERT_EQ(p.attributes.size(), 2u);
    EXPECT_EQ(*p.find<float>("heat"), (std::vector<float>{0.25f, 0.75f}));
    EXPECT_EQ(*p.find<Vec3f>("Cd"), (std::vector<Vec3f>{{1, 0, 0.5f}, {0, 1, 0}}));
}

TEST(PointFile, BothByteOrdersAreRead)
{
    for (const bool big : {false, true}) {
        std::string text = header(big ? "binary_big_endian" : "binary_little_endian", 2,
                                  "property double x\nproperty float y\nproperty short z\nproperty float heat\n");
        for (int i = 0; i < 2; ++i)
            text += bytes_of(0.5 + i, big) + bytes_of(-1.25f, big) + bytes_of(int16_t(300), big) + bytes_of(2.5f, big);
        const Particles p = read_text(text).particles;
        EXPECT_EQ(p.P, (std::vector<Vec3f>{{0.5f, -1.25f, 300}, {1.5f, -1.25f, 300}}));
        EXPECT_EQ(p.v, (std::vector<Vec3f>(2, Vec3f::Zero())));
        EXPECT_EQ(p.id, (std::vector<int32_t>{0, 1}));
        EXPECT_EQ(*p.find<float>("heat"), (std::vector<float>{2.5f, 2.5f}));
    }
}

TEST(PointFile, FacesOfAPlyAreIgnored)
{
    const std::string vertices = "element vertex 1\n" + kPlace,
                      faces = "element face 1\nproperty list uchar int vertex_indices\n";
    EXPECT_EQ(
        read_text("ply\nformat ascii 1.0\n" + vertices + faces + "end_header\n1 2 3\n3 7 7 nonsense\n").particles.P,
        (std::vector<Vec3f>{{1, 2, 3}}));
    EXPECT_EQ(read_text("ply\nformat ascii 1.0\n" + faces + vertices + "end_header\n3 0 0 0\n1 2 3\n").particles.P,
              (std::vector<Vec3f>{{1, 2, 3}}));
}

TEST(PointFile, VelocityMayHaveAnyName)
{
    const auto named = [](const std::string& v) {
        return header("ascii", 1,
                      kPlace + "property float " + v + "_x\nproperty float " + v + "_y\nproperty float " + v + "_z\n") +
               "0 0 0 1 2 3\n";
    };
    for (const char* usual : {"v", "vel", "velocity"})
        EXPECT_EQ(read_text(named(usual)).particles.v[0], Vec3f(1, 2, 3)) << usual;
    EXPECT_EQ(read_text(named("velocity"), {"", "velocity"}).particles.v[0], Vec3f(1, 2, 3));
    EXPECT_EQ(read_text(named("u")).particles.v[0], Vec3f(0, 0, 0));
    EXPECT_EQ(read_text(named("u"), {"", "u"}).particles.v[0], Vec3f(1, 2, 3));
    const std::string message = error_for(named("u"), {"", "w"});
    EXPECT_TRUE(contains(message, "p.ply has no vector \"w\" for the velocity (vectors: u)")) << message;
}

TEST(PointFile, ErrorsNameFileAndLine)
{
    EXPECT_TRUE(contains(error_for(header("ascii", 2, kPlace) + "0 0 0\n0 nan 0\n"), "p.ply, line 9: vertex 1"));
    EXPECT_TRUE(contains(error_for(header("ascii", 2, kPlace) + "0.25 0.5 0.75\n0.25 0.5\n"),
                         "p.ply, line 10: the file ends too early"));
    EXPECT_TRUE(contains(error_for(header("ascii", 2, "property float x\n") + "0\n0\n"), "no x, y and z"));
    EXPECT_TRUE(contains(error_for("solid cube\n"), "is not a PLY file"));
    const TempFolder folder;
    const auto error = [&](const std::string& name) {
        return error_of(ExitCode::bad_input, [&] { read_points(folder / name); });
    };
    EXPECT_TRUE(contains(error("none.ply"), "none.ply"));
    EXPECT_TRUE(contains(error("none.vdb"), "none.vdb"));
    EXPECT_TRUE(contains(error("p.abc"), "must end in .vdb or .ply"));
    write_file(folder / "p.vdb", "ply\n");
    EXPECT_TRUE(contains(error("p.vdb"), "is not a VDB file"));
    const std::string moving = header("ascii", 2, kPlace + "property float vx\nproperty float vy\nproperty float vz\n");
    EXPECT_TRUE(contains(error_for(moving + "0 0 0 0 0 0\n1 0 0 0 nan 0\n"), "p.ply, line 12: vertex 1 is not finite"));
}
