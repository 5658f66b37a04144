#include "cli/edited_scene.h"
#include "spindrift/base/random.h"
#include "spindrift/io/frame_path.h"

#include <regex>

namespace spindrift {

namespace {

constexpr int kEnoughRuns = 200; // more than any test needs; prevents an endless loop

// Restarts the run until it finishes without being killed; start(number of kills so far) starts it, and may kill it.
// Returns the number of kills.
template <class Start> int run_until_done(const Start& start)
{
    for (int killed = 0; killed < kEnoughRuns; ++killed) {
        const RunResult outcome = start(killed);
        if (outcome.code == -SIGKILL) continue;
        EXPECT_EQ(outcome.code, 0) << outcome.err;
        return killed;
    }
    ADD_FAILURE() << "the run never ended";
    return kEnoughRuns;
}

const std::vector<std::string> kRun = {"run", "small.toml", "-o", "out"};

TEST(Resume, AfterKillsAtAnyMomentFilesAreByteIdentical)
{
    const Workplace place;
    place.write("small.toml", small_scene());
    place.succeed(kRun);
    const Files expected = results_in(place / "out");

    Random random(20);
    int kills = 0;
    for (int trial = 0; trial < 5; ++trial) {
        place.remove("out");
        kills += run_until_done([&](int killed) {
            const int at = 1 + static_cast<int>(60 * random.uniform()) + 3 * killed; // later each time
            return Child(program_that_kills_itself("KILL_AT_CALL", at, kRun), place.path()).wait();
        });
        ASSERT_EQ(differences(expected, results_in(place / "out")), std::vector<std::string>()) << "trial " << trial;
        EXPECT_EQ(leftovers_in(place / "out"), std::vector<std::string>());
    }
    EXPECT_GT(kills, 5);
}

TEST(Resume, AfterKillsDuringWritingFilesAreByteIdentical)
{
    const Workplace place;
    place.write("small.toml", small_scene());
    // Kill as soon as a new temporary file appears: in the middle of a write.
    std::map<std::string, int> seen; // by folder
    const int kills = run_until_done([&](int) {
        Child child(program_command(kRun), place.path());
        const auto must_die = [&] {
            try {
                for (const std::string& name : leftovers_in(place / "out")) {
                    const std::string folder = std::filesystem::path(name).parent_path().string();
                    if (seen[folder] < 6) return ++seen[folder] > 0;
                }
            } catch (const std::exception&) { // the folder does not exist yet, or a file was removed
            }
            return false;
        };
        while (child.is_running())
            if (must_die()) {
                child.send(SIGKILL);
                break;
            }
        return child.wait();
    });
    EXPECT_GT(kills, 6);
    EXPECT_EQ(differences(undisturbed(), results_in(place / "out")), std::vector<std::string>());
    EXPECT_EQ(leftovers_in(place / "out"), std::vector<std::string>());
}

TEST(Resume, AnInterruptedRunSaysHowToResumeAndResumes)
{
    const Workplace place;
    place.write("long.toml", small_scene());
    const std::vector<std::string> arguments = {"liquid", "long.toml", "-o", "out", "--set", "shot.frames=\"1-40\""};
    for (const int signal : {SIGINT, SIGTERM}) {
        place.remove("out");
        Child child(program_command(arguments), place.path());
        while (child.is_running() && !place.has("out/liquid/liquid.0004.vdb")) std::this_thread::yield();
        child.send(signal);
        const RunResult outcome = child.wait();
        EXPECT_EQ(outcome.code, 130);
        EXPECT_EQ(outcome.err,
                  "spindrift: interrupted; run the same command again to resume from the last complete frame\n");
        EXPECT_FALSE(place.has("out/liquid/liquid.0040.vdb"));
        EXPECT_EQ(leftovers_in(place / "out"), std::vector<std::string>());
    }
    EXPECT_TRUE(contains(place.succeed(arguments).out, " of 40 frames are already done"));
    const Files resumed = results_in(place / "out");
    place.remove("out");
    place.succeed(arguments);
    EXPECT_EQ(resumed.size(), 40u);
    EXPECT_EQ(differences(resumed, results_in(place / "out")), std::vector<std::string>());
}

TEST(Resume, AnInterruptDoesNotWaitForALongFrame)
{
    const Workplace place;
    place.write("long.toml", small_scene());
    // A picture that would take many minutes.
    Child child(program_command({"run", "long.toml", "-o", "out", "--frames", "1", "--set", "render.width=1920",
                                 "--set", "render.height=1080", "--set", "render.samples=4096"}),
                place.path());
    while (child.is_running() && !place.has("out/render/spindrift.record")) std::this_thread::yield();
    child.send(SIGINT);
    EXPECT_TRUE(child.ends_within(20));
    EXPECT_EQ(child.wait().code, 130);
    EXPECT_FALSE(place.has("out/render/render.0001.png"));
}

// ------------------------------------------------------------------------------------------- what is computed again

// A finished shot, and the frames that change when it is run again.
class UpToDate : public ::testing::Test {
  protected:
    void SetUp() override
    {
        place.write("small.toml", small_scene());
        place.succeed(kRun);
        before = times_in(place / "out");
    }
    // Current frames that a run of this scene rewrites.
    std::vector<std::string> rewritten(const std::string& scene = small_scene())
    {
        place.write("small.toml", scene);
        said = place.succeed(kRun).out;
        std::vector<std::string> names;
        for (const std::string& name : differences(before, times_in(place / "out")))
            if (!name.ends_with(".lock") && !contains(name, "spindrift.") && !contains(name, "/versions/"))
                names.push_back(name);
        return names;
    }
    static std::vector<std::string> all_of(const std::vector<std::string>& patterns)
    {
        std::vector<std::string> names;
        for (const std::string& pattern : patterns)
            for (int frame = 1; frame <= 6; ++frame) names.push_back(frame_path(pattern, frame));
        return names;
    }

