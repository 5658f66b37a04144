#include "spindrift/io/mesh_file.h"

#include "spindrift/io/atomic_file.h"
#include "temp_folder.h"

#include <algorithm>
#include <cstring>

using namespace spindrift;

namespace {

// A tetrahedron with values that need all digits of a float.
Mesh sample(bool normals, bool velocities)
{
    Mesh mesh;
    mesh.positions = {{0.1f, -1.0f / 3, 1e-7f}, {1e10f, 2, 3}, {4, 5.5f, -6}, {7, 8, 1e-30f}};
    mesh.triangles = {{0, 1, 2}, {0, 2, 3}, {0, 3, 1}, {1, 3, 2}};
    if (normals) mesh.normals = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {0.6f, 0.8f, 0}};
    if (velocities) mesh.velocities = {{1, 2, 3}, {-4, 5, 6}, {7, 8, 9}, {0.1f, 0.2f, 0.3f}};
    return mesh;
}

void expect_equal(const Mesh& a, const Mesh& b)
{
    EXPECT_EQ(a.positions, b.positions);
    EXPECT_EQ(a.triangles, b.triangles);
    EXPECT_EQ(a.normals, b.normals);
    EXPECT_EQ(a.velocities, b.velocities);
}

Mesh read_text(const std::string& text, const std::string& name = "mesh.ply")
{
    const TempFolder folder;
    write_file(folder / name, text);
    return read_mesh(folder / name);
}

std::string error_for(const std::string& text, const std::string& name = "mesh.ply")
{
    const std::string message = error_of(ExitCode::bad_input, [&] { read_text(text, name); });
    EXPECT_TRUE(contains(message, "/" + name)) << message; // every message names its file
    return message;
}

// Big-endian binary number.
template <class T> std::string big_endian(T value)
{
    std::string raw(sizeof(T), '\0');
    std::memcpy(raw.data(), &value, sizeof(T));
    std::reverse(raw.begin(), raw.end());
    return raw;
}

const std::string kTriangle = "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\n"
                              "property float z\nelement face 1\nproperty list uchar int vertex_indices\nend_header\n";

} // namespace

TEST(MeshFile, VertexAttributesRoundTripThroughPly)
{
    const TempFolder folder;
    Mesh mesh = sample(true, true);
    mesh.attributes["heat"] = std::vector<float>{0.1f, 2, -3, 1e20f};
    mesh.attributes["material"] = std::vector<int32_t>{1, -2, 3, 2000000001};
    mesh.attributes["Cd"] = std::vector<Vec3f>{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {0.1f, 0.2f, 0.3f}};
    write_mesh(folder / "mesh.ply", mesh);
    const Mesh back = read_mesh(folder / "mesh.ply");
    expect_equal(back, mesh);
    EXPECT_EQ(back.attributes, mesh.attributes);
    mesh.attributes["heat"] = std::vector<float>{1};
    EXPECT_THROW(write_mesh(folder / "mesh.ply", mesh), Error);
}

// Blender and MeshLab read colours as bytes only.
TEST(MeshFile, ColoursAreAlsoWrittenAsBytesInPly)
{
    const TempFolder folder;
    Mesh mesh = sample(false, false);
    const std::vector<Vec3f> colors = {{1, 0, 0.5f}, {0, 1, 2}, {-1, 0.2158605f, 0}, {0.1f, 0.2f, 0.3f}};
    mesh.attributes["color"] = colors;
    write_mesh(folder / "mesh.ply", mesh);
    const std::string bytes = read_file(folder / "mesh.ply");
    EXPECT_TRUE(contains(bytes, "property float color_x\nproperty float color_y\nproperty float color_z\n"
                                "property uchar red\nproperty uchar green\nproperty uchar blue\n"));
    const size_t rows = bytes.find("end_header\n") + 11;
    const auto byte = [&](size_t vertex, size_t channel) {
        return static_cast<uint8_t>(bytes[rows + vertex * 27 + 24 + channel]);
    };
    EXPECT_EQ(byte(0, 0), 255);
    EXPECT_EQ(byte(0, 1), 0);
    EXPECT_EQ(byte(0, 2), 188); // sRGB of one half
    EXPECT_EQ(byte(1, 2), 255);
    EXPECT_EQ(byte(2, 0), 0);
    EXPECT_EQ(byte(2, 1), 128);
    EXPECT_EQ(read_mesh(folder / "mesh.ply").attributes, mesh.attributes);

    // Other programs write the bytes alone.
    const Mesh other = read_text("ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\n"
                                 "property float z\nproperty uchar red\nproperty uchar green\nproperty uchar blue\n"
                                 "element face 1\nproperty list uchar int vertex_indices\nend_header\n"
                                 "0 0 0 255 0 188\n1 0 0 0 0 0\n0 1 0 128 0 0\n3 0 1 2\n");
    const auto& read = std::get<std::vector<Vec3f>>(other.attributes.at("color"));
    EXPECT_EQ(other.attributes.size(), 1u);
    EXPECT_NEAR(read[0].z(), 0.5, 0.003);
    EXPECT_EQ(read[0].x(), 1);
    EXPECT_NEAR(read[2].x(), 0.215, 0.003);
}

