#include "spindrift/scene/scene_file.h"

#include "spindrift/base/error.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

namespace spindrift {
namespace {

struct Source {
    float radius = 0.5f;
    std::string file;
    void visit(ParamVisitor& v)
    {
        v("radius", radius, unit::metres, above(0), "Radius.");
        v("file", file, "Mesh.");
    }
};

struct Solver {
    int iterations = 100;
    float tolerance = 1e-4f;
    void visit(ParamVisitor& v)
    {
        v("iterations", iterations, unit::none, at_least(1), "Most iterations.");
        v("tolerance", tolerance, unit::none, above(0), "When to stop.");
        v.require(tolerance < 1, "tolerance", "must be below 1");
    }
};

struct Params {
    enum class Transfer { pic, flip, apic };
    float voxel = 0.02f, share = 0.5f;
    int frames = 10;
    Vec3f gravity = Vec3f(0, -9.81f, 0);
    Transfer transfer = Transfer::flip;
    bool reseed = true;
    std::string name = "water";
    std::optional<float> limit;
    std::optional<Vec3f> wind;
    std::vector<std::vector<float>> keys;
    Solver solver;
    std::vector<Source> sources = {{7.0f, "default.ply"}};

    void visit(ParamVisitor& v)
    {
        v("voxel", voxel, unit::metres, above(0), "Edge of a cell.");
        v("share", share, unit::none, between(0, 1), "Share.");
        v("frames", frames, unit::frames, at_least(1), "Frames.");
        v("gravity", gravity, unit::metres_per_second2, between(-100, 100), "Pull.");
        v("transfer", transfer, choices("pic", "flip", "apic"), "Blend.");
        v("reseed", reseed, "Reseed.");
        v("name", name, "Name.");
        v("limit", limit, unit::seconds, above(0), "Limit.");
        v("wind", wind, unit::metres_per_second, anything(), "Wind.");
        v.rows("keys", keys, 4, unit::none, "Keys.");
        v.group("solver", solver, "Solver.");
        v.list("source", sources, "Sources.");
        v.require(limit.value_or(0) < 10, "limit", "must be below 10");
    }
};

// A scene on disk, deleted at the end of the test.
class SceneFileTest : public testing::Test {
  protected:
    void SetUp() override
    {
        folder = std::filesystem::temp_directory_path() / fmt::format("spindrift_scene_test_{}", getpid());
        std::filesystem::create_directories(folder);
        path = (folder / "shot.toml").string();
    }
    void TearDown() override { std::filesystem::remove_all(folder); }

    SceneFile scene(const std::string& text, const std::vector<std::string>& overrides = {})
    {
        std::ofstream(path, std::ios::binary) << text;
        return SceneFile(path, overrides);
    }
    Params read(const std::string& text, const std::vector<std::string>& overrides = {})
    {
        Params params;
        scene(text, overrides).read("liquid", [&](ParamVisitor& v) { params.visit(v); });
        return params;
    }
    // The error message of reading, without the folder.
    std::string error(const std::string& text, const std::vector<std::string>& overrides = {})
    {
        try {
            read(text, overrides);
        } catch (const Error& e) {
            EXPECT_EQ(e.code, ExitCode::bad_input);
            std::string message = e.what();
            EXPECT_EQ(message.find('\n'), std::string::npos) << message;
            const std::string prefix = folder.string() + "/";
            for (size_t at; (at = message.find(prefix)) != std::string::npos;) message.erase(at, prefix.size());
            return message;
        }
        return "no error";
    }

