#include "cli/program.h"
#include "spindrift/io/atomic_file.h"
#include "spindrift/io/image.h"
#include "spindrift/io/mesh_file.h"
#include "texture/sequences.h"

#include <gtest/gtest.h>

namespace spindrift {

namespace {

// A ball falls into a pool.
std::string splash(const std::string& liquid, const std::string& texture)
{
    return R"([shot]
frames = "1-6"
[liquid]
voxel = 0.08
)" + liquid +
           R"([liquid.domain]
min = [0, 0, 0]
max = [0.8, 0.8, 0.8]
[[liquid.source]]
max = [0.8, 0.2, 0.8]
[[liquid.source]]
shape = "sphere"
center = [0.4, 0.45, 0.4]
radius = 0.15
velocity = [0, -2, 0]
)" + texture;
}

const std::string kReacting = R"([texture]
mode = "react"
size = 0.2
start_steps = 200
carry = ["age"]
[[texture.expression]]
at = "after_advection"
code = "float@age += 1.0f; float@substrate = vec3f@P.y > 0.2f ? 6.0f : 20.0f;"
)";

constexpr const char* kTurning = R"([shot]
frames = "1-5"
fps = 10
[texture]
input = "ball.####.ply"
size = 0.4
[render]
width = 64
height = 64
samples = 2
)";

void write_ball(const Workplace& place, int frames, const std::function<void(Mesh&)>& change = {})
{
    for (int frame = 1; frame <= frames; ++frame) {
        Mesh mesh = TurningBall().frame(frame, false);
        if (change) change(mesh);
        write_mesh(place / fmt::format("ball.{:04}.ply", frame), mesh);
    }
}

} // namespace

TEST(TextureStage, GivesTheSameFilesForAnyNumberOfThreadsAndAfterKills)
{
    const Workplace place;
    const std::string guided = "mode = \"guide\"\nrule = \"foam\"\norientation = 2\nfeature_smoothing = 0.1\n";
    for (const std::string& scene : {splash("", "[track]\n" + kReacting),              // the map of a tracked surface
                                     splash("", "[texture]\nmode = \"parameters\"\n"), // velocities of [surface]
                                     splash("", "[track]\n[texture]\n" + guided)}) {
        place.write("splash.toml", scene);
        place.remove("out"), place.remove("one");
        const std::vector<std::string> run = {"run", "splash.toml", "-o", "out"};
        place.succeed(run);
        const Files expected = results_in(place / "out");
        EXPECT_TRUE(expected.contains("texture/texture.0006.ply"));
        place.succeed({"run", "splash.toml", "-o", "one", "--threads", "1"});
        EXPECT_EQ(differences(expected, results_in(place / "one")), std::vector<std::string>());
        expect_same_after_kills(place, run, "out", expected);
    }
}

TEST(TextureStage, CarriesAttributesAndRunsExpressions)
{
    const Workplace place;
    place.write("splash.toml", splash("surface = \"tracked\"\n", kReacting));
    place.succeed({"run", "splash.toml", "-o", "out"});
    const Mesh mesh = read_mesh(place / "out/texture/texture.0006.ply"),
               surface = read_mesh(place / "out/liquid/liquid.0006.surface.ply");
    EXPECT_EQ(mesh.positions, surface.positions);
    EXPECT_EQ(mesh.triangles, surface.triangles);
    for (const char* name : {"morphogen_a", "morphogen_b", "color", "age", "substrate", "origin_triangle"})
        EXPECT_TRUE(mesh.attributes.contains(name)) << name;
    const auto& age = std::get<std::vector<float>>(mesh.attributes.at("age"));
    EXPECT_NEAR(*std::ranges::max_element(age), 6, 0.01);
    EXPECT_GE(*std::ranges::min_element(age), 1);
}

