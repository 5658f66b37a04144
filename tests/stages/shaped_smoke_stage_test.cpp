#include "cli/program.h"
#include "shaped_smoke/smokes.h"
#include "spindrift/io/image.h"
#include "spindrift/io/vdb.h"

#include <gtest/gtest.h>

namespace spindrift {

namespace {

// Two shapes, one of them a mesh that walks, with an expression at each point of the step.
std::string shaped_scene()
{
    return R"([shot]
frames = "1-7"

[shaped_smoke]
voxel = 0.06
markers = 20000
controls = 1000
density_voxel = 0.04
contain = true
project = true

[shaped_smoke.vortices]
radius = 0.15

[[shaped_smoke.source]]
shape = "sphere"
center = [0, 0.6, 0]
radius = 0.4

[[shaped_smoke.target]]
shape = "mesh"
file = "walk.####.obj"

[[shaped_smoke.target]]
frame = 4
let_go = 6
min = [-0.4, 0.2, -0.4]
max = [0.4, 1, 0.4]

[[shaped_smoke.expression]]
at = "after_forces"
code = "vec3f@v.x += 0.1f * $dt;"

[[shaped_smoke.expression]]
at = "after_advection"
code = "if (int@id % 10 == 0) deletepoint();"

[[shaped_smoke.expression]]
code = "float@height = vec3f@P.y;"
)";
}

const std::vector<std::string> kShapedRun = {"run", "shaped.toml", "-o", "out"};

void prepare(const Workplace& place)
{
    place.write("shaped.toml", shaped_scene());
    write_walk(place / ".", 7, 1);
}

} // namespace

TEST(ShapedSmokeStage, WritesMarkersAndVolumesAndRunsExpressions)
{
    const Workplace place;
    prepare(place);
    place.succeed(kShapedRun);
    const Particles markers = read_particles(place / "out/shaped_smoke/shaped_smoke.0007.vdb").particles;
    EXPECT_EQ(markers.size(), 18000u); // a tenth was deleted
    const auto *height = markers.find<float>("height"), *density = markers.find<float>("density");
    ASSERT_TRUE(height && density);
    double sum = 0;
    for (size_t i = 0; i < markers.size(); ++i) {
        EXPECT_NEAR((*height)[i], markers.P[i].y(), 1e-3f);
        EXPECT_NE(markers.id[i] % 10, 0);
        sum += static_cast<double>((*density)[i]);
    }
    EXPECT_NEAR(sum / static_cast<double>(markers.size()), 1, 0.6); // relative to the start
    const FieldSet fields = read_fields(place / "out/shaped_smoke/shaped_smoke.0007.density.vdb", {"density", "vel"});
    const FieldFile& volume = fields.numbers.at("density");
    EXPECT_NEAR(volume.voxel, 0.04f, 1e-6f);
    double mass = 0;
    for (const float d : volume.field.values()) mass += static_cast<double>(d);
    EXPECT_GT(mass, 0);
    EXPECT_EQ(fields.vectors.count("vel"), 1u);
}

TEST(ShapedSmokeStage, GivesTheSameFilesForAnyNumberOfThreadsAndAfterKills)
{
    const Workplace place;
    prepare(place);
    place.succeed(kShapedRun);
    const Files expected = results_in(place / "out");
    place.succeed({"run", "shaped.toml", "-o", "one", "--threads", "1"});
    EXPECT_EQ(differences(expected, results_in(place / "one")), std::vector<std::string>());
    expect_same_after_kills(place, kShapedRun, "out", expected);
}

TEST(ShapedSmokeStage, IsDrawnAsSmoke)
{
    const Workplace place;
    place.write("picture.toml", R"([shot]
frames = "1-2"
[shaped_smoke]
markers = 5000
controls = 200
[shaped_smoke.vortices]
count = 0
[[shaped_smoke.source]]
shape = "sphere"
[[shaped_smoke.target]]
shape = "sphere"
[render]
width = 64
height = 36
samples = 4
background = false
)");
    place.succeed({"run", "picture.toml", "-o", "out"});
    const Image picture = read_image(place / "out/render/render.0002.png");
    // Smoke in the middle, nothing in a corner.
    EXPECT_GT(picture.at(32, 18).norm(), picture.at(1, 1).norm() + 0.1f);
}

