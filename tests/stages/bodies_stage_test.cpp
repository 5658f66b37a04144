// Bodies in a shot: files, resuming and errors.
#include "cli/program.h"
#include "spindrift/io/image.h"
#include "spindrift/io/mesh_file.h"
#include "spindrift/stages/body_files.h"

#include <gtest/gtest.h>

namespace spindrift {

namespace {

std::string scene_with(const std::string& bodies)
{
    std::string text = small_scene();
    return text.replace(text.find("[surface]"), 9, bodies + "\n[surface]");
}

std::string two_bodies()
{
    return scene_with(R"([[liquid.body]]
name = "my \"best\" crate/1"
min = [0.1, 0.52, 0.2]
max = [0.3, 0.72, 0.4]
rotation = [0, 30, 0]
density = 400

[[liquid.body]]
shape = "capsule"
start = [0.6, 0.2, 0.2]
end = [0.6, 0.2, 0.4]
radius = 0.06
spin = [0, 90, 0]
[[liquid.body.part]]
min = [0.55, 0.15, 0.1]
max = [0.65, 0.25, 0.2]
)");
}

const std::vector<std::string> kRun = {"run", "bodies.toml", "-o", "out"};

// The error message for an invalid body.
std::string complaint(const std::string& body)
{
    const Workplace place;
    place.write("bodies.toml", scene_with("[[liquid.body]]\n" + body));
    const RunResult result = place.run({"check", "bodies.toml"});
    EXPECT_EQ(result.code, 2) << body;
    return result.err;
}

bool says(const std::string& text, const std::string& part)
{
    if (text.find(part) != std::string::npos) return true;
    ADD_FAILURE() << text;
    return false;
}

} // namespace

TEST(BodiesStage, WritesMotionPerFrameAndMeshesOnce)
{
    const Workplace place;
    place.write("bodies.toml", two_bodies());
    place.succeed(kRun);
    const auto first = read_bodies(place / "out/liquid/liquid.0001.bodies.json", 2);
    const auto last = read_bodies(place / "out/liquid/liquid.0006.bodies.json", 2);
    EXPECT_LT((first[0].position - Vec3d(0.2, 0.62, 0.3)).norm(), 1e-6);
    EXPECT_LT(last[0].position.y(), first[0].position.y());
    EXPECT_NEAR(last[0].orientation.norm(), 1, 1e-12);
    EXPECT_NEAR(first[1].spin.y(), kPi / 2, 1e-6);

    // The mesh transformed by P and orient must be the body as the scene places it.
    Mesh mesh = read_mesh(place / "out/liquid/bodies/0_my__best__crate_1.ply");
    EXPECT_NEAR(volume_of(mesh), 0.008, 1e-6);
    const Mat3f turn = first[0].orientation.toRotationMatrix().cast<float>();
    for (Vec3f& x : mesh.positions) x = turn * x + first[0].position.cast<float>();
    const float half = 0.1f * (std::cos(static_cast<float>(kPi) / 6) + 0.5f);
    EXPECT_NEAR(bounds_of(mesh).max.x(), 0.2f + half, 1e-4);
    EXPECT_TRUE(place.has("out/liquid/bodies/1_body2.ply"));
}

TEST(BodiesStage, PicturesShowThem)
{
    const Workplace place;
    place.write("bodies.toml", two_bodies());
    place.succeed(kRun);
    const Image with = read_image(place / "out/render/render.0001.png");
    place.write("bodies.toml", small_scene());
    place.succeed({"run", "bodies.toml", "-o", "without"});
    const Image without = read_image(place / "without/render/render.0001.png");
    int different = 0;
    for (int y = 0; y < with.height; ++y)
        for (int x = 0; x < with.width; ++x) different += (with.at(x, y) - without.at(x, y)).norm() > 0.1f;
    EXPECT_GT(different, 60);
}

TEST(BodiesStage, GivesTheSameFilesForAnyNumberOfThreadsAndAfterKills)
{
    const Workplace place;
    place.write("bodies.toml", two_bodies());
    place.succeed(kRun);
    const Files expected = results_in(place / "out");
    EXPECT_TRUE(expected.contains("liquid/liquid.0006.bodies.json"));
    place.succeed({"run", "bodies.toml", "-o", "alone", "--threads", "1"});
    EXPECT_EQ(differences(expected, results_in(place / "alone")), std::vector<std::string>());
    expect_same_after_kills(place, kRun, "out", expected);
}

TEST(BodiesStage, NeedsNoLiquid)
{
    const Workplace place;
    std::string text = two_bodies();
    const size_t source = text.find("[[liquid.source]]");
    text.erase(source, text.find("[[liquid.body]]") - source);
    text.erase(text.find("[surface]"), 9);
    place.write("bodies.toml", text + "show = \"liquid\"\n");
    place.succeed(kRun);
    const auto last = read_bodies(place / "out/liquid/liquid.0006.bodies.json", 2);
    EXPECT_NEAR(last[0].position.y(), 0.62 - 0.5 * 9.81 * 25 / 576, 0.06);
    EXPECT_TRUE(place.has("out/render/render.0006.png"));
}

TEST(BodiesStage, RefusesInvalidBodies)
{
    const std::string room = "min = [0.5, 0.1, 0.1]\nmax = [0.6, 0.2, 0.2]\n";
    EXPECT_TRUE(
        says(complaint(room + "density = 0"), "liquid.body[0].density is 0 kg/m3; it must be 0.001 to 1000000"));
    EXPECT_TRUE(
        says(complaint(room + "mass = 0"), "liquid.body[0].mass is 0 kg; it must be 1e-09 to 1000000000000000"));
    EXPECT_TRUE(says(complaint("shape = \"half_space\""), "a half-space is unbounded"));
    EXPECT_TRUE(says(complaint("name = \"crate\"\nmin = [0.9, 0.1, 0.1]\nmax = [1.1, 0.3, 0.3]"),
                     "the body \"crate\" starts 0.1 m deep inside a wall or collider"));
    EXPECT_TRUE(says(complaint(room + "fixed_move = \"up\""), "may only contain the letters x, y and z"));
    EXPECT_TRUE(says(complaint(room + "hinge.anchor = [0, 0, 0]\nfixed_turn = \"x\""), "only rotates about its hinge"));
}

} // namespace spindrift