    std::filesystem::path folder;
    std::string path;
};

TEST_F(SceneFileTest, EveryKindOfValueIsRead)
{
    const Params params = read(R"(
        [liquid]
        voxel = 0.01
        frames = 240
        gravity = [0, 0, -9.8]
        transfer = "apic"
        reseed = false
        name = "oil"
        limit = 2
        wind = [1, 2.5, 3]
        keys = [[0, 1, 2, 3], [10, 4, 5, 6.5]]
        solver.iterations = 7
        [[liquid.source]]
        radius = 0.1
        [[liquid.source]]
        file = "b.ply")");
    EXPECT_EQ(params.voxel, 0.01f);
    EXPECT_EQ(params.share, 0.5f);
    EXPECT_EQ(params.frames, 240);
    EXPECT_EQ(params.gravity, Vec3f(0, 0, -9.8f));
    EXPECT_EQ(params.transfer, Params::Transfer::apic);
    EXPECT_FALSE(params.reseed);
    EXPECT_EQ(params.name, "oil");
    EXPECT_EQ(params.limit, 2.0f);
    EXPECT_EQ(params.wind, Vec3f(1, 2.5f, 3));
    ASSERT_EQ(params.keys.size(), 2u);
    EXPECT_EQ(params.keys[1], (std::vector<float>{10, 4, 5, 6.5f}));
    EXPECT_EQ(params.solver.iterations, 7);
    EXPECT_EQ(params.solver.tolerance, 1e-4f);
    ASSERT_EQ(params.sources.size(), 2u); // the default source was replaced
    EXPECT_EQ(params.sources[0].radius, 0.1f);
    EXPECT_EQ(params.sources[1].radius, 0.5f);
    EXPECT_EQ(params.sources[1].file, "b.ply");
}

TEST_F(SceneFileTest, MissingKeysKeepTheirDefaults)
{
    const Params params = read("[smoke]\nx = 1\n");
    EXPECT_EQ(params.voxel, 0.02f);
    EXPECT_FALSE(params.limit.has_value());
    ASSERT_EQ(params.sources.size(), 1u);
    EXPECT_EQ(params.sources[0].radius, 7.0f);
}

TEST_F(SceneFileTest, UnknownKeyNamesTheNearestValidOne)
{
    EXPECT_EQ(error("[liquid]\n  voxell = 0.1\n"),
              "shot.toml:2:3: unknown parameter liquid.voxell; did you mean 'voxel'?");
    EXPECT_EQ(error("[liquid]\n[liquid.solver]\niteration = 3\n"),
              "shot.toml:3:1: unknown parameter liquid.solver.iteration; did you mean 'iterations'?");
    EXPECT_EQ(error("[[liquid.source]]\n[[liquid.source]]\nradios = 3\n"),
              "shot.toml:3:1: unknown parameter liquid.source[1].radios; did you mean 'radius'?");
    EXPECT_EQ(error("[liquid.solvr]\nx = 1\n"),
              "shot.toml:1:9: unknown parameter liquid.solvr; did you mean 'solver'?");
}

TEST_F(SceneFileTest, UnknownKeyWithoutSimilarOnesListsTheValidOnes)
{
    EXPECT_EQ(error("[liquid.solver]\nwarp_factor = 9\n"),
              "shot.toml:2:1: unknown parameter liquid.solver.warp_factor; valid names: iterations, tolerance");
}

TEST_F(SceneFileTest, WrongTypeNamesTheGivenAndTheExpectedType)
{
    EXPECT_EQ(error("[liquid]\nvoxel = \"fine\"\n"),
              "shot.toml:2:9: liquid.voxel must be a number [m], not the text \"fine\"");
    EXPECT_EQ(error("[liquid]\nframes = 2.5\n"),
              "shot.toml:2:10: liquid.frames must be an integer [frames], not the number 2.5");
    EXPECT_EQ(error("[liquid]\nreseed = 1\n"),
              "shot.toml:2:10: liquid.reseed must be true or false, not the integer 1");
    EXPECT_EQ(error("[liquid]\nname = true\n"), "shot.toml:2:8: liquid.name must be a text in quotes, not true");
    EXPECT_EQ(error("[liquid]\nvoxel = 2020-01-01\n"), "shot.toml:2:9: liquid.voxel must be a number [m], not a date");
    EXPECT_EQ(error("[liquid]\nsolver = 3\n"), "shot.toml:2:10: liquid.solver must be a table, not the integer 3");
    EXPECT_EQ(error("[liquid.source]\nradius = 3\n"),
              "shot.toml:1:1: liquid.source must be a list of tables, each opened by [[liquid.source]], not a table");
    EXPECT_EQ(error("[liquid]\nsource = [1]\n"), "shot.toml:2:11: liquid.source[0] must be a table, not the integer 1");
    EXPECT_EQ(error("[liquid]\nlimit = []\n"), "shot.toml:2:9: liquid.limit must be a number [s], not a list of 0");
}

TEST_F(SceneFileTest, OutOfRangeNamesValueRangeAndUnit)
{
    EXPECT_EQ(error("[liquid]\nvoxel = -0.5\n"), "shot.toml:2:9: liquid.voxel is -0.5 m; it must be above 0 m");
    EXPECT_EQ(error("[liquid]\nvoxel = 0\n"), "shot.toml:2:9: liquid.voxel is 0 m; it must be above 0 m");
    EXPECT_EQ(error("[liquid]\nshare = 2\n"), "shot.toml:2:9: liquid.share is 2; it must be 0 to 1");
    EXPECT_EQ(error("[liquid]\nframes = 0\n"),
              "shot.toml:2:10: liquid.frames is 0 frames; it must be at least 1 frames");
    EXPECT_EQ(error("[liquid]\ngravity = [0, -981, 0]\n"),
              "shot.toml:2:15: liquid.gravity[1] is -981 m/s2; it must be -100 to 100 m/s2");
}

TEST_F(SceneFileTest, NumbersThatDoNotFitAreRejected)
{
    EXPECT_EQ(error("[liquid]\nvoxel = nan\n"), "shot.toml:2:9: liquid.voxel is nan; it must be finite");
    EXPECT_EQ(error("[liquid]\nwind = [0, -inf, 0]\n"), "shot.toml:2:12: liquid.wind[1] is -inf; it must be finite");
    EXPECT_EQ(error("[liquid]\nvoxel = 1e300\n"), "shot.toml:2:9: liquid.voxel is 1e+300, which is too large");
    EXPECT_EQ(error("[liquid]\nvoxel = 1e-300\n"), "shot.toml:2:9: liquid.voxel is 1e-300, which is too close to 0");
    EXPECT_EQ(error("[liquid]\nframes = 5000000000\n"),
              "shot.toml:2:10: liquid.frames is 5000000000, which is too large");
    EXPECT_EQ(error("[liquid]\nkeys = [[0, 1, 2, nan]]\n"),
              "shot.toml:2:19: liquid.keys[0][3] is nan; it must be finite");
}

TEST_F(SceneFileTest, VectorsAndRowsMustHaveTheirLength)
{
    EXPECT_EQ(error("[liquid]\ngravity = [0, 1]\n"),
              "shot.toml:2:11: liquid.gravity must be a list of 3 numbers [m/s2], not a list of 2");
    EXPECT_EQ(error("[liquid]\ngravity = 9.8\n"),
              "shot.toml:2:11: liquid.gravity must be a list of 3 numbers [m/s2], not the number 9.8");
    EXPECT_EQ(error("[liquid]\nkeys = [[0, 1, 2, 3],\n  [1, 2]]\n"),
              "shot.toml:3:3: liquid.keys[1] must be a list of 4 numbers, not a list of 2");
    EXPECT_EQ(error("[liquid]\nkeys = [[0, 1, 2, \"x\"]]\n"),
              "shot.toml:2:19: liquid.keys[0][3] must be a number, not the text \"x\"");
    EXPECT_EQ(error("[liquid]\nkeys = 1\n"),
              "shot.toml:2:8: liquid.keys must be a list of rows of 4 numbers, not the integer 1");
}

TEST_F(SceneFileTest, UnknownChoiceListsTheChoicesAndTheNearest)
{
    EXPECT_EQ(error("[liquid]\ntransfer = \"apci\"\n"), "shot.toml:2:12: liquid.transfer must be one of \"pic\", "
                                                        "\"flip\", \"apic\", not \"apci\"; did you mean \"apic\"?");
    EXPECT_EQ(error("[liquid]\ntransfer = \"eulerian\"\n"),
              "shot.toml:2:12: liquid.transfer must be one of \"pic\", \"flip\", \"apic\", not \"eulerian\"");
    EXPECT_EQ(error("[liquid]\ntransfer = 2\n"),
              "shot.toml:2:12: liquid.transfer must be one of \"pic\", \"flip\", \"apic\", not the integer 2");
}

TEST_F(SceneFileTest, FailedRequirementsAreReportedAtTheirKeyOrTable)
{
    EXPECT_EQ(error("[liquid]\nvoxel = 1\n limit = 11\n"), "shot.toml:3:2: liquid.limit must be below 10");
    EXPECT_EQ(error("[liquid]\n\n[liquid.solver]\ntolerance = 2\n"),
              "shot.toml:4:1: liquid.solver.tolerance must be below 1");
    // An invalid default has no key whose position could be reported.
    const auto message = [&](const std::string& text) -> std::string {
        Params params;
        params.solver.tolerance = 2;
        try {
            scene(text).read("liquid", [&](ParamVisitor& v) { params.visit(v); });
        } catch (const Error& e) {
            return std::string(e.what()).substr(path.size());
        }
        return "no error";
    };
    EXPECT_EQ(message("[liquid]\n\n[liquid.solver]\niterations = 3\n"),
              ":3:1: liquid.solver.tolerance must be below 1");
    EXPECT_EQ(message("\n[liquid]\nvoxel = 1\n"), ":2:1: liquid.solver.tolerance must be below 1");
    EXPECT_EQ(message("\n[smoke]\n"), ":1:1: liquid.solver.tolerance must be below 1");
}

TEST_F(SceneFileTest, MisspeltKeysAreReportedBeforeFailedRequirements)
{
    EXPECT_EQ(error("[liquid]\nlimit = 11\nvoxl = 1\n"),
              "shot.toml:3:1: unknown parameter liquid.voxl; did you mean 'voxel'?");
}

TEST_F(SceneFileTest, SyntaxErrorsNameTheirPlace)
{
    EXPECT_TRUE(error("[liquid]\nvoxel = \n").starts_with("shot.toml:2:")) << error("[liquid]\nvoxel = \n");
    EXPECT_TRUE(error("[liquid\n").starts_with("shot.toml:1:"));
    const std::string twice = error("[liquid]\nvoxel = 1\nvoxel = 2\n");
    EXPECT_TRUE(twice.starts_with("shot.toml:3:") && twice.find("voxel") != std::string::npos) << twice;
    EXPECT_TRUE(error("[liquid]\n[liquid]\n").starts_with("shot.toml:2:"));
    EXPECT_TRUE(error("[liquid]\nname = \"\xff\xfe\"\n").starts_with("shot.toml:2:"));
    EXPECT_TRUE(error("\"a\\nb\" = 1\n\"a\\nb\" = 2\n").starts_with("shot.toml:2:")); // error() looks for line breaks
    EXPECT_TRUE(error(std::string("[liquid]\n\0\0", 11)).starts_with("shot.toml:2:"));
}

TEST_F(SceneFileTest, AnEmptySceneIsAnError)
{
    EXPECT_TRUE(error("").starts_with("shot.toml:1:1: the scene is empty"));
    EXPECT_TRUE(error("# nothing\n\n").starts_with("shot.toml:1:1: the scene is empty"));
}

TEST_F(SceneFileTest, KeysOutsideAnyTableAreRejected)
{
    EXPECT_TRUE(error("\nvoxel = 1\n[liquid]\n").starts_with("shot.toml:2:1: 'voxel' is outside any table"));
    EXPECT_EQ(
        error("[[liquid]]\nvoxel = 1\n"),
        "shot.toml:1:3: write [liquid], not [[liquid]]; for another one, give its table a name of its own, such as "
        "[second_liquid], and kind = \"liquid\"");
}

TEST_F(SceneFileTest, MissingFilesAndFoldersAreNamed)
{
    for (const std::string& bad : {(folder / "none.toml").string(), folder.string()}) {
        try {
            SceneFile file(bad);
            FAIL() << bad;
        } catch (const Error& e) {
            EXPECT_EQ(e.code, ExitCode::bad_input);
            EXPECT_TRUE(std::string(e.what()).starts_with(bad + ": ")) << e.what();
        }
    }
}

TEST_F(SceneFileTest, DeepNestingIsAnError)
{
    std::string keys = "[a", lists = "[liquid]\nkeys = ", tables = "[liquid]\nx = ";
    for (int i = 0; i < 200000; ++i) keys += ".a", lists += '[', tables += "{a=";
    EXPECT_EQ(error(keys + "]\n"), "shot.toml:1:195: a name with more than 96 parts");
    EXPECT_TRUE(error(lists).starts_with("shot.toml:2:")) << error(lists);
    EXPECT_TRUE(error(tables).starts_with("shot.toml:2:"));
    EXPECT_NE(error("[liquid]\n", {"liquid.x=" + lists.substr(16)}), "no error");
    EXPECT_NE(error("[liquid]\n", {"liquid" + keys.substr(2) + "=1"}), "no error");
    std::string sound = "[liquid]\nkeys = ";
    for (int i = 0; i < 50; ++i) sound += '[';
    for (int i = 0; i < 50; ++i) sound += ']';
    EXPECT_TRUE(error(sound).ends_with("nested more than 32 deep")) << error(sound);
    // Rows of decimals and dotted lines in comments are not nested names.
    std::string rows = "# " + std::string(300, '.') + "\n[liquid]\nkeys = [";
    for (int i = 0; i < 300; ++i) rows += "[0.5, 1.5, 2.5, 3.5], ";
    EXPECT_EQ(read(rows + "]\n").keys.size(), 300u);
}

TEST_F(SceneFileTest, AFileTooLargeForASceneIsRejected)
{
    const std::string message = error("[liquid]\n#" + std::string(17 << 20, 'x'));
    EXPECT_TRUE(message.starts_with("shot.toml: is larger than 16 MB")) << message;
    EXPECT_EQ(read("#" + std::string(1 << 20, 'x') + "\n[liquid]\nvoxel = 3\n").voxel, 3);
}

TEST_F(SceneFileTest, OverridesReplaceAndAddValues)
{
    const std::string text = "[liquid]\nvoxel = 0.1\n[[liquid.source]]\nradius = 1\n[[liquid.source]]\nradius = 2\n";
    const Params params =
        read(text, {"liquid.voxel=0.5", "liquid.gravity=[0,0,-9.8]", "liquid.transfer=apic", "liquid.name = salt water",
                    "liquid.reseed=false", "liquid.source[0].radius=3", "liquid.source.1.file=meshes/b-2.ply",
                    "liquid.solver.iterations=5", "liquid.keys=[[0,1,2,3]]", "liquid.limit=1e-2"});
    EXPECT_EQ(params.voxel, 0.5f);
    EXPECT_EQ(params.gravity, Vec3f(0, 0, -9.8f));
    EXPECT_EQ(params.transfer, Params::Transfer::apic);
    EXPECT_EQ(params.name, "salt water");
    EXPECT_FALSE(params.reseed);
    EXPECT_EQ(params.sources[0].radius, 3);
    EXPECT_EQ(params.sources[1].radius, 2);
    EXPECT_EQ(params.sources[1].file, "meshes/b-2.ply");
    EXPECT_EQ(params.solver.iterations, 5);
    EXPECT_EQ(params.keys.size(), 1u);
    EXPECT_EQ(params.limit, 0.01f);
}

TEST_F(SceneFileTest, ALaterOverrideWins)
{
    EXPECT_EQ(read("[liquid]\n", {"liquid.voxel=1", "liquid.voxel=2"}).voxel, 2);
    EXPECT_EQ(read("[liquid]\n", {"liquid.source=[{radius=4}]", "liquid.source[0].radius=5"}).sources.at(0).radius, 5);
    EXPECT_EQ(read("[smoke]\n", {"liquid.voxel=3"}).voxel, 3); // the table itself may be new
}

TEST_F(SceneFileTest, ErrorsInOverridesQuoteTheOverride)
{
    const std::string text = "[liquid]\nvoxel = 0.1\n[[liquid.source]]\nradius = 1\n";
    const auto check = [&](const std::string& set, const std::string& message) {
        EXPECT_EQ(error(text, {set}), "--set " + set + ": " + message);
    };
    check("liquid.voxel=abc", "liquid.voxel must be a number [m], not the text \"abc\"");
    check("liquid.voxel=", "liquid.voxel must be a number [m], not the text \"\"");
    check("liquid.voxel=-1", "liquid.voxel is -1 m; it must be above 0 m");
    check("liquid.voxell=1", "unknown parameter liquid.voxell; did you mean 'voxel'?");
    check("liquid.solvr.tolerance=1", "unknown parameter liquid.solvr; did you mean 'solver'?");
    check("liquid.source[0].radiu=1", "unknown parameter liquid.source[0].radiu; did you mean 'radius'?");
    check("liquid.sorce[0].radius=1", "the scene has no list 'liquid.sorce'; did you mean 'source'?");
    check("liquid.source[1].radius=1", "'liquid.source' has no item 1; it has 1, counted from 0");
    check("liquid.voxel[0]=1", "'liquid.voxel' is the number 0.1, not a list");
    check("liquid.voxel.x=1", "'liquid.voxel' is the number 0.1, not a table");
    check("liquid.gravity=[0,1]", "liquid.gravity must be a list of 3 numbers [m/s2], not a list of 2");
    check("liquid.limit=20", "liquid.limit must be below 10");
    check("liquid.frames=1.5", "liquid.frames must be an integer [frames], not the number 1.5");
    for (const char* form : {"liquid.voxel", "liquid=3", "=3", "voxel=3", ".voxel=3", "liquid.=3", "liquid..voxel=3",
                             "[0].x=1", "liquid.source[0=1", "liquid.source[x].radius=1", "liquid.source[0]radius=1",
                             "liquid.source[99999999999999999999].radius=1"})
        check(form, "write it as table.name=value");
    EXPECT_TRUE(error(text, {"liquid.gravity=[0,"}).starts_with("--set liquid.gravity=[0,: "));
    EXPECT_TRUE(error(text, {"liquid.voxel=1\nfoo=2"}).ends_with(": give one value"));
}

TEST_F(SceneFileTest, WhereFindsAValueOrItsNearestParent)
{
    const SceneFile file =
        scene("\n[liquid]\nvoxel = 1\n[[liquid.source]]\nradius = 1\nfile = 'a'\n", {"liquid.limit=1"});
    EXPECT_EQ(file.where("liquid.source[0].file"), path + ":6:8");
    EXPECT_EQ(file.where("liquid.source[0].none"), path + ":4:1");
    EXPECT_EQ(file.where("liquid.voxel"), path + ":3:9");
    EXPECT_EQ(file.where("liquid.none.at.all"), path + ":2:1");
    EXPECT_EQ(file.where("smoke.voxel"), path + ":1:1");
    EXPECT_EQ(file.where("liquid.limit"), "--set liquid.limit=1");
}

TEST_F(SceneFileTest, PathsAreRelativeToTheScene)
{
    SceneFile file = scene("[liquid]\n");
    const SceneFile moved = std::move(file);
    EXPECT_EQ(moved.path(), path);
    EXPECT_EQ(moved.name(), "shot");
    EXPECT_EQ(moved.resolve("meshes/a.ply"), (folder / "meshes/a.ply").string());
    EXPECT_EQ(moved.resolve("/a.ply"), "/a.ply");
    EXPECT_TRUE(moved.has("liquid"));
    EXPECT_FALSE(moved.has("smoke"));
}

} // namespace
} // namespace spindrift