    Workplace place;
    Files before;
    std::string said;
    const std::string liquid = "liquid/liquid.####.vdb", surface = "surface/surface.####.ply",
                      render = "render/render.####.png";
    const std::vector<std::string> film = {"small.contact.png", "small.mp4"};
};

TEST_F(UpToDate, ARerunDoesNothing)
{
    EXPECT_EQ(rewritten(), std::vector<std::string>());
    EXPECT_EQ(differences(before, times_in(place / "out")), std::vector<std::string>());
    for (const char* stage : {"liquid", "surface", "render"})
        EXPECT_TRUE(contains(said, std::string(stage) + ": 6 of 6 frames are already done\n")) << said;
}

TEST_F(UpToDate, ALiquidParameterChangesEverything)
{
    std::vector<std::string> expected = all_of({liquid, render});
    expected.insert(expected.end(), film.begin(), film.end());
    for (const std::string& name : all_of({surface})) expected.push_back(name);
    EXPECT_EQ(rewritten(small_scene_with("liquid", "flip = 0.5")), expected);
    EXPECT_TRUE(contains(said, "liquid: flip was 0.97 and is 0.5 now; 6 frames made before move to ")) << said;
}

TEST_F(UpToDate, TheSmallestChangeOfANumberCounts)
{
    EXPECT_TRUE(rewritten(small_scene_with("shot", "fps = 24.000000")).empty());
    EXPECT_EQ(rewritten(small_scene_with("shot", "fps = 24.000002")).size(), 20u); // the next float
}

TEST_F(UpToDate, ARenderParameterChangesOnlyPictures)
{
    std::vector<std::string> expected = all_of({render});
    expected.insert(expected.end(), film.begin(), film.end());
    EXPECT_EQ(rewritten(small_scene_with("render", "exposure = 1")), expected);
    EXPECT_TRUE(contains(said, "liquid: 6 of 6 frames are already done\n")) << said;
    EXPECT_TRUE(contains(said, "render: exposure was 0 and is 1 now; 6 frames made before move to ")) << said;
}

TEST_F(UpToDate, ADeletedFrameAndItsDependentsAreComputedAgain)
{
    place.remove("out/liquid/liquid.0003.vdb");
    const std::vector<std::string> expected = {"liquid/liquid.0003.vdb", "render/render.0003.png", film[0], film[1],
                                               "surface/surface.0003.ply"};
    EXPECT_EQ(rewritten(), expected);
    EXPECT_TRUE(contains(said, "liquid: frame 3 is missing; computing again from frame 1\n")) << said;
    EXPECT_EQ(differences(undisturbed(), results_in(place / "out")), std::vector<std::string>());
}

TEST_F(UpToDate, AReplacedInputFileIsUsed)
{
    place.write("out/surface/other.ply", place.read("out/surface/surface.0002.ply"));
    std::filesystem::rename(place / "out/surface/other.ply", place / "out/surface/surface.0002.ply");
    const std::vector<std::string> expected = {"render/render.0002.png", film[0], film[1]};
    place.succeed({"render", "small.toml", "-o", "out"});
    std::vector<std::string> changed;
    for (const std::string& name : differences(before, times_in(place / "out")))
        if (!contains(name, "spindrift.") && name != "surface/surface.0002.ply") changed.push_back(name);
    EXPECT_EQ(changed, expected);
}

TEST_F(UpToDate, InputsMayBeDeletedToSaveSpace)
{
    place.remove("out/liquid");
    EXPECT_TRUE(
        contains(place.succeed({"surface", "small.toml", "-o", "out"}).out, "surface: 6 of 6 frames are already done"));
    // Frames that can no longer be computed are kept.
    const RunResult outcome = place.run({"surface", "small.toml", "-o", "out", "--set", "surface.smoothing=1"});
    EXPECT_EQ(outcome.code, 1);
    EXPECT_EQ(outcome.err,
              "spindrift: out/liquid/liquid.0001.vdb is missing; make it with: spindrift liquid small.toml\n");
    EXPECT_TRUE(place.has("out/surface/surface.0006.ply"));
    // A deleted surface cannot be computed again without the liquid.
    place.remove("out/surface/surface.0004.ply");
    EXPECT_EQ(place.run({"surface", "small.toml", "-o", "out"}).code, 1);
}

TEST_F(UpToDate, SwitchingFormatsLeavesNothingBehind)
{
    const std::string exr = std::regex_replace(small_scene_with("surface", "sdf = true"), std::regex("\\[render\\]\n"),
                                               "[render]\nformat = \"exr\"\n");
    rewritten(exr);
    for (int frame = 1; frame <= 6; ++frame) {
        EXPECT_FALSE(place.has("out/" + frame_path(render, frame)));
        EXPECT_TRUE(place.has("out/" + frame_path("render/render.####.exr", frame)));
        EXPECT_TRUE(place.has("out/" + frame_path("surface/surface.####.vdb", frame)));
    }
    EXPECT_TRUE(contains(said, "contact sheet: out/small.contact.png\n")) << said;

    // Each of a frame's files is noticed when it is missing.
    place.remove("out/surface/surface.0002.vdb");
    before = times_in(place / "out");
    EXPECT_EQ(rewritten(exr), (std::vector<std::string>{"render/render.0002.exr", film[0], "surface/surface.0002.ply",
                                                        "surface/surface.0002.vdb"}));

    rewritten();
    place.succeed({"versions", "small.toml", "-o", "out", "--delete", "all"});
    EXPECT_EQ(differences(undisturbed(), results_in(place / "out")), std::vector<std::string>());
}

TEST_F(UpToDate, ADeletedFilmIsMadeAgain)
{
    place.remove("out/small.mp4");
    EXPECT_EQ(rewritten(), std::vector<std::string>{"small.mp4"});
}

} // namespace

} // namespace spindrift
