#include "cli/program.h"
#include "spindrift/io/vdb.h"

#include <gtest/gtest.h>

namespace spindrift {

namespace {

std::string sand_scene(int frames)
{
    return fmt::format(R"([shot]
frames = "1-{}"

[sand]
voxel = 0.03

[sand.domain]
min = [-0.4, 0, -0.4]
max = [0.4, 1, 0.4]
x_max = "open"

[[sand.material]]
friction = 0.4

[[sand.material]]
density = 800
friction = 0.2

[[sand.source]]
shape = "box"
min = [-0.2, 0, -0.2]
max = [0.2, 0.2, 0.2]

[[sand.source]]
shape = "sphere"
center = [0, 0.6, 0]
radius = 0.07
mode = "flow"
velocity = [0.2, -1, 0]
material = 1

[[sand.impulse]]
center = [0, 0.05, 0]
radius = 0.15
speed = 4
frame = 4

[[sand.collider]]
shape = "box"
min = [-0.4, 0.1, -0.05]
max = [-0.1, 0.2, 0.05]
friction = 0.3
translate = [[1, 0, 0, 0], [12, 0.2, 0, 0]]

[[sand.body]]
name = "ball"
shape = "sphere"
center = [0.1, 0.3, 0.12]
radius = 0.07
density = 900

[[sand.body]]
min = [0.02, 0.24, -0.2]
max = [0.18, 0.3, -0.08]
rotation = [0, 20, 0]
)",
                       frames);
}

// The same scene without features that the fluid model does not support.
std::string fluid_scene(int frames)
{
    std::string scene = sand_scene(frames);
    const auto cut = [&](const std::string& from, const std::string& to) {
        const size_t begin = scene.find(from);
        scene.erase(begin, scene.find(to, begin) - begin);
    };
    cut("[[sand.material]]\ndensity", "[[sand.source]]"), cut("material = 1", "[[sand.impulse]]");
    cut("[[sand.impulse]]", "[[sand.collider]]");
    scene.resize(scene.find("[[sand.body]]"));
    return scene.insert(scene.find("voxel"), "model = \"fluid\"\n");
}

const std::vector<std::string> kRun = {"run", "sand.toml", "-o", "out"};

} // namespace

TEST(SandStage, GivesTheSameFilesForAnyNumberOfThreadsAndAfterKills)
{
    const Workplace place;
    place.write("sand.toml", sand_scene(10) + "[grains]\neach = 8\n");
    place.succeed(kRun);
    const Files expected = results_in(place / "out");
    EXPECT_TRUE(expected.contains("sand/sand.0010.bodies.json"));
    EXPECT_TRUE(place.has("out/sand/bodies/0_ball.ply"));
    place.succeed({"run", "sand.toml", "-o", "one", "--threads", "1"});
    EXPECT_EQ(differences(expected, results_in(place / "one")), std::vector<std::string>());
    expect_same_after_kills(place, kRun, "out", expected);

    const Particles sand = read_particles(place / "out/sand/sand.0010.vdb").particles;
    EXPECT_GT(sand.size(), 1000u);
    EXPECT_TRUE(sand.find<float>("mass") && sand.find<int32_t>("material") && sand.find<Vec3f>("shape_diagonal") &&
                sand.find<Vec3f>("shape_shear"));

    const Particles grains = read_particles(place / "out/grains/grains.0010.vdb").particles;
    EXPECT_GT(grains.size(), 4 * sand.size());
    EXPECT_TRUE(grains.find<Vec3f>("N") && grains.find<int32_t>("material"));
}

TEST(SandStage, AsAFluidGivesTheSameFilesForAnyNumberOfThreadsAndAfterKills)
{
    const Workplace place;
    place.write("sand.toml", fluid_scene(14));
    place.succeed(kRun);
    const Files expected = results_in(place / "out");
    place.succeed({"sand", "sand.toml", "-o", "three", "--threads", "3"});
    EXPECT_EQ(differences(expected, results_in(place / "three")), std::vector<std::string>());
    expect_same_after_kills(place, kRun, "out", expected);

    const Particles sand = read_particles(place / "out/sand/sand.0014.vdb").particles;
    EXPECT_GT(sand.size(), 1000u);
    EXPECT_TRUE(sand.find<float>("mass") && sand.find<int32_t>("material") && sand.find<Vec3f>("shape_diagonal"));
}

TEST(SandStage, IsDrawn)
{
    const Workplace place;
    place.write("sand.toml", sand_scene(2) + "[render]\nwidth = 64\nheight = 48\nsamples = 1\n");
    place.succeed({"run", "sand.toml", "-o", "out"});
    EXPECT_TRUE(place.has("out/grains/grains.0002.vdb"));
    EXPECT_TRUE(place.has("out/render/render.0002.png"));
}

TEST(SandStage, InvalidScenesAreReportedBeforeTheRun)
{
    const Workplace place;
    const auto rejected = [&](const std::string& scene, const std::string& message) {
        place.write("sand.toml", scene);
        const RunResult result = place.run({"check", "sand.toml"});
        EXPECT_EQ(result.code, 2) << message;
        EXPECT_NE(result.err.find(message), std::string::npos) << result.err;
    };
    const auto with = [](const std::string& from, const std::string& to) {
        std::string scene = sand_scene(5);
        scene.replace(scene.find(from), from.size(), to);
        return scene;
    };
    rejected("[sand]\n", "the sand has no source");
    rejected(with("material = 1", "material = 2"), "there are only 2");
    rejected(with("voxel = 0.03", "voxel = 0.00001"), "raise sand.voxel");
    rejected(with("density = 800", "density = -1"), "density");
    rejected(with("voxel", "model = \"fluid\"\nvoxel"), "the model \"fluid\" has one material");
    rejected(fluid_scene(5) + "[[sand.impulse]]\n", "the model \"fluid\" has no impulses");
    rejected(with("center = [0, 0.6, 0]", "center = [0, 5, 0]"), "outside the domain");
}

TEST(SandStage, ErrorsOfTheFluidModelNameSand)
{
    const Workplace place;
    std::string scene = fluid_scene(5);
    scene.replace(scene.find("[0.2, -1, 0]"), 12, "[0.2, -9e4, 0]");
    place.write("sand.toml", scene);
    const RunResult result = place.run(kRun);
    EXPECT_EQ(result.code, 1);
    EXPECT_NE(result.err.find("sand would need"), std::string::npos) << result.err;
    EXPECT_NE(result.err.find("raise sand.voxel"), std::string::npos) << result.err;
}

} // namespace spindrift
