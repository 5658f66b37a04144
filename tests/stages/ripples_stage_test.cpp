#include "cli/program.h"
#include "spindrift/io/mesh_file.h"
#include "spindrift/io/vdb.h"
#include "spindrift/mesh/mesh.h"

#include <gtest/gtest.h>

namespace spindrift {

namespace {

// A dam break around a moving ball, on a coarse grid.
std::string rippled_scene()
{
    std::string text = small_scene();
    text.replace(text.find("[surface]"), 9, R"([[liquid.collider]]
shape = "sphere"
center = [0.6, 0.1, 0.3]
radius = 0.12
translate = [[1, 0, 0, 0], [6, 0.1, 0, 0]]

[ripples]
sdf = true)");
    return text + "show = \"ripples\"\n";
}

const std::vector<std::string> kRun = {"run", "ripples.toml", "-o", "out"};

} // namespace

TEST(RipplesStage, WritesAClosedMeshOfTheLiquidsVolume)
{
    const Workplace place;
    place.write("ripples.toml", rippled_scene());
    place.succeed(kRun);
    EXPECT_TRUE(file_exists(place / "out/render/render.0006.png"));
    for (const int frame : {1, 6}) {
        const Mesh mesh = read_mesh(place / fmt::format("out/ripples/ripples.{:04}.ply", frame));
        EXPECT_TRUE(is_closed(mesh));
        ASSERT_EQ(mesh.normals.size(), mesh.positions.size());
        ASSERT_EQ(mesh.velocities.size(), mesh.positions.size());
        // On such a coarse grid, a few percent of a dam break are splashes too thin to resolve; solids are filled
        // slightly.
        EXPECT_NEAR(volume_of(mesh), 0.4 * 0.5 * 0.6, 0.1 * 0.12) << "frame " << frame;
        const Box3f box = bounds_of(mesh);
        EXPECT_TRUE((box.min.array() >= 0).all() && box.max.x() <= 1 && box.max.z() <= 0.6f);
        float fastest = 0;
        for (const Vec3f& v : mesh.velocities) fastest = std::max(fastest, v.norm());
        EXPECT_LT(fastest, 10.0f);
        EXPECT_TRUE(frame == 1 || fastest > 0.5f) << fastest;
    }
    const FieldFile sdf = read_field(place / "out/ripples/ripples.0006.vdb", "surface");
    EXPECT_TRUE(sdf.is_level_set);
    EXPECT_FLOAT_EQ(sdf.voxel, 0.05f / 4);
}

TEST(RipplesStage, GivesTheSameFilesForAnyNumberOfThreadsAndAfterKills)
{
    const Workplace place;
    place.write("ripples.toml", rippled_scene());
    place.succeed(kRun);
    const Files expected = results_in(place / "out");
    place.succeed({"run", "ripples.toml", "-o", "one", "--threads", "1"});
    EXPECT_EQ(differences(expected, results_in(place / "one")), std::vector<std::string>());

    expect_same_after_kills(place, kRun, "out", expected);
}

TEST(RipplesStage, ShowsRipplesSimulatedByTheLiquid)
{
    const Workplace place;
    place.write("ripples.toml", rippled_scene() + "[liquid.turbulence]\non = true\nrefine = 2\n");
    place.succeed(kRun);
    const Files expected = results_in(place / "out");
    const Mesh mesh = read_mesh(place / "out/ripples/ripples.0006.ply");
    EXPECT_TRUE(is_closed(mesh));
    EXPECT_NEAR(volume_of(mesh), 0.4 * 0.5 * 0.6, 0.1 * 0.12);
    const FieldFile difference = read_field(place / "out/liquid/liquid.0006.ripples.vdb", "difference");
    EXPECT_FLOAT_EQ(difference.voxel, 0.05f / 2);
    float highest = 0;
    for (const float d : difference.field.values()) highest = std::max(highest, std::abs(d));
    EXPECT_GT(highest, 0.05f * 0.05f);

    expect_same_after_kills(place, kRun, "out", expected);
}

TEST(RipplesStage, ResumesRipplesOfTheLiquidAfterALostFile)
{
    const Workplace place;
    place.write("ripples.toml", rippled_scene() + "[liquid.turbulence]\non = true\nrefine = 2\n");
    place.succeed(kRun);
    const Files expected = results_in(place / "out");
    place.remove("out/ripples");
    place.succeed({"ripples", "ripples.toml", "-o", "out", "--frames", "1-3"});
    place.remove("out/ripples/ripples.0003.vdb"); // the second of its files
    place.succeed(kRun);
    EXPECT_EQ(differences(expected, results_in(place / "out")), std::vector<std::string>());
}

TEST(RipplesStage, RunsAgainWithoutSimulatingTheLiquid)
{
    const Workplace place;
    place.write("ripples.toml", rippled_scene());
    place.succeed({"liquid", "ripples.toml", "-o", "out"});
    const Files liquid = times_in(place / "out/liquid");
    place.succeed({"ripples", "ripples.toml", "-o", "out"});
    place.succeed({"ripples", "ripples.toml", "-o", "out", "--set", "ripples.strength=0.5"});
    EXPECT_EQ(differences(liquid, times_in(place / "out/liquid")), std::vector<std::string>());
}

// A level set must be positive on the side of a plane that the normal points to, but for 2 mm.
static void expect_air_beyond(const FieldFile& sdf, const Vec3f& normal, const Vec3f& middle)
{
    const Topology& topology = sdf.field.topology();
    for (int t = 0; t < topology.tile_count(); ++t)
        for (int c = 0; c < kTileCells; ++c) {
            const Vec3f cell = (topology.first_cell(t) + cell_in_tile(c)).cast<float>();
            const Vec3f x = sdf.voxel * (cell + Vec3f::Constant(0.5f));
            if (normal.dot(x - middle) > 0.002f) {
                EXPECT_GT(sdf.field.tile(t)[c], 0) << x.transpose();
            }
        }
}

// A pool held by a tilted plate of 4 mm, with a voxel of 5 cm; with `turbulence` the liquid simulates the ripples
// itself.
TEST(RipplesStage, EndAtThinPlates)
{
    for (const bool in_liquid : {false, true})
        for (const float tilt : {0.0f, 25.0f}) {
            const Workplace place;
            const auto angle = static_cast<float>(tilt * kPi / 180);
            const Vec3f normal(std::cos(angle), std::sin(angle), 0), middle(0.47f, 0.2f, 0.3f);
            std::string scene = rippled_scene();
            const std::string source = "max = [0.4, 0.5, 0.6]", collider = "[[liquid.collider]]";
            scene.replace(scene.find(source), source.size(), "max = [0.33, 0.3, 0.6]");
            scene.replace(scene.find(collider), collider.size(),
                          fmt::format(R"([[liquid.collider]]
min = [0.468, -1, -0.1]
max = [0.472, 1.4, 0.7]
pivot = [0.47, 0.2, 0.3]
rotate = [[1, 0, 0, 1, {}]]
[[liquid.collider]])",
                                      tilt));
            place.write("ripples.toml", scene + (in_liquid ? "[liquid.turbulence]\non = true\n" : ""));
            place.succeed({"run", "ripples.toml", "-o", "out", "--set", "shot.frames=1-8"});
            float farthest = -kInfinity;
            for (const int frame : {1, 4, 8}) {
                const Particles liquid =
                    read_particles(place / fmt::format("out/liquid/liquid.{:04}.vdb", frame)).particles;
                for (const Vec3f& x : liquid.P) ASSERT_LT(normal.dot(x - middle), 0);
                const Mesh mesh = read_mesh(place / fmt::format("out/ripples/ripples.{:04}.ply", frame));
                EXPECT_TRUE(is_closed(mesh));
                EXPECT_GT(volume_of(mesh), 0.9 * 0.33 * 0.3 * 0.6);
                for (const Vec3f& x : mesh.positions) farthest = std::max(farthest, normal.dot(x - middle));
                expect_air_beyond(read_field(place / fmt::format("out/ripples/ripples.{:04}.vdb", frame), "surface"),
                                  normal, middle);
            }
            EXPECT_LT(farthest, 0.003f) << "tilted by " << tilt << (in_liquid ? ", in the liquid" : "");
            EXPECT_GT(farthest, -0.02f) << "but they reach it";
        }
}

TEST(RipplesStage, RefusesAMissingLiquidAndInvalidRefinements)
{
    const Workplace place;
    place.write("alone.toml", "[ripples]\n");
    const RunResult alone = place.run({"run", "alone.toml", "-o", "out"});
    EXPECT_NE(alone.code, 0);
    EXPECT_NE(alone.err.find("liquid"), std::string::npos) << alone.err;
    place.write("three.toml", small_scene() + "[ripples]\nrefine = 3\n");
    const RunResult three = place.run({"run", "three.toml", "-o", "out"});
    EXPECT_NE(three.code, 0);
    EXPECT_NE(three.err.find("must be 2, 4 or 8"), std::string::npos) << three.err;
}

} // namespace spindrift
