#include "cli/program.h"

namespace spindrift {

namespace {

TEST(Determinism, CachesDoNotDependOnTheNumberOfThreads)
{
    const Workplace place;
    place.write("small.toml", small_scene() + "[render.water]\nior = 1.33\n");
    const auto results = [&](const std::string& threads) {
        // One picture has the floor, whose lighting is the larger part of the renderer.
        place.succeed({"run", "small.toml", "-o", "j" + threads, "-j", threads});
        place.succeed({"render", "small.toml", "-o", "j" + threads, "-j", threads, "--set", "render.floor=true",
                       "--frames", "5"});
        return results_in(place / ("j" + threads));
    };
    const Files one = results("1");
    EXPECT_TRUE(one.contains("liquid/liquid.0006.vdb"));
    EXPECT_TRUE(one.contains("surface/surface.0006.ply"));
    EXPECT_TRUE(one.contains("render/render.0005.png"));
    EXPECT_EQ(differences(one, results("2")), std::vector<std::string>());
    EXPECT_EQ(differences(one, results("7")), std::vector<std::string>());
}

TEST(Determinism, ApicWithFlowAndMovingColliderDoesNotDependOnTheNumberOfThreads)
{
    // Around the origin, where coordinates change sign.
    const Workplace place;
    place.write("flow.toml", R"([shot]
frames = "1-6"

[liquid]
voxel = 0.05
transfer = "apic"

[[liquid.source]]
shape = "sphere"
center = [0, 0.5, 0]
radius = 0.15
mode = "flow"
velocity = [1, 0, 0]

[[liquid.collider]]
shape = "box"
min = [0.2, 0, -0.5]
max = [0.3, 0.5, 0.5]
translate = [[1, 0, 0, 0], [6, 0, 0.2, 0]]
)");
    place.succeed({"run", "flow.toml", "-o", "j1", "-j", "1"});
    place.succeed({"run", "flow.toml", "-o", "j2", "-j", "2"});
    place.succeed({"run", "flow.toml", "-o", "j7", "-j", "7"});
    const Files one = results_in(place / "j1");
    EXPECT_EQ(one.size(), 6u);
    EXPECT_EQ(differences(one, results_in(place / "j2")), std::vector<std::string>());
    EXPECT_EQ(differences(one, results_in(place / "j7")), std::vector<std::string>());
}

TEST(Determinism, PartialRunsGiveTheSameFramesAsOneRun)
{
    const Workplace place;
    place.write("small.toml", small_scene());
    place.succeed({"run", "small.toml", "-o", "out", "--frames", "2-3"});
    EXPECT_TRUE(place.has("out/liquid/liquid.0001.vdb")); // a simulation computes every frame
    EXPECT_FALSE(place.has("out/surface/surface.0001.ply"));
    EXPECT_FALSE(place.has("out/small.contact.png"));
    place.succeed({"liquid", "small.toml", "-o", "out"});
    place.succeed({"run", "small.toml", "-o", "out", "--frames", "5"});
    place.succeed({"run", "small.toml", "-o", "out"});
    EXPECT_EQ(differences(undisturbed(), results_in(place / "out")), std::vector<std::string>());
}

} // namespace

} // namespace spindrift