TEST(MeshFile, PlyAndObjRoundTripExactly)
{
    const TempFolder folder;
    for (const bool normals : {false, true})
        for (const bool velocities : {false, true}) {
            const Mesh mesh = sample(normals, velocities);
            write_mesh(folder / "m.PLY", mesh);
            expect_equal(read_mesh(folder / "m.PLY"), mesh);
        }
    for (const bool normals : {false, true}) {
        const Mesh mesh = sample(normals, false);
        write_mesh(folder / "m.obj", mesh);
        expect_equal(read_mesh(folder / "m.obj"), mesh);
    }
}

TEST(MeshFile, EmptyMeshRoundTrips)
{
    const TempFolder folder;
    for (const char* name : {"m.ply", "m.obj"}) {
        write_mesh(folder / name, Mesh());
        expect_equal(read_mesh(folder / name), Mesh());
    }
}

TEST(MeshFile, MeshWithMismatchedArraysIsNotWritten)
{
    const TempFolder folder;
    Mesh mesh = sample(true, false);
    mesh.normals.pop_back();
    EXPECT_TRUE(contains(error_of(ExitCode::failed, [&] { write_mesh(folder / "m.ply", mesh); }), "3 normals"));
    EXPECT_TRUE(folder.files().empty());
}

TEST(MeshFile, UnknownExtensionIsRejected)
{
    EXPECT_TRUE(contains(error_of(ExitCode::bad_input, [] { read_mesh("mesh.stl"); }), "mesh.stl"));
    EXPECT_TRUE(contains(error_of(ExitCode::bad_input, [] { write_mesh("mesh", Mesh()); }), ".ply"));
}

TEST(MeshFile, MissingFileIsBadInput)
{
    EXPECT_TRUE(contains(error_of(ExitCode::bad_input, [] { read_mesh("/nowhere/m.ply"); }), "/nowhere/m.ply"));
}

TEST(Ply, TextWithPolygonsExtraPropertiesAndForeignElementsIsRead)
{
    const Mesh mesh =
        read_text("ply\r\nformat ascii 1.0\r\ncomment made by hand\r\nobj_info none\r\n"
                  "element material 1\r\nproperty list uchar float color\r\nproperty int shader\r\n"
                  "element vertex 5\r\nproperty double z\r\nproperty uchar red\r\nproperty float x\r\n"
                  "property list int short tags\r\nproperty float y\r\nproperty float velocity_x\r\n"
                  "property float velocity_y\r\nproperty float velocity_z\r\n"
                  "element face 2\r\nproperty uchar group\r\nproperty list ushort uint vertex_index\r\n"
                  "property list uchar float texcoord\r\nelement edge 1\r\nproperty int a\r\nend_header\r\n"
                  "3 0.5 0.5 0.5 9\r\n"
                  "0 255 0 2 7 7 0 1 2 3\r\n0 255 1 0 0 1 2 3\r\n0 255 +1 0 1 1 2 3\r\n0 1 .5 0 2e0 1 2 3\r\n"
                  "-1.5 255 0 1 3 1 1 2 3\r\n9 5 0 1 2 3 4 2 0.1 0.2\r\n9 3 4 1 0 0\r\n17");
    EXPECT_EQ(mesh.positions, (std::vector<Vec3f>{{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0.5f, 2, 0}, {0, 1, -1.5f}}));
    EXPECT_EQ(mesh.triangles, (std::vector<Vec3i>{{0, 1, 2}, {0, 2, 3}, {0, 3, 4}, {4, 1, 0}}));
    EXPECT_EQ(mesh.velocities, std::vector<Vec3f>(5, Vec3f(1, 2, 3)));
    EXPECT_TRUE(mesh.normals.empty());
}