// Smoke as points: there is some in the middle and none in a corner, and the side to the light is brighter.
TEST(ShapedSmokeStage, MarkersAreDrawnAsPointsThatShadeEachOther)
{
    const Workplace place;
    place.write("points.toml", R"([shot]
frames = "1-3"
[shaped_smoke]
markers = 100000
controls = 2000
density_voxel = 0.1
[shaped_smoke.vortices]
count = 0
[[shaped_smoke.source]]
shape = "sphere"
radius = 0.5
[[shaped_smoke.target]]
shape = "sphere"
radius = 0.5
[render]
width = 64
height = 36
samples = 4
background = false
smoke.markers = true
camera.position = [0, 0, 4]
camera.target = [0, 0, 0]
camera.fov = 20
light.azimuth = 90
light.elevation = 15
)");
    place.succeed({"run", "points.toml", "-o", "out"});
    const Image picture = read_image(place / "out/render/render.0003.png");
    double right = 0, left = 0;
    for (int y = 0; y < 36; ++y)
        for (int x = 0; x < 64; ++x) (x < 32 ? left : right) += static_cast<double>(picture.at(x, y).mean());
    EXPECT_GT(picture.at(32, 18).norm(), picture.at(1, 1).norm() + 0.1f);
    EXPECT_GT(right, 1.2 * left); // the light comes from +x
    place.succeed({"run", "points.toml", "-o", "one", "--threads", "1"});
    EXPECT_EQ(differences(results_in(place / "out"), results_in(place / "one")), std::vector<std::string>());
}

// The hybrid: smoke on a grid follows the markers.
static std::string hybrid_scene()
{
    return R"([shot]
frames = "1-16"
[shaped_smoke]
voxel = 0.1
markers = 20000
controls = 1000
[shaped_smoke.vortices]
count = 0
[[shaped_smoke.source]]
shape = "sphere"
radius = 0.4
[[shaped_smoke.target]]
shape = "sphere"
center = [1, 0, 0]
radius = 0.4
[smoke]
voxel = 0.1
control.by = "shaped_smoke"
control.strength = 4
[[smoke.source]]
shape = "sphere"
radius = 0.3
temperature = 100
last_frame = 1
)";
}

// Mass of the smoke of the last frame, its middle, and the mass within a radius around a point.
struct SmokeOfFrame {
    double mass = 0, within = 0;
    Vec3d middle = Vec3d::Zero();

    SmokeOfFrame(const std::string& path, const Vec3d& center, double radius)
    {
        const FieldFile file = read_field(path, "density");
        for (int t = 0; t < file.topology->tile_count(); ++t)
            for (int c = 0; c < kTileCells; ++c) {
                const auto d = static_cast<double>(file.field.tile(t)[c]);
                const Vec3f cell = (file.topology->first_cell(t) + cell_in_tile(c)).cast<float>();
                const Vec3d x = (file.origin + file.voxel * cell).cast<double>();
                middle += d * x, mass += d;
                if ((x - center).norm() < radius) within += d;
            }
        middle /= mass;
    }
};

TEST(ShapedSmokeStage, SmokeOfAGridIsDrawnAlongRisesAndFlowsAroundColliders)
{
    const Workplace place;
    place.write("hybrid.toml", hybrid_scene());
    // Under the way of the smoke's middle, which it would otherwise pass.
    place.write("blocked.toml", hybrid_scene() + R"([[smoke.collider]]
shape = "sphere"
center = [0.6, 0, 0]
radius = 0.25
)");
    const Vec3d post(0.6, 0, 0);
    const auto smoke_with = [&](const std::string& folder, const std::string& scene, const std::string& set) {
        place.succeed({"run", scene, "-o", folder, "--set", set});
        return SmokeOfFrame(place / (folder + "/smoke/smoke.0016.vdb"), post, 0.15);
    };
    const SmokeOfFrame with = smoke_with("with", "hybrid.toml", "smoke.control.strength=4"),
                       without = smoke_with("without", "hybrid.toml", "smoke.control.strength=0"),
                       cold = smoke_with("cold", "hybrid.toml", "smoke.source[0].temperature=0"),
                       blocked = smoke_with("blocked", "blocked.toml", "smoke.control.strength=4");
    RecordProperty("middle", fmt::format("({:.2f}, {:.2f}), cold ({:.2f}, {:.2f}), blocked ({:.2f}, {:.2f})",
                                         with.middle.x(), with.middle.y(), cold.middle.x(), cold.middle.y(),
                                         blocked.middle.x(), blocked.middle.y()));
    EXPECT_NEAR(without.middle.x(), 0, 0.1);
    EXPECT_GT(with.middle.x(), 0.35);
    EXPECT_NEAR(cold.middle.y(), 0, 0.02);
    EXPECT_GT(with.middle.y(), cold.middle.y() + 0.05);
    EXPECT_GT(with.within, 0.01 * with.mass);
    EXPECT_LT(blocked.within, 1e-6 * blocked.mass);
    EXPECT_GT(blocked.middle.x(), 0.2);
}

