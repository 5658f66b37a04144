// User errors: one message with position and remedy, exit code 2, and nothing written.
#include "cli/program.h"

namespace spindrift {

namespace {

const char* const kCube = R"(v 0 0 0
v 1 0 0
v 1 1 0
v 0 1 0
v 0 0 1
v 1 0 1
v 1 1 1
v 0 1 1
f 1 4 3 2
f 5 6 7 8
f 1 2 6 5
f 3 4 8 7
f 2 3 7 6
f 1 5 8 4
)";

class BadInput : public ::testing::Test {
  protected:
    // Runs the command, which must fail with one line that contains all these parts.
    void rejected(const std::vector<std::string>& arguments, const std::vector<std::string>& parts) const
    {
        const RunResult outcome = place.run(arguments);
        const auto lines = std::count(outcome.err.begin(), outcome.err.end(), '\n');
        EXPECT_EQ(outcome.code, 2) << outcome.err;
        EXPECT_EQ(lines, 1) << outcome.err;
        EXPECT_TRUE(outcome.err.starts_with("spindrift: ")) << outcome.err;
        EXPECT_EQ(outcome.out, "");
        for (const std::string& part : parts)
            EXPECT_TRUE(contains(outcome.err, part)) << part << "\n  is not in\n" << outcome.err;
        EXPECT_FALSE(place.has("out")) << outcome.err;
    }
    // The same for the small scene with some text replaced.
    void rejected_scene(const std::string& text, const std::string& by, const std::vector<std::string>& parts) const
    {
        std::string scene = small_scene();
        const size_t at = scene.find(text);
        ASSERT_NE(at, std::string::npos) << text;
        place.write("scene.toml", scene.replace(at, text.size(), by));
        rejected({"run", "scene.toml"}, parts);
        rejected({"check", "scene.toml"}, parts);
    }
    void SetUp() override { place.write("small.toml", small_scene()); }