TEST(Ply, BigEndianIsRead)
{
    std::string text = "ply\nformat binary_big_endian 1.0\nelement vertex 3\nproperty float x\nproperty double y\n"
                       "property short z\nelement face 1\nproperty list int ushort vertex_indices\nend_header\n";
    for (int i = 0; i < 3; ++i)
        text += big_endian(0.5f + static_cast<float>(i)) + big_endian(2.25 * i) +
                big_endian(static_cast<int16_t>(-300 * i));
    text += big_endian(3) + big_endian<uint16_t>(2) + big_endian<uint16_t>(1) + big_endian<uint16_t>(0);
    const Mesh mesh = read_text(text);
    EXPECT_EQ(mesh.positions, (std::vector<Vec3f>{{0.5f, 0, 0}, {1.5f, 2.25f, -300}, {2.5f, 4.5f, -600}}));
    EXPECT_EQ(mesh.triangles, (std::vector<Vec3i>{{2, 1, 0}}));
}

TEST(Ply, EveryTruncationOfABinaryFileIsAnError)
{
    const TempFolder folder;
    write_mesh(folder / "m.ply", sample(true, true));
    const std::string whole = read_file(folder / "m.ply");
    for (size_t length = 0; length < whole.size(); ++length) error_for(whole.substr(0, length));
    EXPECT_TRUE(contains(error_for(whole.substr(0, whole.size() - 1)), "byte"));
}

TEST(Ply, MissingTextLineIsAnErrorThatNamesTheLine)
{
    const std::string whole = kTriangle + "0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n";
    EXPECT_EQ(read_text(whole).triangles.size(), 1u);
    for (size_t end = whole.size() - 1; (end = whole.rfind('\n', end - 1)) != std::string::npos && end > 0;)
        EXPECT_TRUE(contains(error_for(whole.substr(0, end + 1)), "line")) << end;
}

TEST(Ply, CountsLargerThanTheFileAreRejectedBeforeAllocation)
{
    const std::string rest =
        "property float x\nproperty float y\nproperty float z\n"
        "element face 1\nproperty list uchar int vertex_indices\nend_header\n0 0 0 1 0 0 0 1 0 3 0 1 2\n";
    for (const char* count :
         {"4", "2000000000", "99999999999999999", "18446744073709551615", "-1", "1e3", "99999999999999999999"})
        for (const char* format : {"ascii", "binary_little_endian"})
            error_for(std::string("ply\nformat ") + format + " 1.0\nelement vertex " + count + "\n" + rest);
    for (const char* element :
         {"element face 4000000000\nproperty list uchar int vertex_indices\n",
          "element face 1\nproperty list uchar int vertex_indices\nelement x 4000000000\nproperty int a\n"})
        error_for(
            std::string("ply\nformat binary_big_endian 1.0\nelement vertex 0\nproperty float x\nproperty float y\n"
                        "property float z\n") +
            element + "end_header\n");
}

TEST(Ply, WrongFacesAreErrors)
{
    const std::string vertices = kTriangle + "0 0 0\n1 0 0\n0 1 0\n";
    EXPECT_TRUE(contains(error_for(vertices + "3 0 1 3\n"), "vertex 3, but there are 3"));
    EXPECT_TRUE(contains(error_for(vertices + "3 0 1 3\n"), "line 13"));
    EXPECT_TRUE(contains(error_for(vertices + "3 0 1 -1\n"), "vertex -1"));
    EXPECT_TRUE(contains(error_for(vertices + "3 0 1 1.5\n"), "vertex 1.5"));
    EXPECT_TRUE(contains(error_for(vertices + "3 0 1 nan\n"), "nan"));
    EXPECT_TRUE(contains(error_for(vertices + "2 0 1\n"), "2 corners"));
    EXPECT_TRUE(contains(error_for(vertices + "-3 0 1 2\n"), "length of a list"));
    EXPECT_TRUE(contains(error_for(vertices + "200 0 1 2\n"), "longer than the rest"));
    EXPECT_TRUE(contains(error_for(vertices + "3 0 1 two\n"), "not a number"));
}

TEST(Ply, NegativeBinaryListLengthIsAnError)
{
    std::string text = "ply\nformat binary_little_endian 1.0\nelement vertex 1\nproperty uchar x\nproperty uchar y\n"
                       "property uchar z\nelement face 1\nproperty list char uchar vertex_indices\nend_header\n";
    EXPECT_TRUE(contains(error_for(text + std::string("\0\0\0\xfd\0\0\0", 7)), "length of a list"));
    EXPECT_EQ(read_text(text + std::string("\0\0\0\x03\0\0\0", 7)).triangles.size(), 1u);
}

