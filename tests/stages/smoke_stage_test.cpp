#include "cli/program.h"
#include "spindrift/io/vdb.h"

#include <gtest/gtest.h>

namespace spindrift {

namespace {

// A plume past a ball with every field that a cache can hold, and an expression at each point of the step.
std::string smoke_scene()
{
    return R"([shot]
frames = "1-5"

[smoke]
voxel = 0.04
confinement = 2

[smoke.domain]
min = [-0.4, 0, -0.4]
max = [0.4, 1.2, 0.4]
y_min = "closed"

[[smoke.scalar]]
name = "fuel"
dissipation = 0.5

[[smoke.source]]
shape = "sphere"
center = [0, 0.2, 0]
radius = 0.12
temperature = 200
color = [1, 0.5, 0.25]
noise.amount = 0.5
velocity = [0, 1, 0]

[[smoke.source.scalar]]
name = "fuel"
value = 3

[[smoke.collider]]
shape = "sphere"
center = [0, 0.6, 0]
radius = 0.15

[[smoke.force]]
kind = "wind"
velocity = [1, 0, 0]
drag = 0.5

[[smoke.expression]]
at = "after_advection"
code = "if (float@fuel > 0.5f) float@temperature += 50.0f * $dt;"

[[smoke.expression]]
at = "after_forces"
code = "vec3f@vel.z += 0.5f * $dt * float@density;"

[[smoke.expression]]
code = "float@fuel = float@density;"
)";
}

const std::string kTurbulence = "\n[smoke.turbulence]\non = true\nrefine = 2\nstrength = 0.5\n";
const std::vector<std::string> kRun = {"run", "smoke.toml", "-o", "out"};

double sum_of(const FieldFile& file)
{
    double sum = 0;
    for (const float v : file.field.values()) sum += static_cast<double>(v);
    return sum;
}

} // namespace

TEST(SmokeStage, WritesVolumesUnderTheNamesThatOtherProgramsRead)
{
    const Workplace place;
    place.write("smoke.toml", smoke_scene());
    place.succeed(kRun);
    const std::string path = place / "out/smoke/smoke.0005.vdb";
    const FieldFile density = read_field(path, "density"), temperature = read_field(path, "temperature");
    EXPECT_FLOAT_EQ(density.voxel, 0.04f);
    EXPECT_GT(sum_of(density), 50);
    EXPECT_GT(sum_of(temperature), 100 * sum_of(density));
    EXPECT_NEAR(sum_of(read_field(path, "fuel")), sum_of(density), 1e-3) << "an expression says so";
    const std::string text = describe_vdb(path);
    EXPECT_TRUE(contains(text, "grid vel")) << text;
    EXPECT_TRUE(contains(text, "grid Cd")) << text;

    place.succeed({"run", "smoke.toml", "-o", "half", "--set", "smoke.half=true"});
    const std::string half = place / "half/smoke/smoke.0005.vdb";
    EXPECT_NEAR(sum_of(read_field(half, "density")), sum_of(density), 1e-3 * sum_of(density));
    EXPECT_LT(std::filesystem::file_size(half), std::filesystem::file_size(path));
}

TEST(SmokeStage, VelocityIsStaggeredUnlessAnExpressionRunsBeforeWriting)
{
    const Workplace place;
    std::string scene = smoke_scene();
    scene.resize(scene.rfind("[[smoke.expression]]"));
    place.write("smoke.toml", scene);
    place.succeed(kRun);
    EXPECT_TRUE(contains(describe_vdb(place / "out/smoke/smoke.0005.vdb"), "Staggered"));
}

TEST(SmokeStage, GivesTheSameFilesForAnyNumberOfThreadsAndAfterKills)
{
    for (const bool turbulent : {false, true}) {
        const Workplace place;
        place.write("smoke.toml", smoke_scene() + (turbulent ? kTurbulence : ""));
        if (turbulent) // the flow is on another grid than the density
            place.write("smoke.toml", [&] {
                std::string scene = smoke_scene() + kTurbulence;
                const size_t at = scene.find("vec3f@vel.z += 0.5f * $dt * float@density;");
                return scene.replace(at, 42,
                                     "vec3f u = volumev(\\\"vel\\\", getvoxelpws()); float@fuel += 0.1f * u.y * $dt;");
            }());
        place.succeed(kRun);
        const Files expected = results_in(place / "out");
        EXPECT_EQ(expected.size(), 5u);
        place.succeed({"run", "smoke.toml", "-o", "one", "--threads", "1"});
        EXPECT_EQ(differences(expected, results_in(place / "one")), std::vector<std::string>());

        expect_same_after_kills(place, kRun, "out", expected);
    }
}

