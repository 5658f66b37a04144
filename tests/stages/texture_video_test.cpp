// Videos as examples of a texture stage.
#include "cli/program.h"
#include "mesh/test_meshes.h"
#include "spindrift/io/frame_path.h"
#include "spindrift/io/image.h"
#include "spindrift/io/mesh_file.h"

namespace spindrift {

namespace {

constexpr const char* kScene = R"([shot]
frames = "1-4"
[texture]
input = "ball.ply"
mode = "example"
example_file = "ripples.####.png"
history = 1
texel = 0.06
patch = 17
)";

} // namespace

TEST(TextureVideo, ItsFramesFollowEachOtherOnTheSurface)
{
    const Workplace place;
    write_mesh(place / "ball.ply", sphere_mesh({0, 0, 0}, 0.5f, 3));
    place.succeed({"footage", "ripples", "--size", "64x64", "--frames", "1-8", "-o", "ripples.####.png"});
    place.write("ball.toml", kScene);
    place.succeed({"texture", "ball.toml", "-o", "one", "-j", "1"});
    place.succeed({"texture", "ball.toml", "-o", "two", "-j", "3"});
    EXPECT_EQ(differences(results_in(place / "one"), results_in(place / "two")), std::vector<std::string>());
    // The ball stands still, but its texture changes, by less than between places that have nothing in common.
    std::vector<std::vector<Vec3f>> colors;
    for (int f = 1; f <= 4; ++f)
        colors.push_back(std::get<std::vector<Vec3f>>(
            read_mesh(frame_path(place / "one/texture/texture.####.ply", f)).attributes.at("color")));
    double change = 0, other = 0;
    const size_t count = colors[2].size();
    for (size_t i = 0; i < count; ++i) {
        change += static_cast<double>((colors[3][i] - colors[2][i]).norm());
        other += static_cast<double>((colors[3][i] - colors[2][(i + count / 2) % count]).norm());
    }
    EXPECT_GT(change, 0.05 * other);
    EXPECT_LT(change, 0.8 * other);
}

// A film, and pictures with an opacity, which is 1 where they are bright.
TEST(TextureVideo, FilmsAndPicturesWithOpacityWork)
{
    const Workplace place;
    write_mesh(place / "ball.ply", sphere_mesh({0, 0, 0}, 0.5f, 3));
    place.succeed({"footage", "ripples", "--size", "64x64", "--frames", "1-8", "-o", "ripples.####.png"});
    place.write("ball.toml", kScene);
    std::vector<std::string> pictures;
    for (int f = 1; f <= 8; ++f) {
        pictures.push_back(frame_path(place / "ripples.####.png", f));
        const Image image = read_image(pictures.back());
        ChannelImage with(image.width, image.height);
        for (const char* name : {"R", "G", "B", "A"}) {
            std::vector<float>& values = with.add(name, ChannelImage::Precision::full).values;
            for (size_t i = 0; i < values.size(); ++i) {
                const float opacity = 0.25f + 0.5f * clamp01(image.pixels[i].x());
                values[i] = name[0] == 'A' ? opacity : opacity * image.pixels[i].x();
            }
        }
        write_image(frame_path(place / "glass.####.exr", f), with);
    }
    write_movie(place / "ripples.mp4", pictures, 24);
    const auto change = [&](const std::string& file) {
        place.remove("out");
        place.succeed({"texture", "ball.toml", "-o", "out", "--set", "texture.example_file=" + file});
        const Mesh a = read_mesh(place / "out/texture/texture.0003.ply"),
                   b = read_mesh(place / "out/texture/texture.0004.ply");
        const auto &before = std::get<std::vector<Vec3f>>(a.attributes.at("color")),
                   &after = std::get<std::vector<Vec3f>>(b.attributes.at("color"));
        double sum = 0;
        for (size_t i = 0; i < before.size(); ++i) sum += static_cast<double>((after[i] - before[i]).norm());
        return sum / static_cast<double>(before.size());
    };
    const double expected = change("ripples.####.png");
    EXPECT_GT(expected, 0.005);
    EXPECT_NEAR(change("ripples.mp4"), expected, 0.3 * expected);
    EXPECT_NEAR(change("glass.####.exr"), expected, 0.5 * expected);
    const Mesh mesh = read_mesh(place / "out/texture/texture.0004.ply");
    const auto& colors = std::get<std::vector<Vec3f>>(mesh.attributes.at("color"));
    const auto& opacity = std::get<std::vector<float>>(mesh.attributes.at("opacity"));
    for (size_t i = 0; i < colors.size(); ++i) EXPECT_NEAR(opacity[i], 0.25f + 0.5f * colors[i].x(), 0.02f);
    place.remove("out");
    const RunResult still = place.succeed({"texture", "ball.toml", "-o", "out", "--set", "texture.history=0"});
    EXPECT_NE((still.out + still.err).find("set texture.history = 1"), std::string::npos) << still.out << still.err;
}

TEST(TextureVideo, BadOnesAreOneMessage)
{
    const Workplace place;
    write_mesh(place / "ball.ply", sphere_mesh({0, 0, 0}, 0.5f, 2));
    place.write("ball.toml", kScene);
    const auto message = [&](const std::string& setting) {
        const RunResult result = place.run({"texture", "ball.toml", "-o", "out", "--set", setting});
        EXPECT_NE(result.code, 0);
        EXPECT_LE(std::ranges::count(result.err, '\n'), 2) << result.err;
        return result.err;
    };
    EXPECT_NE(message("texture.history=1").find("ripples.####.png"), std::string::npos);
    place.succeed({"footage", "ripples", "--size", "64x64", "--frames", "1-2", "-o", "ripples.####.png"});
    EXPECT_NE(message("texture.history=3").find("ball.toml:6"), std::string::npos);
    place.write("broken.mp4", "no film");
    EXPECT_NE(message("texture.example_file=broken.mp4").find("broken.mp4"), std::string::npos);
    EXPECT_NE(message("texture.example_file=").find("still picture"), std::string::npos);
}

} // namespace spindrift