// Kinetic energy of what a cell's velocity differs by from the mean of its neighbours.
static double fine_energy(const std::string& path)
{
    const FieldSet file = read_fields(path, {"vel", "density"});
    const FieldFileOf<Vec3f>& vel = file.vectors.at("vel");
    const FieldFile& density = file.numbers.at("density");
    double sum = 0, mass = 0;
    for (int t = 0; t < density.topology->tile_count(); ++t)
        for (int c = 0; c < kTileCells; ++c) {
            const float d = density.field.tile(t)[c];
            if (d < 0.1f) continue;
            const Vec3i cell = density.topology->first_cell(t) + cell_in_tile(c);
            Vec3f mean = Vec3f::Zero();
            for (int a = 0; a < 3; ++a)
                for (const int side : {-1, 1}) mean += vel.field.at(cell + side * Vec3i::Unit(a)) / 6;
            sum += static_cast<double>(d * (vel.field.at(cell) - mean).squaredNorm()), mass += static_cast<double>(d);
        }
    return 0.5 * sum / mass;
}

TEST(ShapedSmokeStage, SmokeOfAGridThatIsDrawnAlongHasEddies)
{
    const Workplace place;
    place.write("eddies.toml", hybrid_scene() + "[smoke.turbulence]\non = true\nrefine = 2\n");
    double energy[2];
    for (const int strength : {0, 1}) {
        const std::string folder = fmt::format("strength_{}", strength);
        place.succeed(
            {"run", "eddies.toml", "-o", folder, "--set", fmt::format("smoke.turbulence.strength={}", strength)});
        energy[strength] = fine_energy(place / (folder + "/smoke/smoke.0016.vdb"));
    }
    RecordProperty("energy", fmt::format("{:.3g} and {:.3g}", energy[0], energy[1]));
    EXPECT_GT(energy[1], 2 * energy[0]);
}

TEST(ShapedSmokeStage, SmokeThatIsDrawnAlongHasTheSameFilesForAnyNumberOfThreadsAndAfterKills)
{
    const Workplace place;
    place.write("hybrid.toml", hybrid_scene());
    const std::vector<std::string> command = {"run", "hybrid.toml", "-o", "out", "--set", "shot.frames=1-6"};
    place.succeed(command);
    const Files expected = results_in(place / "out");
    place.succeed({"run", "hybrid.toml", "-o", "one", "--set", "shot.frames=1-6", "--threads", "1"});
    EXPECT_EQ(differences(expected, results_in(place / "one")), std::vector<std::string>());
    expect_same_after_kills(place, command, "out", expected);
}

// Where Debian's Blender is installed, it must find the grids and their values.
TEST(ShapedSmokeStage, BlenderReadsTheVolumes)
{
    if (std::system("command -v blender > /dev/null 2>&1") != 0) GTEST_SKIP() << "Blender is not installed";
    const Workplace place;
    place.write("hybrid.toml", hybrid_scene());
    place.succeed({"run", "hybrid.toml", "-o", "out", "--stage", "shaped_smoke", "--set", "shot.frames=1-2"});
    place.write("look.py", R"(import bpy, sys
volume = bpy.data.volumes.new("smoke")
volume.filepath = sys.argv[-1]
assert volume.grids.load(), volume.grids.error_message
for grid in volume.grids:
    assert grid.load()
    print("GRID", grid.name, grid.data_type, grid.channels)
)");
    Child blender(blender_command(place / "look.py", {place / "out/shaped_smoke/shaped_smoke.0002.density.vdb"}),
                  place.path());
    ASSERT_TRUE(blender.ends_within(120));
    const RunResult result = blender.wait();
    EXPECT_EQ(result.code, 0) << result.err;
    for (const char* line : {"GRID density FLOAT 1", "GRID vel VECTOR_FLOAT 3"})
        EXPECT_TRUE(contains(result.out, line)) << result.out;
}

