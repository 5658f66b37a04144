#include "cli/program.h"
#include "spindrift/base/parallel.h"
#include "spindrift/io/atomic_file.h"
#include "spindrift/io/image.h"
#include "spindrift/io/mesh_file.h"
#include "spindrift/texture/bake.h"
#include "spindrift/track/properties.h"
#include "texture/sequences.h"

#include <gtest/gtest.h>
#include <sstream>

namespace spindrift {

namespace {

constexpr const char* kChecked = R"([shot]
frames = "1-3"
fps = 10
[texture]
input = "ball.####.ply"
size = 0.4
texel = 0.04
atlas = 512
[render]
width = 64
height = 64
samples = 2
)";

void write_turning_ball(const Workplace& place, int frames)
{
    for (int frame = 1; frame <= frames; ++frame)
        write_mesh(place / fmt::format("ball.{:04}.ply", frame), TurningBall().frame(frame, false));
}

// Texture coordinates and faces of an OBJ.
struct TexturedObj {
    std::vector<Vec2f> places;
    std::vector<Vec3i> triangles, corners;

    explicit TexturedObj(const std::string& path)
    {
        std::istringstream lines(read_file(path));
        for (std::string line; std::getline(lines, line);) {
            std::istringstream words(line);
            std::string keyword;
            words >> keyword;
            if (keyword == "vt") words >> places.emplace_back().x() >> places.back().y();
            if (keyword != "f") continue;
            triangles.emplace_back(), corners.emplace_back();
            for (int k = 0; k < 3; ++k) {
                char slash = 0;
                int normal = 0;
                words >> triangles.back()[k] >> slash >> corners.back()[k] >> slash >> normal;
                --triangles.back()[k], --corners.back()[k];
            }
        }
    }
};

Vec3f bilinear(const Image& image, const Vec2f& place)
{
    const float x = place.x() * static_cast<float>(image.width) - 0.5f,
                y = (1 - place.y()) * static_cast<float>(image.height) - 0.5f;
    const int i = static_cast<int>(std::floor(x)), j = static_cast<int>(std::floor(y));
    const float u = x - static_cast<float>(i), v = y - static_cast<float>(j);
    const auto at = [&](int column, int row) {
        return image.at(std::clamp(column, 0, image.width - 1), std::clamp(row, 0, image.height - 1));
    };
    return (1 - v) * ((1 - u) * at(i, j) + u * at(i + 1, j)) + v * ((1 - u) * at(i, j + 1) + u * at(i + 1, j + 1));
}

Vec3f rainbow(const Vec3f& x) { return Vec3f(0.5f + 0.4f * x.x(), 0.5f + 0.4f * x.y(), 0.5f + 0.4f * x.z()); }

} // namespace

// Anywhere on the surface, also across the edges of charts, a filtered picture has the colour of that place.
TEST(TextureFiles, BakedColoursAreThoseOfThePlace)
{
    const Mesh surface = rough_ball(4, 0.2f), fine = sphere_mesh({0, 0, 0}, 1, 6);
    std::vector<Vec3f> colors, own;
    for (const Vec3f& x : fine.positions) colors.push_back(rainbow(x));
    for (const Vec3f& x : surface.positions) own.push_back(rainbow(x));
    for (const int size : {64, 512}) {
        const Atlas atlas = make_atlas(surface, size);
        Image near(size, size), same(size, size);
        near.pixels = baked_from_nearest(atlas, surface, fine, colors);
        same.pixels = baked_from_vertices(atlas, surface, own);
        Random random(1);
        float worst = 0, worst_same = 0;
        for (size_t t = 0; t < surface.triangles.size(); ++t) {
            Vec3f weights(random.uniform(), random.uniform(), random.uniform());
            if (t % 3 == 0) weights[static_cast<int>(t / 3 % 3)] = 0; // on an edge
            weights /= weights.sum();
            Vec2f place = Vec2f::Zero();
            Vec3f x = Vec3f::Zero();
            for (int k = 0; k < 3; ++k)
                place += weights[k] * atlas.places[atlas.triangles[t][k]],
                    x += weights[k] * surface.positions[surface.triangles[t][k]];
            const float error = (bilinear(near, place) - rainbow(x.normalized())).cwiseAbs().maxCoeff();
            worst = std::max(worst, error);
            worst_same = std::max(worst_same, (bilinear(same, place) - rainbow(x)).cwiseAbs().maxCoeff());
        }
        const float pixel = 0.4f * static_cast<float>(2 * atlas.texel); // colours change by this from pixel to pixel
        EXPECT_LT(worst, pixel + 0.002f) << size;
        EXPECT_LT(worst_same, pixel) << size;
    }
}