// A ball falls into a pool, whose bottom and sides are walls.
TEST(TextureStage, FoamAndFeaturesAreThoseOfTheFreeSurface)
{
    const Workplace place;
    place.write("splash.toml",
                splash("", "[surface]\n[texture]\nmode = \"guide\"\nrule = \"foam\"\nfoam.reach = 0.05\n"));
    place.succeed({"run", "splash.toml", "-o", "out"});
    const Mesh mesh = read_mesh(place / "out/texture/texture.0003.ply");
    const auto values = [&](const char* name) { return std::get<std::vector<float>>(mesh.attributes.at(name)); };
    const std::vector<float> foam = values("parameter"), curvature = values("curvature");
    double ball = 0, balls = 0;
    for (size_t i = 0; i < foam.size(); ++i) {
        const Vec3f& x = mesh.positions[i];
        const float wall = std::min({x.x(), x.y(), x.z(), 0.8f - x.x(), 0.8f - x.z()});
        if (wall < 0.02f) {
            EXPECT_EQ(curvature[i], 0) << x.transpose();
        }
        if (x.y() > 0.3f) ball += static_cast<double>(curvature[i]), balls += 1;
    }
    EXPECT_GT(balls, 20);
    EXPECT_NEAR(ball / balls, 1 / 0.15, 2); // the radius of the ball
    for (const char* name : {"divergence", "stretch", "squash", "viscous"}) EXPECT_EQ(values(name).size(), foam.size());
}

