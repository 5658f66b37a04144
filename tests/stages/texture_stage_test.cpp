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

const std::string kExample = "[texture]\nmode = \"example\"\ntexel = 0.05\npatch = 17\nexample_size = 48\n";
const std::string kTwoExamples = R"([[texture.examples]]
kind = "spots"
[[texture.examples]]
kind = "foam"
parameter = 1
)";
const std::string kLabelled = kExample + "select = \"label\"\n" + kTwoExamples + R"([[texture.expression]]
at = "after_advection"
code = "i@example = vec3f@P.x > 0.4f ? 2 : 1;"
)";
const std::string kRippling = kExample + "example = \"ripples\"\nhistory = 1\n";
const std::string kFoaming = kExample + "select = \"parameter\"\nrule = \"foam\"\norientation = 3\n" + kTwoExamples;

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
                                     splash("", "[track]\n[texture]\n" + guided), splash("", "[track]\n" + kLabelled),
                                     splash("", "[track]\n" + kRippling), splash("", "[track]\n" + kFoaming)}) {
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

// The surface of a pool flows away from x = 0, towards x = 1 and x = -1. A rate by an expression makes foam where it
// converges and only there, as much at any number of frames a second.
TEST(TextureStage, FoamByARateAppearsWhereTheSurfaceConverges)
{
    const Workplace place;
    constexpr float kSpeed = 0.1f; // [m/s]
    const auto pi = static_cast<float>(kPi);
    for (const int fps : {10, 20}) {
        place.write("pool.toml", fmt::format(R"([shot]
frames = "1-{}"
fps = {}
[texture]
input = "pool.####.ply"
mode = "guide"
features = true
[[texture.expression]]
at = "after_advection"
code = "f@parameter_rate = 0.5f * max(-f@divergence, 0.0f);"
)",
                                             fps / 2 + 1, fps));
        for (int frame = 1; frame <= fps / 2 + 1; ++frame) {
            Mesh mesh = plane_mesh(1, 40, static_cast<uint64_t>(frame));
            for (const Vec3f& x : mesh.positions) mesh.velocities.emplace_back(kSpeed * std::sin(pi * x.x()), 0, 0);
            write_mesh(place / fmt::format("pool.{:04}.ply", frame), mesh);
        }
        place.remove("out");
        place.succeed({"texture", "pool.toml", "-o", "out"});
        const Mesh mesh = read_mesh(place / fmt::format("out/texture/texture.{:04}.ply", fps / 2 + 1));
        const auto& foam = std::get<std::vector<float>>(mesh.attributes.at("parameter"));
        for (size_t i = 0; i < foam.size(); ++i) {
            const Vec3f& x = mesh.positions[i];
            if (std::abs(x.z()) > 0.9f || std::abs(x.x()) > 0.9f) continue; // no features at the boundary
            // With r' = (k + r) |div|, r = k (exp(|div| t) - 1) at x = 1 and x = -1.
            const bool converges = std::abs(x.x()) > 0.85f, diverges = std::abs(x.x()) < 0.45f;
            const float expected = converges ? 0.5f * std::expm1(kSpeed * pi * 0.5f) : 0;
            if (converges || diverges) {
                EXPECT_NEAR(foam[i], expected, converges ? 0.02f : 1e-3f) << x.transpose();
            }
        }
    }
}