TEST(TextureFiles, BakingIsTheSameForAnyNumberOfThreads)
{
    const Mesh surface = rough_ball(4), fine = sphere_mesh({0, 0, 0}, 1, 5);
    std::vector<Vec3f> colors;
    for (const Vec3f& x : fine.positions) colors.push_back(rainbow(x));
    const Atlas atlas = make_atlas(surface, 300);
    const int threads = thread_count();
    const std::vector<Vec3f> all = baked_from_nearest(atlas, surface, fine, colors);
    set_thread_count(1);
    EXPECT_EQ(all, baked_from_nearest(atlas, surface, fine, colors));
    set_thread_count(threads);
}

TEST(TextureFiles, AtlasCarriesTheTextureOntoTheSurface)
{
    const Workplace place;
    place.write("ball.toml", kChecked);
    write_turning_ball(place, 3);
    for (const std::string format : {"png", "exr"}) {
        place.remove("out");
        place.succeed({"texture", "ball.toml", "-o", "out", "--set", "texture.atlas_format=" + format});
        const Mesh fine = read_mesh(place / "out/texture/texture.0003.ply");
        const Mesh surface = read_mesh(place / "out/texture/texture.0003.obj");
        EXPECT_EQ(surface.triangles, TurningBall().frame(3, false).triangles);
        EXPECT_GT(fine.positions.size(), 3 * surface.positions.size());
        const Image image = read_image(place / ("out/texture/texture.0003." + format));
        EXPECT_EQ(image.width, 512);
        EXPECT_TRUE(contains(read_file(place / "out/texture/texture.0003.obj"), "mtllib texture.0003.mtl"));
        EXPECT_TRUE(contains(read_file(place / "out/texture/texture.0003.mtl"), "map_Kd texture.0003." + format));
        // At most vertices: those at the edge of a check may have either colour.
        const TexturedObj obj(place / "out/texture/texture.0003.obj");
        const auto& colors = std::get<std::vector<Vec3f>>(fine.attributes.at("color"));
        const MeshDistance nearest(fine, false);
        int right = 0, all = 0;
        for (size_t t = 0; t < obj.triangles.size(); ++t)
            for (int k = 0; k < 3; ++k) {
                const auto at = nearest.nearest(surface.positions[obj.triangles[t][k]]);
                const Vec3f color = blended(colors, fine, {at.triangle, at.weights});
                const Vec3f shown = bilinear(image, obj.places[obj.corners[t][k]]);
                right += (color - shown).cwiseAbs().maxCoeff() < 0.05f, ++all;
            }
        EXPECT_GT(right, 0.95 * all) << format;
        for (const char* file : {"texture.0003.obj", "texture.0003.png", "texture.0003.exr"})
            if (contains(file, format) || contains(file, "obj"))
                place.succeed({"info", std::string("out/texture/") + file});
    }
}

TEST(TextureFiles, AreTheSameForAnyNumberOfThreadsAndAfterKills)
{
    const Workplace place;
    place.write("ball.toml", kChecked);
    write_turning_ball(place, 3);
    const std::vector<std::string> run = {"texture", "ball.toml", "-o", "out"};
    place.succeed(run);
    const Files expected = results_in(place / "out");
    for (const char* file : {"texture/texture.0002.obj", "texture/texture.0002.mtl", "texture/texture.0002.png"})
        EXPECT_TRUE(expected.contains(file)) << file;
    place.succeed({"texture", "ball.toml", "-o", "one", "--threads", "1"});
    EXPECT_EQ(differences(expected, results_in(place / "one")), std::vector<std::string>());
    expect_same_after_kills(place, run, "out", expected);
}

