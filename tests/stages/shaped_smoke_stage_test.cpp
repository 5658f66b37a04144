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

// The hybrid: smoke on a grid follows the markers, and still rises.
TEST(ShapedSmokeStage, DrawsSmokeOfAGridAlong)
{
    const Workplace place;
    place.write("hybrid.toml", R"([shot]
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
)");
    const auto middle_after = [&](const std::string& folder, const std::vector<std::string>& sets) {
        std::vector<std::string> command = {"run", "hybrid.toml", "-o", folder};
        for (const std::string& set : sets) command.insert(command.end(), {"--set", set});
        place.succeed(command);
        const FieldFile file = read_field(place / (folder + "/smoke/smoke.0016.vdb"), "density");
        Vec3d sum = Vec3d::Zero();
        double mass = 0;
        for (int t = 0; t < file.topology->tile_count(); ++t)
            for (int c = 0; c < kTileCells; ++c) {
                const auto d = static_cast<double>(file.field.tile(t)[c]);
                sum += d * (file.topology->first_cell(t) + cell_in_tile(c)).cast<double>(), mass += d;
            }
        return Vec3d(0.1 * sum / mass);
    };
    const Vec3d with = middle_after("with", {}), without = middle_after("without", {"smoke.control.strength=0"});
    EXPECT_NEAR(without.x(), 0, 0.1);
    EXPECT_GT(with.x(), 0.35);
    EXPECT_GT(with.y(), 0);
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