// Nobody has to know the rule's name to see foam.
TEST(TextureStage, FoamIsTheRuleUnlessAnExpressionHasAnother)
{
    const Workplace place;
    write_mesh(place / "ball.ply", sphere_mesh({0, 0, 0}, 0.1f, 3));
    const auto foam = [&](const std::string& expression) {
        place.write("ball.toml",
                    "[shot]\nframes = \"1\"\n[texture]\ninput = \"ball.ply\"\nmode = \"guide\"\n" + expression);
        place.remove("out");
        place.succeed({"texture", "ball.toml", "-o", "out"});
        const Mesh mesh = read_mesh(place / "out/texture/texture.0001.ply");
        return std::get<std::vector<float>>(mesh.attributes.at("parameter")).front();
    };
    const std::string at = "[[texture.expression]]\nat = \"after_advection\"\ncode = ";
    EXPECT_NEAR(foam(""), 0.02 * 10, 0.02);
    EXPECT_NEAR(foam(at + "\"f@other = 1.0f;\"\n"), 0.02 * 10, 0.02);
    EXPECT_EQ(foam(at + "\"f@parameter_rate = 1.0f;\"\n"), 0);
    EXPECT_EQ(foam("rule = \"none\"\n"), 0);
    EXPECT_EQ(foam(at + "\"f@parameter = 0.5f;\"\n"), 0.5f);
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
    // Further channels become attributes, and equal the colours here.
    place.write("ball.toml", std::string(kTurning));
    brightest("more.exr");
    const Mesh more = read_mesh(place / "out/texture/texture.0001.ply");
    const auto& colors = std::get<std::vector<Vec3f>>(more.attributes.at("color"));
    for (const char* name : {"Z", "u"})
        for (size_t i = 0; i < colors.size(); ++i)
            EXPECT_NEAR(std::get<std::vector<float>>(more.attributes.at(name))[i], colors[i].x(), 1e-3f);
    // Other pictures that ffmpeg writes: 16 bits, a palette, black and white, grey with opacity.
    Image stripes(60, 40);
    for (size_t i = 0; i < stripes.pixels.size(); ++i)
        stripes.pixels[i] = Vec3f::Constant(static_cast<float>(i / 5 % 2));
    write_image(place / "plain.png", stripes), write_image(place / "lossy.jpg", stripes);
    EXPECT_LT((brightest("lossy.jpg") - Vec3f::Ones()).norm(), 0.1f);
    for (const std::string format : {"rgb48be", "gray16be", "pal8", "monob", "ya8", "gray"}) {
        const std::string file = format + ".png";
        const std::string command = "ffmpeg -nostdin -loglevel error -y -i " + (place / "plain.png") + " -pix_fmt " +
                                    format + " " + (place / file);
        ASSERT_EQ(std::system(command.c_str()), 0) << command;
        EXPECT_LT((brightest(file) - Vec3f::Ones()).norm(), 0.1f) << file;
        const Mesh mesh = read_mesh(place / "out/texture/texture.0001.ply");
        EXPECT_EQ(mesh.attributes.contains("opacity"), format == "ya8");
    }
    write("depths.exr", {"a", "b", "c", "d"}, Precision::full, 1);
    write("odd.exr", {"R", "G", "B", "parameter"}, Precision::full, 1);
    const auto refused = [&](const std::string& file) {
        const RunResult result = place.run({"texture", "ball.toml", "-o", "out", "--set", "texture.mode=example",
                                            "--set", "texture.example_file=" + file, "--set", "texture.patch=17"});
        EXPECT_EQ(result.code, 2);
        return result.err;
    };
    EXPECT_TRUE(contains(refused("depths.exr"), "depths.exr has no colours")) << refused("depths.exr");
    EXPECT_TRUE(contains(refused("odd.exr"), "the channel \"parameter\"")) << refused("odd.exr");
    write("huge.exr", {"R", "G", "B"}, Precision::full, 1e30f);
    const RunResult huge = place.run({"texture", "ball.toml", "-o", "out", "--set", "texture.mode=example", "--set",
                                      "texture.example_file=huge.exr", "--set", "texture.patch=17"});
    EXPECT_EQ(huge.code, 2);
    EXPECT_TRUE(contains(huge.err, "huge.exr has the value 1e+30 in pixel (5, 0)")) << huge.err;
}

