// Parents, released bodies, containers and camera keyframes in scenes.
#include "cli/program.h"
#include "spindrift/io/image.h"
#include "spindrift/render/optics.h"
#include "spindrift/stages/body_files.h"
#include "spindrift/stages/scene_shapes.h"

#include <gtest/gtest.h>

namespace spindrift {

namespace {

class MovingShapes : public testing::Test {
  protected:
    Workplace place;

    SceneFile scene(const std::string& text) const
    {
        place.write("scene.toml", text);
        return SceneFile(place / "scene.toml");
    }
    // The error message about the first collider of [liquid].
    std::string complaint(const std::string& text) const
    {
        const SceneFile file = scene(text);
        try {
            load(file);
        } catch (const Error& error) {
            EXPECT_EQ(error.code, ExitCode::bad_input);
            return std::string(error.what()).substr((place / "scene.toml").size());
        }
        return "";
    }
    static ShapeParams params_of(const SceneFile& file, const std::string& path = "liquid.collider[0]")
    {
        ShapeParams params;
        file.read_part(path, [&](ParamVisitor& v) { params.visit(v); });
        return params;
    }
    static Shape load(const SceneFile& file) { return load_shape(file, params_of(file), "liquid.collider[0]"); }
};

const std::string kBall = "[[liquid.collider]]\nshape = \"sphere\"\ncenter = [1, 0, 0]\nradius = 0.5\n";

} // namespace

TEST_F(MovingShapes, MoveWithANullAndItsParent)
{
    const SceneFile file = scene("[liquid]\n" + kBall + R"(parent = "arm"
[[shot.null]]
name = "arm"
rotate = [[1, 0, 0, 1, 0], [11, 0, 0, 1, 90]]
parent = "cart"
[[smoke.collider]]
name = "cart"
translate = [[1, 0, 0, 0], [11, 10, 0, 0]]
)");
    const Shape shape = load(file);
    EXPECT_NEAR(shape.distance({10, 1, 0}, 11), -0.5f, 1e-5f);
    EXPECT_TRUE(shape.moves());
    // The dependencies include the parent's motion: another motion of the cart is another shape.
    const std::string before = mesh_files_of(params_of(file), file);
    const SceneFile other(place / "scene.toml", {"smoke.collider[0].translate=[[1, 0, 0, 0], [11, 9, 0, 0]]"});
    EXPECT_NE(mesh_files_of(params_of(other), other), before);
    EXPECT_NEAR(load(other).distance({9, 1, 0}, 11), -0.5f, 1e-5f);
}

TEST_F(MovingShapes, AnEmitterIsAParentThatTurnsAboutItsCentre)
{
    const SceneFile file = scene("[liquid]\n" + kBall + R"(parent = "nozzle"
[[spray.emitter]]
name = "nozzle"
center = [1, 1, 0]
rotate = [[1, 0, 0, 1, 0], [2, 0, 0, 1, 90]]
)");
    EXPECT_NEAR(load(file).distance({2, 1, 0}, 2), -0.5f, 1e-5f);
}

TEST_F(MovingShapes, InvalidParentsAreReportedWithTheirPosition)
{
    const std::string ball = "[liquid]\n" + kBall, null = "[[shot.null]]\nname = \"cart\"\n";
    EXPECT_EQ(complaint(ball + "parent = \"car\"\n" + null),
              ":6:10: liquid.collider[0].parent is \"car\", but nothing has that name; did you mean \"cart\"?");
    EXPECT_EQ(
        complaint(ball + "parent = \"cart\"\n"),
        ":6:10: liquid.collider[0].parent is \"cart\", but nothing has that name; give a shape or a [[shot.null]] "
        "that name");
    EXPECT_EQ(
        complaint(ball + "name = \"me\"\nparent = \"me\"\n"),
        ":7:10: liquid.collider[0].parent is \"me\", which moves with this shape itself; one of them must have no "
        "parent");
    EXPECT_EQ(complaint(ball + "name = \"me\"\nparent = \"cart\"\n" + null + "parent = \"me\"\n"),
              ":10:10: shot.null[0].parent is \"me\", which moves with this shape itself; one of them must have no "
              "parent");
    EXPECT_EQ(
        complaint(ball + "parent = \"cart\"\n" + null + null),
        ":6:10: liquid.collider[0].parent is \"cart\", but both shot.null[0] and shot.null[1] have that name; give "
        "them different names");
    EXPECT_NE(complaint(ball + "parent = \"cart\"\n" + null + "scale = [[1, 1, 2, 1]]\n").find("scaled unevenly"),
              std::string::npos);
    EXPECT_NE(complaint(ball + "parent = \"crate\"\n[[liquid.body]]\nname = \"crate\"\n").find("a rigid body"),
              std::string::npos);
}

// The program reports it before anything is computed; a null without a name is refused.
TEST_F(MovingShapes, TheProgramChecksParents)
{
    std::string text = small_scene();
    text.replace(text.find("[surface]"), 9, kBall + "parent = \"nobody\"\n\n[surface]");
    place.write("small.toml", text);
    const RunResult result = place.run({"check", "small.toml"});
    EXPECT_EQ(result.code, 2);
    EXPECT_TRUE(contains(result.err, "liquid.collider[0].parent is \"nobody\"")) << result.err;
    place.write("small.toml", small_scene() + "[[shot.null]]\n");
    EXPECT_TRUE(contains(place.run({"check", "small.toml"}).err, "shot.null[0].name must be given"));
}

// ----------------------------------------------------------------------------------------------------------- released

TEST_F(MovingShapes, ABodyWaitsForItsReleaseInLiquidAndResumesExactly)
{
    std::string text = small_scene();
    text.replace(text.find("[surface]"), 9, R"([[liquid.body]]
name = "ball"
shape = "sphere"
center = [0.7, 0.65, 0.3]
radius = 0.1
release = 4
translate = [[1, 0, 0, 0], [4, -0.15, 0, 0]]

[surface])");
    place.write("small.toml", text);
    place.succeed({"liquid", "small.toml", "-o", "out"});
    const auto ball = [&](int frame) {
        return read_bodies(place / fmt::format("out/liquid/liquid.{:04}.bodies.json", frame), 1)[0];
    };
    EXPECT_NEAR(ball(2).position.x(), 0.65, 1e-5);
    EXPECT_NEAR(ball(3).position.y(), 0.65, 1e-5);
    EXPECT_NEAR(ball(3).velocity.x(), -1.2, 1e-4);
    EXPECT_NEAR(ball(4).position.x(), 0.55, 1e-5);
    EXPECT_NEAR(ball(5).position.x(), 0.5, 0.01) << "it keeps its velocity";
    EXPECT_NEAR(ball(5).velocity.y(), -9.81 / 24, 0.02);
    EXPECT_LT(ball(6).position.y(), ball(5).position.y());

    place.succeed({"liquid", "small.toml", "-o", "parts", "--frames", "1-3"});
    place.succeed({"liquid", "small.toml", "-o", "parts"});
    EXPECT_EQ(place.read("parts/liquid/liquid.0006.bodies.json"), place.read("out/liquid/liquid.0006.bodies.json"));
    EXPECT_EQ(place.read("parts/liquid/liquid.0006.vdb"), place.read("out/liquid/liquid.0006.vdb"));
}

TEST_F(MovingShapes, ABodyWaitsForItsReleaseInSand)
{
    place.write("sand.toml", R"([shot]
frames = "1-5"
[sand]
voxel = 0.05
[sand.domain]
min = [0, 0, 0]
max = [0.6, 0.8, 0.6]
[[sand.source]]
max = [0.6, 0.15, 0.6]
[[sand.body]]
shape = "sphere"
center = [0.3, 0.5, 0.3]
radius = 0.1
density = 3000
release = 3
)");
    place.succeed({"sand", "sand.toml", "-o", "out"});
    const auto height = [&](int frame) {
        return read_bodies(place / fmt::format("out/sand/sand.{:04}.bodies.json", frame), 1)[0].position.y();
    };
    EXPECT_NEAR(height(3), 0.5, 1e-6);
    EXPECT_NEAR(height(5), 0.5 - 0.5 * 9.81 * std::pow(2.0 / 24, 2), 0.01);
}

TEST_F(MovingShapes, KeyframesOfABodyNeedARelease)
{
    std::string text = small_scene();
    text.replace(text.find("[surface]"), 9, "[[liquid.body]]\ntranslate = [[1, 0, 0, 0]]\n[surface]");
    place.write("small.toml", text);
    EXPECT_TRUE(contains(place.run({"check", "small.toml"}).err, "set the frame, as in release = 24"));
}

// ------------------------------------------------------------------------------------------------------------ pictures

TEST_F(MovingShapes, AnInvertedColliderIsDrawn)
{
    std::string text = small_scene();
    text.replace(text.find("[surface]"), 9,
                 "[[liquid.collider]]\nshape = \"capsule\"\nstart = [0.4, 0.4, 0.3]\nend = [0.6, 0.4, 0.3]\nradius = "
                 "0.28\ninvert = true\n\n[surface]");
    place.write("small.toml", text);
    place.succeed({"run", "small.toml", "-o", "out", "--frames", "1", "--set", "render.format=exr"});
    place.succeed({"run", "small.toml", "-o", "white", "--frames", "1", "--set", "render.format=exr", "--set",
                   "render.solid_color=[1, 1, 1]"});
    const Image one = read_image(place / "out/render/render.0001.exr");
    const Image two = read_image(place / "white/render/render.0001.exr");
    int walls = 0;
    for (size_t i = 0; i < one.pixels.size(); ++i) walls += (one.pixels[i] - two.pixels[i]).norm() > 0.05f;
    EXPECT_GT(walls, 300) << "of 5184 pixels; 0 if walls are not drawn";
}

// Hot smoke without a domain that lasts long enough to rise far above its source.
TEST_F(MovingShapes, TheAutomaticCameraKeepsSmokeInThePicture)
{
    place.write("plume.toml", R"([shot]
frames = "1-40"
[smoke]
voxel = 0.05
[[smoke.source]]
shape = "sphere"
center = [0, 0.2, 0]
radius = 0.15
temperature = 300
velocity = [0, 3, 0]
[render]
width = 60
height = 90
samples = 2
floor = false
sky = "uniform"
format = "exr"
[render.smoke]
density = 100
color = [0, 0, 0]
)");
    place.succeed({"run", "plume.toml", "-o", "out"});
    for (const int frame : {10, 20, 30, 40}) {
        const Image image = read_image(place / fmt::format("out/render/render.{:04}.exr", frame));
        float rim = 0, inside = 0;
        for (int y = 0; y < image.height; ++y)
            for (int x = 0; x < image.width; ++x) {
                const float dark = 1 - luminance(image.at(x, y));
                const bool at_rim = x == 0 || y == 0 || x == image.width - 1 || y == image.height - 1;
                (at_rim ? rim : inside) = std::max(at_rim ? rim : inside, dark);
            }
        EXPECT_LT(rim, 0.01f) << "frame " << frame << ": smoke leaves the picture";
        EXPECT_GT(inside, 0.5f) << frame;
    }
}

TEST_F(MovingShapes, TheCameraFollowsItsKeyframesAndBlurs)
{
    place.write("small.toml", small_scene());
    const auto picture = [&](const std::string& folder, const std::vector<std::string>& settings) {
        std::vector<std::string> command = {"run", "small.toml", "-o", folder, "--frames", "1-3"};
        for (const std::string& setting : settings) command.insert(command.end(), {"--set", setting});
        place.succeed(command);
        return place.read(folder + "/render/render.0003.png");
    };
    const std::string position = "render.camera.position=[0.5, 1, 3]";
    const std::string still = picture("still", {}), placed = picture("placed", {position});
    EXPECT_NE(placed, still);
    // At its last key the camera is where a still one would be.
    EXPECT_EQ(picture("keyed", {"render.camera.position_keys=[[1, 3, 1, 3], [3, 0.5, 1, 3]]"}), placed);
    EXPECT_NE(picture("blurred", {position, "render.camera.shutter=180"}), placed);
    const RunResult bad = place.run({"check", "small.toml", "--set", "render.camera.fov_keys=[[1, 300]]"});
    EXPECT_TRUE(contains(bad.err, "render.camera.fov_keys must have values from 1 to 170")) << bad.err;
}

} // namespace spindrift
