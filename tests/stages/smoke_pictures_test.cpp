// Renders of smoke from files.
#include "cli/program.h"
#include "spindrift/io/image.h"
#include "spindrift/io/vdb.h"

namespace spindrift {

namespace {

constexpr float kVoxel = 0.05f;

// A puff of 1 m around a point, and a level set in the same file.
void write_puff(const std::string& path, const Vec3f& center, const char* name = "density", bool is_level_set = false)
{
    const Topology topology = Topology::covering({-24, 0, -24}, {24, 40, 24});
    Field<float> density(topology, 0), temperature(topology, 20);
    for_each_tile(topology, [&](int t) {
        for (int c = 0; c < kTileCells; ++c) {
            const Vec3f x =
                kVoxel * (topology.first_cell(t) + cell_in_tile(c)).cast<float>() + Vec3f::Constant(0.5f * kVoxel);
            density.tile(t)[c] = std::max(0.0f, 1 - 2 * (x - center).norm());
        }
    });
    write_fields(path, {{name, &density, is_level_set}, {"temperature", &temperature}}, kVoxel);
}

class SmokePictures : public testing::Test {
  protected:
    Workplace place;

    void write_scene(const std::string& render, const std::string& more = "")
    {
        place.write("scenes/puff.toml",
                    "[shot]\nframes = \"1-2\"\n[render]\n" + render + "width = 48\nheight = 48\nsamples = 2\n" + more);
    }
    void rejected(const std::string& expected, int code = 2)
    {
        const RunResult outcome = place.run({"run", "scenes/puff.toml"});
        EXPECT_EQ(outcome.code, code);
        EXPECT_TRUE(contains(outcome.err, expected)) << outcome.err;
    }
    Image picture(int frame) const
    {
        return read_image(place / fmt::format("out/puff/render/render.{:04}.exr", frame));
    }
};

} // namespace

TEST_F(SmokePictures, FilesOfAnotherProgramAreDrawnWithoutASmokeStage)
{
    write_puff(place / "cache/smoke.0001.vdb", {0, 1, 0});
    write_puff(place / "cache/smoke.0002.vdb", {0, 1, 0});
    write_scene("input = \"../cache/smoke.####.vdb\"\nformat = \"exr\"\n");
    place.succeed({"run", "scenes/puff.toml"});
    const Image first = picture(1);
    EXPECT_TRUE(first.pixels == picture(2).pixels);
    // The camera frames the puff: it is in the middle of the picture and not in the corner.
    place.succeed({"run", "scenes/puff.toml", "-o", "out/empty", "--set", "render.smoke.density=0"});
    const Image empty = read_image(place / "out/empty/render/render.0001.exr");
    EXPECT_GT((first.at(24, 24) - empty.at(24, 24)).norm(), 0.05f);
    EXPECT_LT((first.at(1, 1) - empty.at(1, 1)).norm(), 0.01f);

    // A changed file is drawn again; a deleted one keeps its picture.
    place.succeed({"run", "scenes/puff.toml"});
    write_puff(place / "cache/smoke.0002.vdb", {0, 1.2f, 0});
    place.remove("cache/smoke.0001.vdb");
    place.succeed({"run", "scenes/puff.toml"});
    EXPECT_TRUE(picture(1).pixels == first.pixels);
    EXPECT_FALSE(picture(2).pixels == first.pixels);
}

TEST_F(SmokePictures, SmokeIsAddedToALiquid)
{
    write_puff(place / "cache/smoke.0001.vdb", {0.5f, 0.6f, 0.5f});
    write_puff(place / "cache/smoke.0002.vdb", {0.5f, 0.6f, 0.5f});
    const std::string water = "[liquid]\nvoxel = 0.1\n[liquid.domain]\nmin = [0, 0, 0]\nmax = [1, 1, 1]\n"
                              "[[liquid.source]]\nshape = \"box\"\nmin = [0, 0, 0]\nmax = [1, 0.3, 1]\n";
    write_scene("format = \"exr\"\n", water);
    place.succeed({"run", "scenes/puff.toml"});
    const Image without = picture(2);
    write_scene("input = \"../cache/smoke.####.vdb\"\nformat = \"exr\"\n", water);
    place.succeed({"run", "scenes/puff.toml"});
    const Image with = picture(2);
    EXPECT_GT((with.at(24, 20) - without.at(24, 20)).norm(), 0.05f);
    EXPECT_LT((with.at(1, 1) - without.at(1, 1)).norm(), 0.01f);
}

TEST_F(SmokePictures, FilesThatCannotBeDrawnAreReportedWithARemedy)
{
    write_scene("show = \"smoke\"\n");
    rejected(
        "scenes/puff.toml:4:8: render.show is \"smoke\", but the scene has no such stage; there is nothing to draw; "
        "add a table such as [liquid], or name the files of another program as render.input");
    write_scene("input = \"puff.abc\"\n");
    rejected("scenes/puff.toml:4:9: render.input is \"puff.abc\"; meshes must end in .ply or .obj, and files of smoke "
             "in .vdb");
    write_scene("input = \"puff.####.vdb\"\n");
    rejected("scenes/puff.toml:4:9: no file matches scenes/puff.####.vdb");
    write_puff(place / "scenes/puff.0001.vdb", {0, 1, 0});
    rejected("puff.0002.vdb is missing; there are frames from 1 to 1");

    write_scene("input = \"puff.vdb\"\n");
    write_puff(place / "scenes/puff.vdb", {0, 1, 0}, "fuel");
    rejected("puff.vdb has no grid \"density\" (grids: fuel, temperature)", 1);
    write_puff(place / "scenes/puff.vdb", {0, 1, 0}, "density", true);
    rejected("grid \"density\" of scenes/puff.vdb is a level set, not a volume of smoke", 1);
    std::string bytes = place.read("scenes/puff.vdb");
    place.write("scenes/puff.vdb", bytes.substr(0, bytes.size() / 2));
    rejected("scenes/puff.vdb is damaged or cut short", 1);
    place.write("scenes/puff.vdb", "no smoke");
    rejected("scenes/puff.vdb is not a VDB file", 1);
    write_scene("input = \"puff.vdb\"\n", "[render.fire]\nlow = 900\nhigh = 800\n");
    rejected("must be above low");
}

} // namespace spindrift