TEST(Ply, NonFiniteNumbersAreErrors)
{
    for (const char* bad : {"nan", "inf", "-inf", "1e300"})
        error_for(kTriangle + "0 0 0\n1 " + bad + " 0\n0 1 0\n3 0 1 2\n");
    EXPECT_TRUE(contains(error_for(kTriangle + "0 0 0\n1 nan 0\n0 1 0\n3 0 1 2\n"), "line 11"));
}

TEST(Ply, BrokenHeadersAreErrors)
{
    for (const char* text : {"", "ply", "plx\n", "ply\nend_header\n", "ply\nformat ascii 1.0\nend_header\n",
                             "\n\nply\n", "ply\nformat middle_endian 1.0\nelement vertex 0\nend_header\n",
                             "ply\nformat ascii 1.0\nproperty float x\nelement vertex 0\nend_header\n",
                             "ply\nformat ascii 1.0\nelement vertex 0\nproperty list float int x\nend_header\n",
                             "ply\nformat ascii 1.0\nelement vertex 0\nproperty quad x\nend_header\n",
                             "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nend_header\n1\n",
                             "ply\nformat ascii 1.0\nelement vertex 0\nelement vertex 0\nend_header\n"})
        error_for(text);
    EXPECT_TRUE(contains(error_for("ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\n"
                                   "property float z\nend_header\n1 2 3\n"),
                         "point cloud"));
}

TEST(Obj, EveryKindOfCornerAndPolygonIsRead)
{
    const Mesh mesh =
        read_text("# a comment\nmtllib some.mtl\no thing\n  v 0 0 0 1.0\nv 1 0 0\r\nv\t1 +1 0\nv 0 1 -2.5e-1\n"
                  "vt 0 0\nvn 0 0 1\ns off\ng a b\nusemtl red\n"
                  "f 1 2 3 4\nf 1/1 2/1 3/1\nf 1//1 2//1 3//1 # end\nf 1/1/1 2/1/1 3/1/1\n"
                  "f -4 -3 \\\n -2\nl 1 2\n\nf 3 2 5\nv 9 9 9",
                  "m.obj");
    EXPECT_EQ(mesh.positions, (std::vector<Vec3f>{{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, -0.25f}, {9, 9, 9}}));
    EXPECT_EQ(mesh.triangles,
              (std::vector<Vec3i>{{0, 1, 2}, {0, 2, 3}, {0, 1, 2}, {0, 1, 2}, {0, 1, 2}, {0, 1, 2}, {2, 1, 4}}));
    EXPECT_TRUE(mesh.normals.empty());
}

TEST(Obj, ErrorsNameTheLine)
{
    const std::string vertices = "v 0 0 0\nv 1 0 0\nv 1 1 0\n";
    EXPECT_EQ(read_text(vertices + "f 1 2 3\n", "m.obj").triangles.size(), 1u);
    for (const char* line :
         {"f 1 2 4", "f 1 2 0", "f -4 1 2", "f 1 2", "f", "f 1 2 x", "f 1/2/3/4 2 3", "f 1 2 3x",
          "f 1 2 99999999999999999999", "v 1 2", "v 1 nan 2", "v 1 2 inf", "v 1 2 1e99", "v a b c", "hello"}) {
        EXPECT_TRUE(contains(error_for(vertices + "# one\n" + line + "\nf 1 2 3\n", "m.obj"), "line 5")) << line;
    }
    EXPECT_TRUE(contains(error_for(vertices, "m.obj"), "no faces"));
    error_for("o name \\\nv 0 0 0\nv 1 0 0\nv 1 1 0\nf 1 2 3\n", "m.obj"); // the first "v" continues the name
}

TEST(MeshFile, RandomBytesAreErrorsNotCrashes)
{
    uint64_t state = 1;
    for (int round = 0; round < 200; ++round) {
        std::string noise(static_cast<size_t>(round * 7 + 1), '\0');
        for (char& c : noise)
            c = static_cast<char>((state = state * 6364136223846793005ull + 1442695040888963407ull) >> 56);
        error_for(noise);
        error_for("x" + noise, "m.obj");
        // Noise after a valid header.
        const std::string header =
            "ply\nformat binary_little_endian 1.0\nelement vertex 3000\nproperty float x\nproperty float y\n"
            "property float z\nelement face 9000\nproperty list int int vertex_indices\nend_header\n";
        error_for(header + noise);
    }
}