// Second colour outwards, first colour inwards.
TEST(TextureFiles, DisplacementFollowsTheTexture)
{
    const Workplace place;
    place.write("ball.toml", kChecked);
    write_turning_ball(place, 3);
    place.succeed({"texture", "ball.toml", "-o", "out", "--set", "texture.displace=0.2", "--set", "texture.atlas=0"});
    const Mesh mesh = read_mesh(place / "out/texture/texture.0003.ply");
    const auto& heights = std::get<std::vector<float>>(mesh.attributes.at("height"));
    int high = 0, low = 0;
    for (size_t i = 0; i < heights.size(); ++i) {
        EXPECT_NEAR(mesh.positions[i].norm(), 1 + 0.2f * (heights[i] - 0.5f), 0.012f);
        high += heights[i] > 0.95f, low += heights[i] < 0.05f;
    }
    EXPECT_GT(std::min(high, low), 200);
}

TEST(TextureFiles, BadInputIsOneMessage)
{
    const Workplace place;
    place.write("ball.toml", kChecked);
    write_turning_ball(place, 3);
    const auto message = [&](const std::string& set) {
        const RunResult result = place.run({"texture", "ball.toml", "-o", "out", "--set", set});
        EXPECT_EQ(result.code, 2) << result.err;
        return result.err;
    };
    EXPECT_TRUE(contains(message("texture.atlas=10"), "at least 64"));
    EXPECT_TRUE(contains(message("texture.atlas=100000"), "16384"));
    EXPECT_TRUE(contains(message("texture.atlas_format=tiff"), "png"));
    Mesh many;
    for (int i = 0; i < 1500; ++i) many = joined(many, sphere_mesh({static_cast<float>(i), 0, 0}, 0.1f, 0));
    for (int frame = 1; frame <= 3; ++frame) write_mesh(place / fmt::format("ball.{:04}.ply", frame), many);
    const std::string pieces = message("texture.atlas=64");
    EXPECT_TRUE(contains(pieces, "texture.atlas=64") && contains(pieces, "frame 1") && contains(pieces, "pieces"))
        << pieces;
}

// Where Debian's Blender is installed, it must find the picture, and the colours at the vertices.
TEST(TextureFiles, BlenderShowsTheAtlas)
{
    if (std::system("command -v blender > /dev/null 2>&1") != 0) GTEST_SKIP() << "Blender is not installed";
    const Workplace place;
    Mesh ball = sphere_mesh({0, 0, 0}, 1, 4);
    std::vector<Vec3f> colors;
    for (const Vec3f& x : ball.positions) colors.push_back(rainbow(x));
    ball.attributes["color"] = colors;
    write_mesh(place / "ball.0001.ply", ball);
    place.write("ball.toml", R"([shot]
frames = "1-1"
[texture]
input = "ball.####.ply"
pattern = "surface"
atlas = 512
)");
    place.write("look.py", R"(import bpy, sys
bpy.ops.wm.obj_import(filepath=sys.argv[-1])
mesh = bpy.context.selected_objects[0].data
image = next(n.image for n in mesh.materials[0].node_tree.nodes if n.type == "TEX_IMAGE")
assert tuple(image.size) == (512, 512), tuple(image.size)
pixels, uvs, worst = image.pixels[:], mesh.uv_layers[0].data, 0
def linear(c):
    return c if image.colorspace_settings.name != "sRGB" else c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
for loop in mesh.loops:
    u, v = uvs[loop.index].uv
    assert 0 <= u <= 1 and 0 <= v <= 1
    x, y = min(int(u * 512), 511), min(int(v * 512), 511)
    place = mesh.vertices[loop.vertex_index].co # in the file's axes
    for c in range(3):
        worst = max(worst, abs(linear(pixels[4 * (y * 512 + x) + c]) - (0.5 + 0.4 * place[c])))
print("CORNERS", len(mesh.loops), "WORST", round(worst, 4))
assert worst < 0.02
)");
    for (const std::string format : {"png", "exr"}) {
        place.succeed({"texture", "ball.toml", "-o", format, "--set", "texture.atlas_format=" + format});
        Child blender(blender_command(place / "look.py", {place / (format + "/texture/texture.0001.obj")}),
                      place.path());
        ASSERT_TRUE(blender.ends_within(120));
        const RunResult result = blender.wait();
        EXPECT_EQ(result.code, 0) << result.out << result.err;
        EXPECT_TRUE(contains(result.out, "CORNERS 6144")) << result.out;
    }
}

} // namespace spindrift