TEST(SmokeStage, TurbulenceWritesDensityOnAFinerGrid)
{
    const Workplace place;
    std::string scene = smoke_scene();
    scene.resize(scene.find("[[smoke.expression]]"));
    place.write("smoke.toml", scene + kTurbulence);
    place.succeed(kRun);
    const std::string path = place / "out/smoke/smoke.0005.vdb";
    EXPECT_FLOAT_EQ(read_field(path, "density").voxel, 0.02f);
    // vel is on the grid of density and includes the eddies.
    EXPECT_FALSE(contains(describe_vdb(path), "0.04 m")) << describe_vdb(path);
}

TEST(SmokeStage, ParticlesOfAnotherStageCanBeASource)
{
    const Workplace place;
    place.write("liquid.toml", small_scene());
    place.succeed({"liquid", "liquid.toml", "-o", "water"});
    place.write("smoke.toml", R"([shot]
frames = "1-4"

[smoke]
voxel = 0.05

[[smoke.source]]
particles = "water/liquid/liquid.####.vdb"
temperature = 50
)");
    place.succeed(kRun);
    // The water fills 960 cells.
    EXPECT_GT(sum_of(read_field(place / "out/smoke/smoke.0004.vdb", "density")), 900);
}

TEST(SmokeStage, InvalidScenesGetOneMessage)
{
    const auto rejected = [](const std::string& scene, const std::string& expected) {
        const Workplace place;
        place.write("smoke.toml", "[shot]\nframes = \"1-3\"\n" + scene);
        const RunResult outcome = place.run({"run", "smoke.toml"});
        EXPECT_EQ(outcome.code, 2) << scene;
        EXPECT_TRUE(contains(outcome.err, expected)) << outcome.err;
        EXPECT_TRUE(contains(outcome.err, "smoke.toml")) << outcome.err;
        const bool shows_code = contains(scene, "expression"); // the message then quotes two lines of code
        EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), shows_code ? 3 : 1) << outcome.err;
    };
    const std::string source = "[[smoke.source]]\nshape = \"sphere\"\n";
    rejected("[smoke]\n", "the smoke has no source");
    rejected("[smoke]\nvoxel = 0\n" + source, "voxel");
    rejected("[smoke]\nsparse = false\n" + source, "min and max");
    rejected("[smoke]\npadding = 1\ncfl = 4\n" + source, "padding");
    rejected("[smoke]\nvoxel = 1e-5\n" + source, "raise smoke.voxel");
    rejected("[smoke]\n[[smoke.scalar]]\nname = \"density\"\n" + source, "reserved names");
    rejected("[smoke]\n" + source + "[[smoke.source.scalar]]\nname = \"fule\"\n", "fule");
    rejected("[smoke]\n[[smoke.source]]\nshape = \"half_space\"\n", "infinite");
    rejected("[smoke]\n[[smoke.source]]\nparticles = \"none.####.vdb\"\n", "no file matches");
    rejected("[smoke]\ndomain.min = [5, 5, 5]\ndomain.max = [6, 6, 6]\n" + source, "outside the domain");
    rejected("[smoke]\n[smoke.turbulence]\non = true\nrefine = 3\n" + source, "2, 4 or 8");
    rejected("[smoke]\n[[smoke.expression]]\ncode = \"float@density = ;\"\n" + source, "smoke.expression[0]");
}

// Where Debian's Blender is installed, it must find the grids and their values.
TEST(SmokeStage, BlenderReadsTheCache)
{
    if (std::system("command -v blender > /dev/null 2>&1") != 0) GTEST_SKIP() << "Blender is not installed";
    const Workplace place;
    place.write("smoke.toml", smoke_scene());
    place.succeed(kRun);
    place.write("look.py", R"(import bpy, sys
volume = bpy.data.volumes.new("smoke")
volume.filepath = sys.argv[-1]
assert volume.grids.load(), volume.grids.error_message
for grid in volume.grids:
    assert grid.load()
    print("GRID", grid.name, grid.data_type, grid.channels)
)");
    Child blender(blender_command(place / "look.py", {place / "out/smoke/smoke.0005.vdb"}), place.path());
    ASSERT_TRUE(blender.ends_within(120));
    const RunResult result = blender.wait();
    EXPECT_EQ(result.code, 0) << result.err;
    for (const char* line : {"GRID density FLOAT 1", "GRID temperature FLOAT 1", "GRID vel VECTOR_FLOAT 3"})
        EXPECT_TRUE(contains(result.out, line)) << result.out;
}

} // namespace spindrift