    Workplace place;
};

TEST_F(BadInput, SceneErrorsAreReportedWithTheirPosition)
{
    rejected_scene("voxel =", "voxl =", {"scene.toml:5:1: unknown parameter liquid.voxl", "did you mean 'voxel'?"});
    rejected_scene("0.05", "\"fine\"", {"scene.toml:5:9: liquid.voxel must be a number [m], not the text \"fine\""});
    rejected_scene("0.05", "-0.05", {"scene.toml:5:9: liquid.voxel is -0.05 m; it must be 1e-06 to 10000 m"});
    rejected_scene("0.05", "nan", {"scene.toml:5:9: liquid.voxel is nan; it must be finite"});
    rejected_scene("[surface]", "[surfaec]", {"scene.toml:16:2: unknown table [surfaec]; did you mean 'surface'?"});
    rejected_scene("[0, 0, 0]", "[0, 0]", {"scene.toml:8:7: liquid.domain.min must be a list of 3 numbers"});
    rejected_scene("samples = 2", "samples = 2.5", {"scene.toml:21:11: render.samples must be an integer"});
    rejected_scene("floor = false", "sky = \"blue\"", {"scene.toml:22:7: render.sky", "studio", "daylight", "uniform"});
    rejected_scene("max = [1, 0.8, 0.6]", "max = [1, -0.8, 0.6]",
                   {"scene.toml:9:1: liquid.domain.max", "every component of max must be above that of min"});
    rejected_scene("\"box\"", "\"bux\"", {"scene.toml:12:9: liquid.source[0].shape", "did you mean \"box\"?"});
    rejected_scene("\"1-6\"", "\"6-1\"", {"scene.toml:2:1: shot.frames", "ends before it starts"});
    rejected_scene("[liquid]", "[liquid", {"scene.toml:4:"});
    rejected_scene("max = [0.4, 0.5, 0.6]", "max = [0.4, 0.5, 0.6]\nfile = 3",
                   {"scene.toml:15:8: liquid.source[0].file must be a text in quotes, not the integer 3"});
}

TEST_F(BadInput, AnImpossibleShotIsRejectedBeforeItStarts)
{
    place.write("dry.toml", "[liquid]\nvoxel = 0.05\n");
    rejected({"run", "dry.toml"}, {"dry.toml:1:1: the liquid has no source; add a [[liquid.source]] with a shape"});
    place.write("none.toml", "[shot]\nfps = 24\n");
    rejected({"run", "none.toml"}, {"none.toml: the scene asks for nothing; add a table such as [liquid]"});
    place.write("render.toml", "[smoke]\n[[smoke.source]]\n[render]\n");
    rejected({"liquid", "render.toml"}, {"render.toml: the scene has no [liquid] table"});
    rejected_scene("max = [0.4, 0.5, 0.6]", "max = [0.4, 0.5, 0.6]\ntranslate = [[1, 7, 0, 0]]",
                   {"scene.toml:11:1: the source lies outside the domain"});
    place.write("endless.toml", "[liquid]\n[[liquid.source]]\nshape = \"half_space\"\n");
    rejected({"run", "endless.toml"}, {"endless.toml:2:1: this source is infinite; give the liquid a domain"});
}

TEST_F(BadInput, AShotThatNeedsTooMuchMemoryIsRejected)
{
    rejected(
        {"run", "small.toml", "--set", "liquid.voxel=0.000002"},
        {"--set liquid.voxel=0.000002: liquid.voxel is 2e-06 m", "at most 2e+09 are possible; raise liquid.voxel"});
    // 2e9 particles would need about 240 GB.
    rejected({"run", "small.toml", "--set", "liquid.voxel=0.0009"},
             {"small.toml:4:1: liquid needs about ", " GB of memory (about 1.3", "and this machine has ",
              "; raise liquid.voxel"});
    rejected({"run", "small.toml", "--set", "surface.voxel=0.00001"},
             {"surface needs about ", "; raise surface.voxel"});
}

TEST_F(BadInput, MeshesAreCheckedWhenTheSceneIsRead)
{
    place.write("scene.toml", small_scene() + "[[liquid.collider]]\nshape = \"mesh\"\nfile = \"rock.obj\"\n");
    const std::string where = "scene.toml:25:8: ";
    rejected({"run", "scene.toml"}, {where, "rock.obj", "No such file or directory"});
    place.write("rock.obj", std::string(kCube).replace(2, 1, "nan"));
    rejected({"run", "scene.toml"}, {where, "rock.obj, line 1: three finite numbers are needed"});
    const std::string cube = kCube;
    place.write("rock.obj", cube + "f 1 2 99\n");
    rejected({"run", "scene.toml"}, {where, "rock.obj, line 15: a face uses vertex 99"});
    place.write("rock.obj", "");
    rejected({"run", "scene.toml"}, {where, "rock.obj"});
    place.write("rock.obj", cube);
    EXPECT_EQ(place.run({"check", "scene.toml"}).code, 0);
    // An open mesh can be a wall without thickness, but it cannot be filled with water.
    place.write("rock.obj", cube.substr(0, cube.rfind("f ")));
    EXPECT_EQ(place.run({"check", "scene.toml"}).code, 0);
    place.write("scene.toml", small_scene() + "[[liquid.source]]\nshape = \"mesh\"\nfile = \"rock.obj\"\n");
    rejected({"run", "scene.toml"}, {where, "rock.obj is not closed"});
}

TEST_F(BadInput, FramesOutsideTheShotAreRejected)
{
    rejected({"run", "small.toml", "--frames", "5-9"}, {"--frames 5-9: the shot has frames 1-6 (small.toml:2:10)"});
    rejected({"run", "small.toml", "--frames", "0"}, {"--frames 0-0: the shot has frames 1-6"});
    rejected({"run", "small.toml", "--frames", "4-2"},
             {"frame range \"4-2\" ends before it starts; write it like 10-40"});
    rejected({"run", "small.toml", "--frames", "all"}, {"frame range \"all\" does not start with a whole number"});
    rejected({"run", "small.toml", "--frames", "1-"}, {"frame range \"1-\" does not end with a whole number"});
    rejected({"run", "small.toml", "--set", "shot.frames=\"1-2000000\""}, {"a shot may have a million frames at most"});
}

TEST_F(BadInput, OverridesAreCheckedLikeTheScene)
{
    rejected({"run", "small.toml", "--set", "liquid.voxel"}, {"--set liquid.voxel: write it as table.name=value"});
    rejected({"run", "small.toml", "--set", "voxel=1"}, {"--set voxel=1: write it as table.name=value"});
    rejected({"run", "small.toml", "--set", "liquid.voxl=1"},
             {"--set liquid.voxl=1: unknown parameter liquid.voxl; did you mean 'voxel'?"});
    rejected({"run", "small.toml", "--set", "liquid.flip=2"},
             {"--set liquid.flip=2: liquid.flip is 2; it must be 0 to 1"});
    rejected({"run", "small.toml", "--set", "liqid.flip=1"}, {"unknown table [liqid]; did you mean 'liquid'?"});
    rejected({"run", "small.toml", "--set", "liquid.source[3].radius=1"},
             {"'liquid.source' has no item 3; it has 1, counted from 0"});
}

TEST_F(BadInput, CommandLineErrorsAreOneMessage)
{
    rejected({},
             {"give a command: run, liquid, spray, surface, ripples, shaped_smoke, smoke, track, texture, crowd, sand, "
              "grains, render, check, graph, describe, "
              "versions, ax, footage, transfer, enlarge, info, new; see: spindrift --help"});
    rejected({"rum", "small.toml"}, {"there is no command 'rum'; did you mean 'run'?"});
    rejected({"explode"}, {"there is no command 'explode'; see: spindrift --help"});
    rejected({"--fast"}, {"spindrift has no option --fast"});
    rejected({"run"}, {"run: scene is required; see: spindrift run --help"});
    rejected({"run", "small.toml", "--frmes", "1-2"}, {"run has no option --frmes; did you mean '--frames'?"});
    rejected({"run", "small.toml", "--frmes=1-2"}, {"run has no option --frmes; did you mean '--frames'?"});
    rejected({"run", "small.toml", "-z"}, {"run has no option -z"});
    rejected({"run", "small.toml", "other.toml"}, {"run: 'other.toml' is one argument too many"});
    rejected({"run", "small.toml", "-j", "0"}, {"--threads", "1 to 1024"});
    rejected({"run", "small.toml", "-j", "many"}, {"--threads", "many"});
    rejected({"run", "small.toml", "--frames"}, {"--frames"});
    rejected({"run", "missing.toml"}, {"missing.toml: cannot be opened: No such file or directory"});
    rejected({"run", "."}, {".: is a folder, not a scene file"});
    rejected({"describe", "liqid"}, {"there is no stage 'liqid'; did you mean 'liquid'?"});
    rejected({"describe", "physics"}, {"there is no stage 'physics'; there are: shot, liquid, spray, surface, ripples, "
                                       "shaped_smoke, smoke, track, texture, crowd, sand, grains, render"});
    rejected({"describe", "--json", "--markdown"}, {"--markdown"});
    rejected({"info", "missing.vdb"}, {"there is no file missing.vdb"});
    rejected({"info", "missing.####.vdb"}, {"no file matches missing.####.vdb"});
    rejected({"info", "small.toml"}, {"small.toml: unknown file type '.toml'; known types are .vdb, .ply"});
    rejected({"new", "a/b"}, {"'a/b' is not a name for a scene; use letters, digits, - and _"});
    rejected({"new", "small"}, {"small.toml exists already; choose another name"});
}

} // namespace

} // namespace spindrift
