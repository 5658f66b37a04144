#include "cli/json.h"
#include "cli/program.h"
#include "spindrift/base/frame_share.h"
#include "spindrift/engine/graph.h"
#include "spindrift/engine/progress.h"
#include "spindrift/stages/all_stages.h"
#include "spindrift/world/substeps.h"

#include <random>
#include <regex>
#include <sstream>
#include <thread>

namespace spindrift {

namespace {

std::vector<std::string> lines_of(const std::string& text)
{
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
}

// The small shot, computed once.
const Workplace& finished_shot()
{
    static const Workplace place;
    if (!place.has("out")) {
        place.write("small.toml", small_scene());
        place.succeed({"run", "small.toml", "-o", "out", "--set", "surface.sdf=true"});
    }
    return place;
}

// ---------------------------------------------------------------------------------------------------------------- info

TEST(Info, ShowsTheContentsOfOurFiles)
{
    const Workplace& place = finished_shot();
    const std::string points = place.succeed({"info", "out/liquid/liquid.0002.vdb"}).out;
    for (const char* part : {"out/liquid/liquid.0002.vdb: ", "particles", "pscale", "7680"})
        EXPECT_TRUE(contains(points, part)) << part << "\n" << points;
    const std::string field = place.succeed({"info", "out/surface/surface.0002.vdb"}).out;
    EXPECT_TRUE(contains(field, "surface")) << field;
    const std::string mesh = place.succeed({"info", "out/surface/surface.0002.ply"}).out;
    for (const char* part : {"mesh: ", " triangles, closed\n", "bounds: ", "volume: ", "normal, velocity\n"})
        EXPECT_TRUE(contains(mesh, part)) << part << "\n" << mesh;
    const std::string picture = place.succeed({"info", "out/render/render.0002.png"}).out;
    EXPECT_TRUE(contains(picture, "picture: 96 x 54 pixels")) << picture;
}

TEST(Info, UnderstandsEveryFramePattern)
{
    const Workplace& place = finished_shot();
    const std::string expected = place.succeed({"info", "out/liquid/liquid.####.vdb"}).out;
    EXPECT_TRUE(expected.starts_with("6 frames from 1 to 6; the first:\nout/liquid/liquid.0001.vdb: ")) << expected;
    EXPECT_EQ(place.succeed({"info", "out/liquid/liquid.%04d.vdb"}).out, expected);
    EXPECT_EQ(place.succeed({"info", "out/liquid/liquid.$F4.vdb"}).out, expected);
}

TEST(Info, ReportsFilesThatDoNotMatchTheirEnding)
{
    const Workplace place;
    for (const std::string& garbage :
         {std::string(), std::string("garbage"), std::string(5000, '\0'), std::string(300, '\xff')})
        for (const char* name : {"a.vdb", "a.ply", "a.obj", "a.png", "a.exr", "a.jpg"}) {
            if (garbage.empty() && std::string(name) == "a.obj") continue; // an empty OBJ is valid
            place.write(name, garbage);
            const RunResult outcome = place.run({"info", name});
            EXPECT_TRUE(outcome.code == 1 || outcome.code == 2) << name << ": " << outcome.code;
            EXPECT_TRUE(outcome.err.starts_with("spindrift: ") && contains(outcome.err, name)) << outcome.err;
            EXPECT_EQ(lines_of(outcome.err).size(), 1u) << outcome.err;
            EXPECT_EQ(outcome.out, "");
        }
}

// ------------------------------------------------------------------------------------------------ new, check, describe

TEST(New, WritesASceneThatRuns)
{
    const Workplace place;
    for (const std::string name : {"splash", "other.toml"}) {
        const std::string file = name == "splash" ? "splash.toml" : name;
        EXPECT_EQ(place.succeed({"new", name}).out, "wrote " + file + "; run it with: spindrift run " + file + "\n");
        place.succeed({"check", file});
    }
    place.succeed({"run", "splash.toml", "--frames", "1-2", "--set", "liquid.voxel=0.1", "--set", "render.width=96",
                   "--set", "render.height=54", "--set", "render.samples=1", "--set", "render.floor=false"});
    EXPECT_TRUE(place.has("out/splash/render/render.0002.png"));
    EXPECT_FALSE(place.has("out/splash/render/render.0003.png"));
}

TEST(New, EveryTemplateRuns)
{
    const Workplace place;
    const std::string list = place.succeed({"new", "--list"}).out;
    // Overrides that make each template small: coarse cells, few droplets and people.
    const std::map<std::string, std::vector<std::string>> smaller = {
        {"splash", {"liquid.voxel=0.1"}},       {"spray", {"liquid.voxel=0.08"}},
        {"fountain", {"spray.gusts.size=0.3"}}, {"ripples", {"liquid.voxel=0.1"}},
        {"bodies", {"liquid.voxel=0.1"}},       {"honey", {"liquid.voxel=0.008"}},
        {"jelly", {"liquid.voxel=0.06"}},       {"smoke", {"smoke.voxel=0.08"}},
        {"fire", {"smoke.voxel=0.08"}},         {"shaped_smoke", {"shaped_smoke.markers=5000"}},
        {"tracked", {"liquid.voxel=0.12"}},     {"texture", {"liquid.voxel=0.12", "spots.size=0.5"}},
        {"sand", {"sand.voxel=0.06"}},          {"crowd", {"crowd.cell=2"}}};
    EXPECT_EQ(lines_of(list).size(), smaller.size());
    for (const std::string& line : lines_of(list)) {
        const std::string effect = line.substr(0, line.find(' ')), scene = "my_" + effect;
        ASSERT_TRUE(smaller.contains(effect)) << effect;
        place.succeed({"new", scene, "--template", effect});
        EXPECT_TRUE(
            place.read(scene + ".toml").starts_with("# " + line.substr(line.find_first_not_of(' ', effect.size()))));
        const std::string needs = place.succeed({"check", scene + ".toml"}).out;
        EXPECT_TRUE(contains(needs, " of memory, ")) << needs;
        std::vector<std::string> run = {"run",   scene + ".toml",   "--frames", "1-2",
                                        "--set", "render.width=64", "--set",    "render.height=48",
                                        "--set", "render.samples=1"};
        for (const std::string& value : smaller.at(effect)) run.insert(run.end(), {"--set", value});
        place.succeed(run);
        EXPECT_TRUE(place.has("out/" + scene + "/render/render.0002.png")) << effect;
    }
    // A scene named like an effect uses its template.
    place.succeed({"new", "smoke"});
    EXPECT_TRUE(contains(place.read("smoke.toml"), "[smoke]\n"));
    const RunResult wrong = place.run({"new", "a", "--template", "snad"});
    EXPECT_EQ(wrong.code, 2);
    EXPECT_EQ(wrong.err, "spindrift: there is no template 'snad'; did you mean 'sand'?\n");
    EXPECT_EQ(place.run({"new"}).code, 2);
}

TEST(Check, ReportsMemoryAndDiskSpaceAndWritesNothing)
{
    const Workplace place;
    place.write("small.toml", small_scene());
    const std::string text = place.succeed({"check", "small.toml"}).out;
    for (const char* part : {"liquid   memory ", "surface  memory ", "render   memory ", "about 7.68e+03 particles",
                             "frames 1-6 at 24 fps into out/small: ", " of memory, ", " on disk (", " free)"})
        EXPECT_TRUE(contains(text, part)) << part << "\n" << text;
    EXPECT_FALSE(place.has("out"));
}

TEST(Check, AndRunWarnAboutMeshSequencesThatDoNotCoverTheShot)
{
    const Workplace place;
    const char* tetrahedron =
        "v 0.6 0 0.2\nv 0.8 0 0.2\nv 0.7 0 0.4\nv 0.7 0.2 0.3\nf 1 2 3\nf 1 4 2\nf 2 4 3\nf 3 4 1\n";
    for (int frame = 2; frame <= 4; ++frame) place.write(frame_path("ship.####.obj", frame), tetrahedron);
    place.write("ship.toml", small_scene() + "[[liquid.collider]]\nshape = \"mesh\"\nfile = \"ship.####.obj\"\n");
    const std::string early =
                          "ship.toml:25:8: the files of liquid.collider[0].file end with ship.0004.obj, and the shot "
                          "with frame 6; the last file stays in place after frame 4\n",
                      late =
                          "ship.toml:25:8: the files of liquid.collider[0].file begin with ship.0002.obj, and the shot "
                          "with frame 1; the first file is in place before frame 2\n";
    const std::string needs = place.succeed({"check", "ship.toml"}).out;
    EXPECT_TRUE(contains(needs, early) && contains(needs, late)) << needs;
    const std::string said = place.succeed({"liquid", "ship.toml", "--frames", "1-2"}).out;
    EXPECT_TRUE(contains(said, "liquid: " + early) && contains(said, "liquid: " + late)) << said;
    for (const int frame : {1, 5, 6, 7}) place.write(frame_path("ship.####.obj", frame), tetrahedron);
    EXPECT_FALSE(contains(place.succeed({"check", "ship.toml"}).out, "the files of"));
}

// Thin plates that are colliders are resolved at any thickness; rods and rigid bodies are not.
TEST(Check, WarnsAboutSolidsThinnerThanTheGrid)
{
    const Workplace place;
    const auto warnings = [&](const std::string& solids) {
        place.write("thin.toml", small_scene() + solids);
        return place.succeed({"check", "thin.toml"}).out;
    };
    const std::string plate = "shape = \"box\"\nmin = [0.6, 0.2, 0.1]\nmax = [0.8, 0.201, 0.3]\n";
    EXPECT_FALSE(contains(warnings("[[liquid.collider]]\n" + plate), "may pass through"));
    const std::string body = warnings("[[liquid.body]]\ndensity = 500\n" + plate);
    EXPECT_TRUE(contains(body, "thin.toml:23:1: liquid.body[0] is thinner than liquid.voxel (0.05 m)")) << body;
    const std::string rod =
        warnings("[[liquid.collider]]\nshape = \"capsule\"\nstart = [0.6, 0.2, 0.1]\nend = [0.6, 0.2, 0.3]\n"
                 "radius = 0.005\n");
    EXPECT_TRUE(contains(rod, "liquid.collider[0] is a rod or ball of 0.01 m, thinner than liquid.voxel")) << rod;
    const std::string box = "[[liquid.collider]]\nmin = [0.6, 0.2, 0.1]\nmax = [0.8, 0.4, 0.3]\n";
    const std::string squeezed = warnings(box + "scale = [[1, 1, 1, 1], [3, 1, 0.01, 0.01]]\n");
    EXPECT_TRUE(contains(squeezed, "liquid.collider[0] is a rod or ball of 0.002 m")) << squeezed;
    EXPECT_FALSE(contains(warnings("[[liquid.collider]]\nmin = [0.6, 0.2, 0.1]\nmax = [0.601, 0.201, 0.101]\n"
                                   "scale = [[1, 200, 200, 200]]\n"),
                          "may pass through"));
    // Two chambers with a wall of 4 mm, and an open sheet whose triangles change.
    const std::string chamber = "v 0.1 0.1 0.1\nv 0.1 0.1 0.3\nv 0.1 0.3 0.1\nv 0.1 0.3 0.3\n";
    const auto moved = [&](std::string text, const char* x) {
        for (size_t at = 0; (at = text.find("v 0.1", at)) != std::string::npos; ++at) text.replace(at + 2, 3, x);
        return text;
    };
    std::string tank;
    for (const char* x : {"0.1", "0.3", "0.304", "0.5"}) tank += moved(chamber, x);
    for (const int first : {0, 8})
        for (const auto& q :
             {std::array{1, 2, 4, 3}, {5, 7, 8, 6}, {1, 5, 6, 2}, {3, 4, 8, 7}, {1, 3, 7, 5}, {2, 6, 8, 4}})
            tank += fmt::format("f {} {} {} {}\n", q[0] + first, q[1] + first, q[2] + first, q[3] + first);
    place.write("tank.obj", tank);
    const std::string divided = warnings("[[liquid.collider]]\nshape = \"mesh\"\nfile = \"tank.obj\"\ninvert = true\n");
    EXPECT_TRUE(contains(divided, "liquid.collider[0] has walls between its chambers that are thinner than"))
        << divided;
    for (int frame = 1; frame <= 6; ++frame)
        place.write(fmt::format("sheet.{}.obj", frame),
                    "v 0.6 0.2 0.1\nv 0.8 0.2 0.1\nv 0.8 0.2 0.3\nv 0.6 0.2 0.3\n" +
                        std::string(frame % 2 ? "f 1 2 3\nf 1 3 4\n" : "f 1 2 4\nf 2 3 4\n"));
    const std::string sheet = warnings("[[liquid.collider]]\nshape = \"mesh\"\nfile = \"sheet.#.obj\"\n");
    EXPECT_TRUE(contains(sheet, "the triangles of liquid.collider[0] change from frame to frame")) << sheet;
}

TEST(Describe, ExplainsTheLabelsAndOrientationOfDrawings)
{
    const std::string text = Workplace().succeed({"describe", "crowd"}).out;
    for (const char* part : {"id=\"goal-north\"", "up (north) is -z", "property \"type\""})
        EXPECT_TRUE(contains(text, part)) << part << "\n" << text;
}

TEST(Describe, ListsEveryParameterOfEveryStage)
{
    const Workplace place;
    const std::string text = place.succeed({"describe"}).out, json = place.succeed({"describe", "--json"}).out;
    EXPECT_TRUE(JsonChecker::accepts(json)) << json;
    for (const StageKind& kind : all_stages()) {
        const std::string name = kind.name;
        const std::unique_ptr<Stage> stage = kind.make({name, name});
        EXPECT_TRUE(contains(text, "[" + name + "]")) << text;
        const std::string one = place.succeed({"describe", name, "--json"}).out;
        EXPECT_TRUE(JsonChecker::accepts(one)) << one;
        EXPECT_TRUE(one.starts_with("{\"name\": \"" + name + "\"")) << one;
        const std::string markdown = place.succeed({"describe", name, "--markdown"}).out;
        EXPECT_TRUE(markdown.starts_with("### `[" + name + "]`\n")) << markdown;
        // The record of what frames were made from has one line per parameter, except for lists.
        for (const std::string& line : lines_of(canonical_text([&](ParamVisitor& v) { visit_stage(*stage, v); }))) {
            const std::string path = line.substr(0, line.find(" = "));
            const std::string parameter = path.substr(path.rfind('.') + 1);
            EXPECT_TRUE(contains(text, "  " + parameter)) << parameter;
            EXPECT_TRUE(contains(one, "{\"name\": \"" + parameter + "\"")) << parameter;
            EXPECT_TRUE(contains(markdown, path)) << path;
        }
    }
}

TEST(Describe, TheJsonCheckerDetectsErrors)
{
    for (const char* good : {"{}", " [1, -2.5e+3, \"a\\u00e9\\n\", true, null, {\"a\": []}] ", "0", "\"\""})
        EXPECT_TRUE(JsonChecker::accepts(good)) << good;
    for (const char* bad :
         {"", "{", "[1,]", "{\"a\" 1}", "01", "1.", "nan", "inf", "\"\n\"", "\"\\x\"", "{} {}", "'a'", "\"a"})
        EXPECT_FALSE(JsonChecker::accepts(bad)) << bad;
}

TEST(Help, ExistsForEveryCommand)
{
    const Workplace place;
    const std::string text = place.succeed({"--help"}).out;
    for (const char* command : {"run", "liquid", "surface", "render", "check", "describe", "info", "new"}) {
        EXPECT_TRUE(contains(text, std::string("\n  ") + command + " ")) << text;
        EXPECT_TRUE(contains(place.succeed({command, "--help"}).out, "Usage: spindrift " + std::string(command)));
    }
    EXPECT_TRUE(place.succeed({"--version"}).out.starts_with("spindrift "));
}

// ------------------------------------------------------------------------------------------------------------ progress

TEST(ProgressLines, AreValidJsonWithNumbersAndPhasesOfEachFrame)
{
    const Workplace place;
    place.write("a \"quoted\" name.toml", small_scene());
    const std::string text = place.succeed({"run", "a \"quoted\" name.toml", "--json"}).out;
    std::map<std::string, int> frames;
    for (const std::string& line : lines_of(text)) {
        EXPECT_TRUE(JsonChecker::accepts(line)) << line;
        if (!contains(line, "\"event\": \"frame\"")) continue;
        for (const char* stage : {"liquid", "surface", "render"})
            if (contains(line, "\"stage\": \"" + std::string(stage) + "\"")) ++frames[stage];
        std::vector<std::string> parts = {"\"frame\": ", "\"seconds\": ", "\"phases\": {\"",
                                          "\"write\": ", "\"seconds_left\": "};
        if (contains(line, "\"stage\": \"liquid\""))
            for (const char* name : {"particles", "tiles", "substeps", "iterations"})
                parts.push_back("\"" + std::string(name) + "\": ");
        for (const std::string& part : parts) EXPECT_TRUE(contains(line, part)) << part << "\n" << line;
    }
    EXPECT_EQ(frames, (std::map<std::string, int>{{"liquid", 6}, {"surface", 6}, {"render", 6}}));
    const std::string again = place.succeed({"run", "a \"quoted\" name.toml", "--json"}).out;
    EXPECT_TRUE(
        contains(again, "{\"stage\": \"liquid\", \"event\": \"start\", \"first\": 1, \"last\": 6, \"to_do\": 0}\n"));
    EXPECT_TRUE(contains(again, "{\"stage\": \"liquid\", \"event\": \"end\", \"frames\": 0, "));
}

TEST(ProgressLines, HaveNoEscapeCodesInAPipe)
{
    const Workplace place;
    place.write("small.toml", small_scene());
    const std::string text = place.succeed({"run", "small.toml"}).out;
    EXPECT_EQ(text.find_first_of("\x1b\r"), std::string::npos) << text;
    EXPECT_TRUE(contains(text, "liquid 1/6  particles 7680 ")) << text;
    EXPECT_TRUE(contains(text, "liquid: 6 frames in ")) << text;
    EXPECT_FALSE(contains(text, "()")) << text;
}

TEST(ProgressLines, AreNotPrintedWhenQuiet)
{
    const Workplace place;
    place.write("small.toml", small_scene());
    EXPECT_EQ(place.succeed({"run", "small.toml", "--quiet"}).out, "");
    EXPECT_TRUE(place.has("out/small/small.mp4"));
    // Warnings are still printed.
    const RunResult warned = place.run({"surface", "small.toml", "-q", "--set", "liquid.flip=0.5"});
    EXPECT_EQ(warned.code, 0);
    EXPECT_EQ(warned.out, "");
    EXPECT_TRUE(contains(warned.err, "spindrift: surface: reads frames of another version of the scene")) << warned.err;
}

TEST(ProgressLines, TimeLeftAccountsForFramesThatGetSlower)
{
    TimeLeft steady, slower, faster, noisy;
    EXPECT_EQ(steady.of(5), 0);
    std::mt19937 random(4);
    std::uniform_real_distribution<double> jitter(0.8, 1.2);
    double rest = 0;
    for (int i = 0; i < 40; ++i) {
        const double seconds = 1 + 0.1 * i;
        if (i < 10) steady.add(2), slower.add(seconds), faster.add(5 - 0.1 * i), noisy.add(jitter(random));
        if (i >= 10) rest += seconds;
    }
    EXPECT_DOUBLE_EQ(steady.of(30), 60);
    EXPECT_NEAR(slower.of(30), rest, 0.01 * rest); // the mean of all frames would predict 43.5 s of 103.5
    EXPECT_GT(faster.of(30), 30 * 4.0);
    EXPECT_LT(faster.of(30), 30 * 5.0);
    EXPECT_NEAR(noisy.of(30), 30, 9);
    EXPECT_EQ(slower.of(0), 0);
}

TEST(ProgressLines, ShowTheTimeLeftInAPipe)
{
    const Workplace place;
    place.write("small.toml", small_scene());
    // Pictures that take at least half a second each.
    const std::string text = place
                                 .succeed({"run", "small.toml", "--set", "render.width=480", "--set",
                                           "render.height=270", "--set", "render.samples=32"})
                                 .out;
    EXPECT_TRUE(std::regex_search(text, std::regex("render 1/6 .*, [0-9].* s left\n"))) << text;
    EXPECT_FALSE(std::regex_search(text, std::regex("render 6/6 .*left\n"))) << text;
}

TEST(ProgressLines, EstimateTheTimeLeftWithinTheFirstFrame)
{
    testing::internal::CaptureStdout();
    {
        Progress progress(Progress::Style::terminal);
        progress.stage_starts("liquid", {1, 3}, 3);
        set_frame_share(0.25f);
        std::this_thread::sleep_for(std::chrono::milliseconds(2500));
    }
    const std::string text = testing::internal::GetCapturedStdout();
    std::smatch found; // a frame takes four times what was spent on its first quarter
    ASSERT_TRUE(std::regex_search(text, found, std::regex("this frame ([0-9.]+) s so far \\(25%\\), ([0-9.]+) s left")))
        << text;
    EXPECT_NEAR(std::stod(found[2]), 11 * std::stod(found[1]), 2);
}

TEST(ProgressLines, SubstepsReportTheShareOfTheFrame)
{
    std::vector<float> shares;
    set_frame_share(0);
    for_each_substep(
        4, 24, "it", "", [](float) {}, [&] { return shares.size() < 2 ? 0.01f : 0.002f; },
        [&](float) { shares.push_back(frame_share()); });
    for (size_t i = 1; i < shares.size(); ++i) EXPECT_GT(shares[i], shares[i - 1]);
    EXPECT_NEAR(shares[1], 0.01 * 24, 0.05);
    EXPECT_EQ(frame_share(), 1);
}

// ------------------------------------------------------------------------------------------------- frames with a step

TEST(FramesWithAStep, AreTheOnlyOnesThatFrameStagesCompute)
{
    const Workplace place;
    place.write("small.toml", small_scene());
    const std::string said = place.succeed({"run", "small.toml", "-o", "out", "--frames", "1-6x2"}).out;
    for (int frame = 1; frame <= 6; ++frame) {
        // The simulation computes and writes all frames up to the last wanted one.
        EXPECT_EQ(place.has(frame_path("out/liquid/liquid.####.vdb", frame)), frame <= 5) << frame;
        EXPECT_EQ(place.has(frame_path("out/surface/surface.####.ply", frame)), frame % 2 == 1) << frame;
        EXPECT_EQ(place.has(frame_path("out/render/render.####.png", frame)), frame % 2 == 1) << frame;
    }
    EXPECT_TRUE(contains(said, "render: 3 frames in ")) << said;
    EXPECT_TRUE(contains(place.succeed({"run", "small.toml", "-o", "out", "--frames", "1-5x4"}).out,
                         "render: 2 of 2 frames are already done\n"));
    place.succeed({"run", "small.toml", "-o", "out"});
    EXPECT_EQ(differences(undisturbed(), results_in(place / "out")), std::vector<std::string>());

    place.write("stepped.toml", small_scene().replace(small_scene().find("1-6"), 3, "1-6x2"));
    const RunResult wrong = place.run({"check", "stepped.toml"});
    EXPECT_EQ(wrong.code, 2);
    EXPECT_TRUE(contains(wrong.err, "stepped.toml:2:") && contains(wrong.err, "--frames 1-48x2")) << wrong.err;
}

// ------------------------------------------------------------------------------------------------------ single stages

TEST(Stages, RunAloneWithDefaultsWithoutATable)
{
    const Workplace place;
    const std::string scene = small_scene();
    place.write("bare.toml", scene.substr(0, scene.find("[surface]")));
    const std::vector<std::string> small = {"--set", "render.width=48",  "--set", "render.height=27",
                                            "--set", "render.samples=1", "--set", "render.floor=false"};
    place.succeed({"run", "bare.toml"});
    EXPECT_FALSE(place.has("out/bare/surface"));
    place.succeed({"surface", "bare.toml"});
    std::vector<std::string> render = {"render", "bare.toml"};
    render.insert(render.end(), small.begin(), small.end());
    place.succeed(render);
    EXPECT_TRUE(place.has("out/bare/bare.mp4"));
}

TEST(Stages, InputStagesWithoutATableAreRun)
{
    const Workplace place;
    std::string scene = small_scene();
    scene.erase(scene.find("[surface]"), 9);
    place.write("small.toml", scene);
    place.succeed({"run", "small.toml", "-o", "out"});
    EXPECT_EQ(differences(undisturbed(), results_in(place / "out")), std::vector<std::string>());
    // Rendering particles needs no surface.
    place.succeed({"run", "small.toml", "-o", "particles", "--set", "render.show=liquid"});
    EXPECT_FALSE(place.has("particles/surface"));
    EXPECT_TRUE(place.has("particles/render/render.0006.png"));
}

TEST(Stages, AMissingInputIsReportedWithTheCommandThatComputesIt)
{
    const Workplace place;
    place.write("small.toml", small_scene());
    const RunResult outcome = place.run({"render", "small.toml"});
    EXPECT_EQ(outcome.code, 1);
    EXPECT_EQ(outcome.err,
              "spindrift: out/small/surface/surface.0001.ply is missing; make it with: spindrift surface small.toml\n");
}

TEST(Stages, MeshesOfAnotherProgramAreRendered)
{
    const Workplace place;
    place.write(
        "other.toml",
        "[shot]\nframes = \"1-1\"\n[render]\ninput = \"water.####.ply\"\nwidth = 48\nheight = 27\nsamples = 1\n");
    place.write("water.0001.ply", finished_shot().read("out/surface/surface.0003.ply"));
    place.succeed({"run", "other.toml"});
    EXPECT_TRUE(place.has("out/other/render/render.0001.png"));
}

} // namespace

} // namespace spindrift