// An expression spreads the markers, until the volume of the file would have more cells than fit into memory.
TEST(ShapedSmokeStage, AVolumeOfTooManyCellsHasAMessage)
{
    const Workplace place;
    place.write("fine.toml", hybrid_scene() + R"([[shaped_smoke.expression]]
at = "after_advection"
code = "vec3f@P *= 5.0f;"
)");
    const RunResult result = place.run({"run", "fine.toml", "-o", "out", "--stage", "shaped_smoke", "--set",
                                        "shot.frames=1-2", "--set", "shaped_smoke.markers=100000", "--set",
                                        "shaped_smoke.density_radius=8", "--set", "shaped_smoke.density_voxel=0.004"});
    EXPECT_NE(result.code, 0);
    EXPECT_TRUE(contains(result.err, "shaped_smoke.density_voxel: smoke has spread over")) << result.err;
}

TEST(ShapedSmokeStage, BadScenesHaveOneMessage)
{
    const Workplace place;
    prepare(place);
    const auto message = [&](const std::vector<std::string>& sets) {
        std::vector<std::string> command = {"check", "shaped.toml"};
        for (const std::string& set : sets) command.insert(command.end(), {"--set", set});
        const RunResult result = place.run(command);
        EXPECT_NE(result.code, 0) << sets.front();
        return result.err;
    };
    EXPECT_TRUE(contains(message({"shaped_smoke.markers=0"}), "markers"));
    EXPECT_TRUE(contains(message({"shaped_smoke.attraction.swaps=0"}), "swaps"));
    EXPECT_TRUE(contains(message({"shaped_smoke.target[1].frame=1"}), "share"));
    EXPECT_TRUE(contains(message({"shaped_smoke.target[1].let_go=2"}), "let_go"));
    EXPECT_TRUE(contains(message({"shaped_smoke.target[1].shape=half_space"}), "finite"));
    EXPECT_TRUE(contains(message({"shaped_smoke.target[0].file=none.obj"}), "none.obj"));
    EXPECT_TRUE(contains(message({"shaped_smoke.vortices.radius=100"}), "32 cells"));
    const auto warning = [&](const std::string& set) {
        const RunResult result =
            place.run({"run", "shaped.toml", "-o", "warned", "--set", "shot.frames=1-2", "--set", set});
        EXPECT_EQ(result.code, 0) << set;
        return result.out + result.err;
    };
    EXPECT_TRUE(contains(warning("shaped_smoke.target[1].frame=4"), "target[1]: the smoke never takes this shape"));
    EXPECT_TRUE(contains(warning("shaped_smoke.target[0].let_go=1"), "target[0]: the smoke never takes this shape"));
    write_mesh(place / "walk.0003.obj", sphere_mesh(Vec3f::Zero(), 1, 1));
    EXPECT_TRUE(contains(message({"shaped_smoke.seed=2"}),
                         "shaped.toml:20:1: shaped_smoke.target[0]: walk.0003.obj has other triangles"))
        << message({"shaped_smoke.seed=2"});
}

// Points of a VDB file, as another shot or program writes them; and a file without points.
TEST(ShapedSmokeStage, MarkersComeFromACacheOfPoints)
{
    const Workplace place;
    Particles points;
    for (int i = 0; i < 5000; ++i)
        points.P.push_back(0.01f * Vec3i(i % 10, i / 10 % 10, i / 100).cast<float>() + Vec3f(2, 0, 0));
    points.resize(points.P.size());
    write_particles(place / "points.vdb", points, 0.1f, 0.01f);
    write_particles(place / "none.vdb", {}, 0.1f, 0.01f);
    place.write("cached.toml", R"([shot]
frames = "1-3"
[shaped_smoke]
controls = 200
[[shaped_smoke.source]]
particles = "points.vdb"
[[shaped_smoke.target]]
shape = "sphere"
)");
    place.succeed({"run", "cached.toml", "-o", "out"});
    const Particles first = read_particles(place / "out/shaped_smoke/shaped_smoke.0001.vdb").particles;
    EXPECT_EQ(first.size(), 5000u);
    for (const Vec3f& x : first.P) EXPECT_TRUE(x.x() > 1.99f && x.x() < 2.1f && x.z() < 0.6f);
    EXPECT_EQ(read_particles(place / "out/shaped_smoke/shaped_smoke.0003.vdb").particles.size(), 5000u);
    const RunResult empty =
        place.run({"run", "cached.toml", "-o", "empty", "--set", "shaped_smoke.source[0].particles=none.vdb"});
    EXPECT_NE(empty.code, 0);
    EXPECT_TRUE(contains(empty.err, "no markers")) << empty.err;
}

} // namespace spindrift