TEST(TextureStage, ExpressionsSetTheParameterFromFeatures)
{
    const Workplace place;
    place.write("splash.toml", splash("", R"([track]
[texture]
mode = "guide"
features = true
color = [0, 0, 0]
second_color = [1, 1, 1]
[[texture.expression]]
at = "after_advection"
code = "float@parameter = max(float@parameter, 0.1f * float@curvature);"
)"));
    place.succeed({"run", "splash.toml", "-o", "out"});
    const Mesh mesh = read_mesh(place / "out/texture/texture.0006.ply");
    const auto& guide = std::get<std::vector<float>>(mesh.attributes.at("parameter"));
    const auto& curvature = std::get<std::vector<float>>(mesh.attributes.at("curvature"));
    const auto& colors = std::get<std::vector<Vec3f>>(mesh.attributes.at("color"));
    int remembered = 0;
    for (size_t i = 0; i < guide.size(); ++i) {
        EXPECT_GE(guide[i], 0.1f * curvature[i] - 1e-5f);
        EXPECT_NEAR(colors[i].x(), clamp01(guide[i]), 1e-5f);
        remembered += guide[i] > 0.1f * curvature[i] + 0.1f;
    }
    EXPECT_GT(remembered, 20);
}

TEST(TextureStage, TexturesMeshesOfAnotherProgramAndShowsThem)
{
    const Workplace place;
    place.write("ball.toml", kTurning);
    write_ball(place, 5);
    place.succeed({"run", "ball.toml", "-o", "out"});
    const Mesh mesh = read_mesh(place / "out/texture/texture.0005.ply");
    EXPECT_EQ(mesh.positions.size(), TurningBall().frame(5, false).positions.size());
    // Checks in the colours of the texture: the picture has red places and light ones.
    const Image image = read_image(place / "out/render/render.0005.png");
    int red = 0, light = 0;
    for (const Vec3f& c : image.pixels)
        red += c.x() > 2 * c.y() && c.x() > 2 * c.z(), light += c.x() < 1.5f * c.y() && c.x() > 0.25f;
    EXPECT_GT(red, 100);
    EXPECT_GT(light, 100);
}

TEST(TextureStage, BadInputIsOneMessage)
{
    const Workplace place;
    place.write("ball.toml", kTurning);
    const auto message = [&](const std::string& set = {}) {
        std::vector<std::string> command = {"texture", "ball.toml", "-o", "out"};
        if (!set.empty()) command.insert(command.end(), {"--set", set});
        const RunResult result = place.run(command);
        EXPECT_NE(result.code, 0);
        return result.err;
    };
    EXPECT_TRUE(contains(message(), "ball.####.ply"));
    write_ball(place, 4);
    EXPECT_TRUE(contains(message(), "ball.0005.ply is missing"));
    // Other triangles, and no velocities.
    write_ball(place, 5, [](Mesh& mesh) { mesh.velocities.clear(); });
    write_mesh(place / "ball.0004.ply", sphere_mesh({0, 0, 0}, 1, 2));
    const std::string lost = message();
    EXPECT_TRUE(contains(lost, "ball.0004.ply") && contains(lost, "velocities (vx, vy, vz)")) << lost;
    write_ball(place, 5);
    EXPECT_TRUE(contains(message("texture.map=origins"), "origin_triangle"));
    EXPECT_TRUE(contains(message("texture.input=ball.####.vdb"), "must end in .ply or .obj"));
    EXPECT_TRUE(contains(message("texture.mode=paint"), "example"));
    EXPECT_TRUE(contains(message("texture.p1=0.1"), "p1"));
    EXPECT_TRUE(contains(message("texture.rule=bubbles"), "foam"));
    EXPECT_TRUE(contains(message("texture.foam.life=0"), "foam.life"));
    write_file(place / "ball.0003.ply", "ply\nformat ascii 1.0\nend_header\n");
    EXPECT_TRUE(contains(message(), "ball.0003.ply")) << message();
    place.write("plain.toml", splash("", "[texture]\nof = \"liquid\"\n"));
    const RunResult plain = place.run({"run", "plain.toml", "-o", "plain"});
    EXPECT_TRUE(contains(plain.err, "liquid.surface = \"tracked\"")) << plain.err;
    // Examples.
    Image image(20, 40);
    for (size_t i = 0; i < image.pixels.size(); ++i) image.pixels[i] = Vec3f::Constant(i % 3 == 0 ? 0.0f : 1.0f);
    write_image(place / "tiny.png", image);
    write_image(place / "flat.exr", Image(64, 64));
    write_file(place / "broken.png", "not a picture");
    const auto of_example = [&](const std::string& file) {
        const RunResult result = place.run({"texture", "ball.toml", "-o", "out", "--set", "texture.mode=example",
                                            "--set", "texture.example_file=" + file});
        EXPECT_EQ(result.code, 2) << result.err;
        return result.err;
    };
    EXPECT_TRUE(contains(of_example("none.png"), "none.png"));
    EXPECT_TRUE(contains(of_example("broken.png"), "broken.png"));
    EXPECT_TRUE(contains(of_example("tiny.png"), "20 x 40 pixels"));
    EXPECT_TRUE(contains(of_example("flat.exr"), "the same colour everywhere"));
    // A mesh with a boundary has no inside, but can be textured.
    write_ball(place, 5, [](Mesh& mesh) { mesh.triangles.resize(mesh.triangles.size() / 2); });
    place.succeed({"texture", "ball.toml", "-o", "open"});
}

// Meshes that are used in spite of something, and frames without any.
TEST(TextureStage, OpenAndUntidyMeshesWork)
{
    const Workplace place;
    place.write("ball.toml", kTurning);
    const std::vector<std::string> run = {"texture", "ball.toml", "-o", "out", "--set", "texture.atlas=128"};
    const auto warnings = [&](const std::function<void(Mesh&)>& change) {
        write_ball(place, 5, change);
        place.remove("out");
        const RunResult result = place.succeed(run);
        EXPECT_EQ(read_mesh(place / "out/texture/texture.0005.obj").triangles.size(),
                  read_mesh(place / "ball.0005.ply").triangles.size());
        return result.out + result.err;
    };
    EXPECT_FALSE(contains(warnings([](Mesh&) {}), "not closed"));
    const std::string open = warnings([](Mesh& mesh) { mesh.triangles.resize(mesh.triangles.size() / 2); });
    EXPECT_TRUE(contains(open, "ball.0001.ply") && contains(open, "no other triangle has")) << open;
    const std::string cut = warnings([](Mesh& mesh) {
        Mesh soup;
        for (const Vec3i& t : mesh.triangles) {
            const auto first = static_cast<int>(soup.positions.size());
            for (const int vertex : t)
                soup.positions.push_back(mesh.positions[vertex]), soup.velocities.push_back(mesh.velocities[vertex]);
            soup.triangles.emplace_back(first, first + 1, first + 2);
        }
        mesh = soup;
    });
    EXPECT_TRUE(contains(cut, "vertices are where another one is")) << cut;
    const std::string fins = warnings([](Mesh& mesh) {
        const Vec3i t = mesh.triangles.front();
        mesh.triangles.emplace_back(t[0], t[1], mesh.triangles.back()[0]); // a third triangle at an edge
        mesh.triangles.emplace_back(t[0], t[0], t[1]);                     // and one without area
    });
    EXPECT_TRUE(contains(fins, "3 triangles have")) << fins;
    // Without triangles in the middle of the shot: it begins afresh.
    for (const bool moves : {true, false}) {
        write_ball(place, 5);
        Mesh same = TurningBall().frame(1, false);
        if (!moves) same.velocities.clear();
        for (int frame = 1; frame <= 5; ++frame)
            write_mesh(place / fmt::format("ball.{:04}.ply", frame), frame == 3 ? Mesh() : same);
        place.remove("out");
        place.succeed(run);
        EXPECT_TRUE(read_mesh(place / "out/texture/texture.0003.ply").positions.empty());
        const Mesh first = read_mesh(place / "out/texture/texture.0001.ply"),
                   after = read_mesh(place / "out/texture/texture.0004.ply");
        EXPECT_EQ(std::get<std::vector<Vec3f>>(after.attributes.at("color")),
                  std::get<std::vector<Vec3f>>(first.attributes.at("color")));
    }
}

TEST(TextureStage, MeshesBeyondAllMeasureAreRefused)
{
    const Workplace place;
    place.write("ball.toml", kTurning);
    const auto message = [&](const std::function<void(Mesh&)>& change) {
        write_ball(place, 5);
        Mesh mesh = TurningBall().frame(4, false);
        change(mesh);
        write_mesh(place / "ball.0004.ply", mesh);
        const RunResult result = place.run({"texture", "ball.toml", "-o", "out"});
        EXPECT_EQ(result.code, 2) << result.err;
        return result.err;
    };
    const std::string far = message([](Mesh& mesh) { mesh.positions[7].x() = 1e20f; });
    EXPECT_TRUE(contains(far, "ball.0004.ply: vertex 7 is at")) << far;
    const std::string fast = message([](Mesh& mesh) { mesh.velocities[9].y() = -1e30f; });
    EXPECT_TRUE(contains(fast, "ball.0004.ply: vertex 9 has the velocity")) << fast;
    write_ball(place, 5);
    std::string bytes = read_file(place / "ball.0004.ply");
    const float nan = std::numeric_limits<float>::quiet_NaN();
    std::memcpy(&bytes[bytes.find("end_header\n") + 11], &nan, sizeof nan);
    write_file(place / "ball.0004.ply", bytes);
    const RunResult result = place.run({"texture", "ball.toml", "-o", "out"});
    EXPECT_EQ(result.code, 2);
    EXPECT_TRUE(contains(result.err, "ball.0004.ply") && contains(result.err, "vertex 0 is not finite")) << result.err;
}

// Of any shape, depth and channels.
TEST(TextureStage, ExamplesOfManyKindsWork)
{
    const Workplace place;
    place.write("ball.toml", kTurning);
    write_ball(place, 5);
    using Precision = ChannelImage::Precision;
    const auto write = [&](const std::string& name, const std::vector<std::string>& channels, Precision precision,
                           float scale) {
        ChannelImage image(60, 40);
        for (const std::string& channel : channels) {
            std::vector<float>& values = image.add(channel, precision).values;
            for (size_t i = 0; i < values.size(); ++i) values[i] = scale * static_cast<float>(i / 5 % 2);
        }
        write_image(place / name, image);
    };
    const auto brightest = [&](const std::string& file) {
        place.remove("out");
        place.succeed({"texture", "ball.toml", "-o", "out", "--frames", "1-1", "--set", "texture.mode=example", "--set",
                       "texture.patch=17", "--set", "texture.feature=5", "--set", "texture.example_file=" + file});
        const Mesh mesh = read_mesh(place / "out/texture/texture.0001.ply");
        Vec3f most = Vec3f::Zero();
        for (const Vec3f& c : std::get<std::vector<Vec3f>>(mesh.attributes.at("color"))) most = most.cwiseMax(c);
        return most;
    };
    write("grey.exr", {"Y"}, Precision::full, 0.5f);
    write("color.exr", {"R", "G", "B"}, Precision::half, 0.5f);
    write("more.exr", {"R", "G", "B", "Z", "u"}, Precision::full, 0.5f);
    for (const char* file : {"grey.exr", "color.exr", "more.exr"})
        EXPECT_LT((brightest(file) - Vec3f::Constant(0.5f)).norm(), 0.1f) << file;
    write("huge.exr", {"R", "G", "B"}, Precision::full, 1e30f);
    const RunResult huge = place.run({"texture", "ball.toml", "-o", "out", "--set", "texture.mode=example", "--set",
                                      "texture.example_file=huge.exr", "--set", "texture.patch=17"});
    EXPECT_EQ(huge.code, 2);
    EXPECT_TRUE(contains(huge.err, "in pixel (5, 0)")) << huge.err;
}

} // namespace spindrift
