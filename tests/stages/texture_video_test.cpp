// Videos as examples of a texture stage.
#include "cli/program.h"
#include "mesh/test_meshes.h"
#include "spindrift/io/frame_path.h"
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