// One picture, black on its left and white on its right, with a parameter and a height for each pixel: the upper half
// of a ball, where the parameter is 1, is white and high. Vertices move by that height, not by their colour.
TEST(TextureStage, PicturesOfTheParameterAndTheHeightBelongToAnExample)
{
    const Workplace place;
    place.write("ball.toml", R"([shot]
frames = "1-2"
[texture]
input = "ball.ply"
mode = "example"
texel = 0.06
patch = 9
select = "parameter"
rule = "none"
parameter_weight = 20
displace = 0.2
atlas = 128
atlas_format = "exr"
[[texture.examples]]
file = "halves.png"
parameter_file = "parameter.exr"
height_file = "height.exr"
)");
    Mesh ball = sphere_mesh({0, 0, 0}, 1, 4);
    std::vector<float> above;
    for (const Vec3f& x : ball.positions) above.push_back(x.y() > 0);
    ball.attributes["parameter"] = above;
    write_mesh(place / "ball.ply", ball);
    constexpr int kWidth = 60, kHeight = 40;
    Image halves(kWidth, kHeight);
    ChannelImage parameter(kWidth, kHeight), height(kWidth, kHeight);
    const auto write_channel = [&](const std::string& file, ChannelImage& picture, float low, float high) {
        picture.channels.clear();
        std::vector<float>& values = picture.add("Y", ChannelImage::Precision::full).values;
        for (int i = 0; i < kWidth * kHeight; ++i) values[i] = i % kWidth < kWidth / 2 ? low : high;
        write_image(place / file, picture);
    };
    for (int i = 0; i < kWidth * kHeight; ++i)
        halves.pixels[i] = Vec3f::Constant(i % kWidth < kWidth / 2 ? 0.0f : 1.0f);
    write_image(place / "halves.png", halves);
    write_channel("parameter.exr", parameter, 0, 1), write_channel("height.exr", height, 0.25f, 0.75f);
    place.succeed({"texture", "ball.toml", "-o", "out"});
    const Mesh mesh = read_mesh(place / "out/texture/texture.0002.ply");
    const auto& colors = std::get<std::vector<Vec3f>>(mesh.attributes.at("color"));
    const auto& heights = std::get<std::vector<float>>(mesh.attributes.at("height"));
    double right = 0, clear = 0;
    for (size_t i = 0; i < colors.size(); ++i) {
        EXPECT_NEAR(heights[i], 0.25f + 0.5f * colors[i].x(), 0.02f);
        EXPECT_NEAR(mesh.positions[i].norm(), 1 + 0.2f * (heights[i] - 0.5f), 0.02f);
        const float y = mesh.positions[i].y();
        if (std::abs(y) > 0.3f) clear += 1, right += (colors[i].x() > 0.5f) == (y > 0);
    }
    EXPECT_GT(right / clear, 0.95);
    const ChannelImage atlas = read_channels(place / "out/texture/texture.0002.exr");
    ASSERT_TRUE(atlas.find("height") && atlas.find("R"));
    const std::vector<float>&red = atlas.find("R")->values, &high = atlas.find("height")->values;
    for (size_t i = 0; i < red.size(); ++i) EXPECT_NEAR(high[i], 0.25f + 0.5f * red[i], 0.02f);
    // Numbers that would make the search random.
    for (const std::string file : {"parameter.exr", "height.exr"}) {
        write_channel(file, parameter, 0, 1e30f);
        const RunResult result = place.run({"texture", "ball.toml", "-o", "bad"});
        EXPECT_EQ(result.code, 2);
        EXPECT_TRUE(contains(result.err, file + " has the value 1e+30 in pixel (30, 0)") &&
                    contains(result.err, "ball.toml:"))
            << result.err;
        write_channel(file, parameter, 0, 1);
    }
    write_image(place / "halves.0001.png", halves), write_image(place / "halves.0002.png", Image(60, 40));
    const RunResult video =
        place.run({"texture", "ball.toml", "-o", "bad", "--set", "texture.select=any", "--set",
                   "texture.examples=[{file = \"halves.####.png\", height_file = \"height.exr\"}]"});
    EXPECT_EQ(video.code, 2);
    EXPECT_TRUE(contains(video.err, "height")) << video.err;
}

} // namespace spindrift
