// Meshes and points: PLY in its three encodings, OBJ. Pictures: PNG, EXR, JPEG.
#include "fuzz/targets.h"
#include "spindrift/base/error.h"
#include "spindrift/io/atomic_file.h"
#include "spindrift/io/image.h"
#include "spindrift/io/mesh_file.h"
#include "spindrift/io/point_file.h"
#include "spindrift/mesh/mesh.h"

#include <bit>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <unistd.h>

namespace spindrift::fuzz {

namespace {

constexpr const char* kObj = R"(# a cube
mtllib x.mtl
o cube
v 0 0 0
v 1 0 0 1.0
v 1 1 0
v 0 1 0
v 0 0 1
v 1 0 1
v 1 1 1
v 0 1 1
vt 0 0
vn 0 0 1
usemtl red
s off
f 1/1/1 4/1/1 3//1 2
f 5 6 7 8
f 1 2 6 5
f 3 4 8 7
f -7 -6 \
-2 -3
f 1 5 8 4
l 1 2
)";

constexpr const char* kTextPly = R"(ply
format ascii 1.0
comment a tetrahedron
obj_info x
element vertex 4
property float x
property float y
property float z
property float vx
property float vy
property float vz
property uchar red
property int id
element face 4
property list uchar int vertex_indices
property float quality
element edge 1
property list short double d
end_header
0 0 0 1 2 3 255 1
1 0 0 1 2 3 0 2
0 1 0 1 2 3 0 3
0 0 1 1 2 3 0 4
3 0 2 1 0.5
3 0 1 3 0.5
3 0 3 2 0.5
3 1 2 3 0.5
2 1.5 2.5
)";

std::string binary_ply(bool big)
{
    std::string bytes = std::string("ply\nformat binary_") + (big ? "big" : "little") +
                        "_endian 1.0\nelement vertex 4\nproperty float x\nproperty double y\nproperty float z\n"
                        "property float nx\nproperty float ny\nproperty float nz\nproperty ushort kind\n"
                        "element face 4\nproperty list uchar uint vertex_index\nend_header\n";
    const auto put = [&]<class T>(T value) {
        std::string raw(reinterpret_cast<const char*>(&value), sizeof value);
        if (big) raw.assign(raw.rbegin(), raw.rend());
        bytes += raw;
    };
    for (int i = 0; i < 4; ++i) {
        put(i == 1 ? 1.0f : 0.0f), put(i == 2 ? 1.0 : 0.0), put(i == 3 ? 1.0f : 0.0f);
        put(0.0f), put(0.0f), put(1.0f), put(static_cast<uint16_t>(i));
    }
    for (const auto& face : {std::array{0u, 2u, 1u}, {0u, 1u, 3u}, {0u, 3u, 2u}, {1u, 2u, 3u}}) {
        put(static_cast<uint8_t>(3));
        for (const uint32_t corner : face) put(corner);
    }
    return bytes;
}

void use_mesh(const Mesh& mesh)
{
    for (const auto& triangle : mesh.triangles)
        for (int c = 0; c < 3; ++c)
            if (triangle[c] < 0 || static_cast<size_t>(triangle[c]) >= mesh.positions.size())
                found("a triangle has a missing vertex");
    for (const Vec3f& x : mesh.positions)
        if (!x.allFinite()) found("a vertex is not finite");
    for (const auto& [name, array] : mesh.attributes)
        std::visit(
            [&](const auto& values) {
                if (values.size() != mesh.positions.size()) found("an attribute has a wrong length");
            },
            array);
    is_closed(mesh);
    volume_of(mesh);
}

void read_ply_file(const std::string& bytes, const std::string& folder)
{
    const std::string path = folder + "/case.ply";
    put_file(path, bytes);
    try {
        use_mesh(read_mesh(path));
    } catch (const Error&) { // may still be points
    }
    const ParticleFile file = read_points(path);
    file.particles.for_each_array([&](const std::string& name, const auto& array) {
        if (array.size() != file.particles.size()) found("the array " + name + " has a wrong length");
    });
}

void read_obj_file(const std::string& bytes, const std::string& folder)
{
    const std::string path = folder + "/case.obj";
    put_file(path, bytes);
    use_mesh(read_mesh(path));
}

// The header is text, the rows are binary.
std::string mutate_ply(const std::string& seed, Random& random)
{
    const std::vector<std::string> words = {"element",
                                            "property",
                                            "list",
                                            "vertex",
                                            "face",
                                            "uchar",
                                            "double",
                                            "int8",
                                            "ascii",
                                            "x",
                                            "red",
                                            "end_header",
                                            "comment ",
                                            "vertex 2000000000",
                                            "format binary_big_endian 1.0"};
    if (pick(random, 2)) return mutate_bytes(seed, random);
    const size_t end = seed.find("end_header");
    return mutate_text(seed.substr(0, end), words, random) + seed.substr(end);
}

// Small pictures of each format, as an example of a texture reads them.
template <class Make> std::string bytes_of_picture(const std::string& ending, const Make& make)
{
    const std::string path = fmt::format("{}/spindrift_fuzz_{}.{}", scratch_folder(), ::getpid(), ending);
    make(path);
    std::string bytes = read_file(path);
    std::filesystem::remove(path);
    return bytes;
}

Image gradient()
{
    Image image(9, 7);
    for (int i = 0; i < 63; ++i) image.pixels[i] = Vec3f(0.1f, 0.01f * static_cast<float>(i), 0.9f);
    return image;
}

void read_picture(const std::string& bytes, const std::string& folder, const std::string& ending)
{
    const std::string path = folder + "/case." + ending;
    put_file(path, bytes);
    const Image image = read_image(path);
    if (image.pixels.size() != static_cast<size_t>(image.width) * image.height) found("pixels are missing");
    for (const ChannelImage::Channel& channel : read_channels(path).channels)
        if (channel.values.size() != image.pixels.size()) found("the channel " + channel.name + " has a wrong length");
}

Target pictures(const std::string& ending)
{
    const auto seeds = [ending] {
        return std::vector<std::string>{
            bytes_of_picture(ending, [](const std::string& path) { write_image(path, gradient()); })};
    };
    const auto run = [ending](const std::string& bytes, const std::string& folder) {
        read_picture(bytes, folder, ending);
    };
    return {ending, ending, seeds, mutate_bytes, run};
}

} // namespace

std::vector<Target> mesh_targets()
{
    const auto ply_seeds = [] { return std::vector<std::string>{kTextPly, binary_ply(false), binary_ply(true)}; };
    const auto mutate_obj = [](const std::string& seed, Random& random) {
        return mutate_text(seed, {"v", "f", "f 1 2 3", "vn", "1//", "1/2/3", "-1", "\\\n", "g", "l", "p"}, random);
    };
    return {{"ply", "ply", ply_seeds, mutate_ply, read_ply_file},
            {"obj", "obj", [] { return std::vector<std::string>{kObj}; }, mutate_obj, read_obj_file},
            pictures("png"),
            pictures("exr"),
            pictures("jpg")};
}

} // namespace spindrift::fuzz
