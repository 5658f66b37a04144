// Computed frames are kept when settings change: a run with --set writes to its own version, a changed scene moves the
// old frames to a version, and returning to earlier settings restores their frames.
#include "cli/edited_scene.h"
#include "spindrift/io/frame_path.h"

#include <algorithm>
#include <regex>

namespace spindrift {

namespace {

using Names = std::vector<std::string>;

bool is_kept(const std::string& name) { return contains(name, "/versions/"); }

// All files except kept versions, records and the lock.
Files current(Files files)
{
    std::erase_if(files, [](const auto& file) {
        return is_kept(file.first) || contains(file.first, "spindrift.") || contains(file.first, ".lock");
    });
    return files;
}

// Names of kept files without the version id: "liquid/liquid.0001.vdb".
Names kept(const Files& files)
{
    Names names;
    for (const auto& [name, contents] : files)
        if (is_kept(name) && !contains(name, "spindrift."))
            names.push_back(std::regex_replace(name, std::regex("versions/[0-9a-f]{12}/"), ""));
    std::ranges::sort(names); // by file name, not by version id
    return names;
}

class Versions : public ::testing::Test {
  protected:
    void SetUp() override
    {
        place.write("small.toml", small_scene());
        place.succeed(run);
        before = current(times_in(place / "out"));
    }
    // Adds a line to one of the scene's tables.
    void edit(const std::string& table, const std::string& line) const
    {
        place.write("small.toml", small_scene_with(table, line));
    }
    void restore() const { place.write("small.toml", small_scene()); }
    Names changed() const { return differences(before, current(times_in(place / "out"))); }
    static void expect_nothing_made(const std::string& said, int frames = 6)
    {
        for (const std::string stage : {"liquid", "surface", "render"})
            EXPECT_TRUE(contains(said, fmt::format("{0}: {1} of {1} frames are already done\n", stage, frames)))
                << said;
    }

    const Workplace place;
    const std::vector<std::string> run = {"run", "small.toml", "-o", "out"};
    Files before;
};

// -------------------------------------------------------------------------------------------------- runs with --set

TEST_F(Versions, ARenderWithSetKeepsTheFinishedSequence)
{
    const std::vector<std::string> test = {"render",   "small.toml", "-o",    "out",
                                           "--frames", "1",          "--set", "render.width=48"};
    const std::string said = place.succeed(test).out;
    EXPECT_EQ(changed(), Names());
    EXPECT_EQ(kept(times_in(place / "out")), Names{"render/render.0001.png"});
    EXPECT_TRUE(contains(said, "render: width was 96 and is 48 now; this run has --set, so its frames go to "
                               "out/render/versions/"))
        << said;
    EXPECT_TRUE(contains(said, "; out/render (6 frames) is not changed\n")) << said;
    EXPECT_TRUE(contains(said, "1 version with other settings takes ")) << said;

    // Repeating the same test run computes nothing, and neither does the scene itself.
    EXPECT_TRUE(contains(place.succeed(test).out, "render: 1 of 1 frames are already done\n"));
    const RunResult again = place.succeed(run);
    expect_nothing_made(again.out);
    EXPECT_FALSE(contains(again.out, "version")) << again.out;
    EXPECT_EQ(changed(), Names());
}

TEST_F(Versions, ASimulationWithSetKeepsAllStages)
{
    const std::vector<std::string> test = {"run",      "small.toml", "-o",    "out",
                                           "--frames", "2",          "--set", "liquid.flip=0.5"};
    place.succeed(test);
    EXPECT_EQ(changed(), Names());
    EXPECT_EQ(kept(times_in(place / "out")), (Names{"liquid/liquid.0001.vdb", "liquid/liquid.0002.vdb",
                                                    "render/render.0002.png", "surface/surface.0002.ply"}));

    // A version is a complete cache: it resumes from its state and gives the same files as a separate folder.
    place.succeed({"run", "small.toml", "-o", "out", "--set", "liquid.flip=0.5"});
    place.succeed({"run", "small.toml", "-o", "apart", "--set", "liquid.flip=0.5"});
    EXPECT_EQ(changed(), Names());
    Files aside, apart = results_in(place / "apart");
    for (const auto& [name, contents] : results_in(place / "out"))
        if (is_kept(name)) aside[std::regex_replace(name, std::regex("versions/[0-9a-f]{12}/"), "")] = contents;
    for (const char* film : {"small.mp4", "small.contact.png"}) // these are beside the pictures of a version
        apart[std::string("render/") + film] = apart.at(film), apart.erase(film);
    EXPECT_EQ(differences(apart, aside), Names());
}

TEST_F(Versions, FramesOfARunWithSetAreReusedWhenTheSceneAdoptsItsSettings)
{
    place.succeed({"run", "small.toml", "-o", "out", "--set", "liquid.flip=0.5"});
    edit("liquid", "flip = 0.5");
    const std::string said = place.succeed(run).out;
    expect_nothing_made(said);
    EXPECT_TRUE(
        contains(said, "liquid: flip was 0.97 and is 0.5 now; 6 frames made before move to out/liquid/versions/"))
        << said;
    EXPECT_TRUE(contains(said, "; 6 frames with these settings are restored from out/liquid/versions/")) << said;
}

TEST_F(Versions, ARunWithSetIntoAnEmptyFolderBecomesTheCurrentVersion)
{
    place.succeed({"run", "small.toml", "-o", "fresh", "--frames", "1", "--set", "liquid.flip=0.5"});
    EXPECT_TRUE(place.has("fresh/render/render.0001.png"));
    place.succeed({"run", "small.toml", "-o", "fresh"});
    EXPECT_EQ(differences(undisturbed(), current(results_in(place / "fresh"))), Names());
    EXPECT_EQ(kept(times_in(place / "fresh")).size(), 3u);
}

// ---------------------------------------------------------------------------------------------------- a changed scene

TEST_F(Versions, ReturningToEarlierSettingsRestoresTheirFrames)
{
    const Files original = current(results_in(place / "out"));
    edit("liquid", "flip = 0.5");
    place.succeed(run);
    const Files other = current(results_in(place / "out"));
    EXPECT_GT(differences(original, other).size(), 10u); // the first frames are equal
    EXPECT_EQ(kept(times_in(place / "out")).size(), before.size());

    restore();
    expect_nothing_made(place.succeed(run).out);
    EXPECT_EQ(changed(), Names()); // not even the film
    EXPECT_EQ(differences(original, current(results_in(place / "out"))), Names());

    edit("liquid", "flip = 0.5");
    expect_nothing_made(place.succeed(run).out);
    EXPECT_EQ(differences(other, current(results_in(place / "out"))), Names());
}

TEST_F(Versions, ASingleStageReadsTheVersionThatMatchesItsSettings)
{
    edit("surface", "smoothing = 1");
    place.succeed(run);
    restore();
    // The surface with the old settings is kept in a version; the render was made from it.
    const std::string said = place.succeed({"render", "small.toml", "-o", "out"}).out;
    EXPECT_TRUE(contains(said, "render: 6 of 6 frames are already done\n")) << said;
    EXPECT_FALSE(contains(said, "another version")) << said;
}

TEST_F(Versions, AnotherProgramVersionDeletesNothing)
{
    for (const std::string stage : {"liquid", "surface", "render"}) {
        const std::string record = "out/" + stage + "/spindrift.record";
        const std::string line = "from version = 0.0.9"; // followed by its checksum
        place.write(record,
                    std::regex_replace(place.read(record), std::regex("from version = [^\n]*"),
                                       fmt::format("{} {:08x}", line, static_cast<uint32_t>(hash_bytes(line, 3)))));
    }
    const std::string said = place.succeed(run).out;
    EXPECT_TRUE(contains(said, "liquid: version was 0.0.9 and is ")) << said;
    EXPECT_EQ(kept(times_in(place / "out")).size(), before.size());
    EXPECT_EQ(differences(undisturbed(), current(results_in(place / "out"))), Names());
}

TEST_F(Versions, CheckReportsWhatARunWouldMoveAndChangesNothing)
{
    const Files all = times_in(place / "out");
    EXPECT_FALSE(contains(place.succeed({"check", "small.toml", "-o", "out"}).out, "version"));
    std::string said = place.succeed({"check", "small.toml", "-o", "out", "--set", "liquid.flip=0.5"}).out;
    EXPECT_TRUE(contains(said, "flip was 0.97 and is 0.5 now; this run has --set, so its frames go to")) << said;
    EXPECT_TRUE(contains(said, "liquid has changed; this run has --set, so its frames go to out/surface/")) << said;
    edit("liquid", "flip = 0.5");
    said = place.succeed({"check", "small.toml", "-o", "out"}).out;
    EXPECT_TRUE(contains(said, "flip was 0.97 and is 0.5 now; 6 frames made before move to out/liquid/versions/"))
        << said;
    EXPECT_TRUE(contains(said, "surface has changed; 6 frames made before move to out/render/versions/")) << said;
    EXPECT_EQ(differences(all, times_in(place / "out")), Names());
}

TEST_F(Versions, AFilmIsKeptAfterItsPicturesAreDeleted)
{
    const std::string film = place.read("out/small.mp4");
    for (int frame = 1; frame <= 6; ++frame) place.remove(fmt::format("out/render/render.{:04}.png", frame));
    edit("render", "exposure = 1");
    const std::string said = place.succeed(run).out;
    EXPECT_TRUE(contains(said, "the remains of frames made before move to out/render/versions/")) << said;
    EXPECT_EQ(kept(times_in(place / "out")), (Names{"render/small.contact.png", "render/small.mp4"}));
    EXPECT_NE(place.read("out/small.mp4"), film);
    restore(); // the pictures were deleted, the film was not
    place.succeed({"render", "small.toml", "-o", "out", "--frames", "1"});
    EXPECT_EQ(place.read("out/small.mp4"), film);
}

// If input files of another program or of an earlier stage were replaced, the frames made from them are overwritten and
// reported.
TEST_F(Versions, OverwrittenFramesAreReported)
{
    EXPECT_TRUE(contains(place.succeed({"check", "small.toml", "-o", "out"}).out, "6 of 6 frames are already done\n"));
    for (const char* file : {"out/liquid/liquid.0002.vdb", "out/liquid/liquid.0005.vdb"})
        place.write(file, place.read(file)); // a new file of the same size
    const std::string note = "2 frames from 2 to 5 are computed again and overwritten, because the input has changed";
    const Files all = times_in(place / "out");
    const std::string checked = place.succeed({"check", "small.toml", "-o", "out"}).out;
    EXPECT_TRUE(contains(checked, note)) << checked;
    EXPECT_EQ(differences(all, times_in(place / "out")), Names());
    const std::string said = place.succeed(run).out;
    EXPECT_TRUE(contains(said, "surface: " + note)) << said;
    EXPECT_TRUE(contains(said, "render: " + note)) << said;
    EXPECT_FALSE(contains(place.succeed(run).out, "made again"));
}

// ------------------------------------------------------------------------------------------- what can go wrong on disk

TEST_F(Versions, AKillDuringAMoveLosesNothing)
{
    place.remove("out");
    const auto scene = [&](bool other) {
        std::string text = small_scene();
        text.replace(text.find("1-6"), 3, "1-2");
        if (other) text.insert(text.find("[liquid]\n") + 9, "flip = 0.5\n");
        place.write("small.toml", text);
    };
    Files expected[2];
    for (const bool other : {true, false}) {
        scene(other);
        place.succeed(run);
        expected[other] = current(results_in(place / "out"));
    }
    int kills = 0;
    for (bool killed = true; killed; ++kills) {
        ASSERT_LT(kills, 200) << "the run never ended";
        scene(true);
        const RunResult outcome =
            Child(program_that_kills_itself("KILL_AT_RENAME", kills + 1, run), place.path()).wait();
        killed = outcome.code == -SIGKILL;
        EXPECT_TRUE(killed || outcome.code == 0) << outcome.err;
        // Alternate between continuing and returning to the old settings.
        for (const bool other : {kills % 2 == 0, kills % 2 != 0, false}) {
            scene(other);
            const std::string said = place.succeed(run).out;
            expect_nothing_made(said, 2);
            ASSERT_EQ(differences(expected[other], current(results_in(place / "out"))), Names()) << "kill " << kills;
        }
        EXPECT_EQ(leftovers_in(place / "out"), Names());
    }
    EXPECT_GT(kills, 20);
}

TEST_F(Versions, ForeignFilesAreNeverMovedOrOverwritten)
{
    place.write("out/render/notes.txt", "mine");
    edit("render", "exposure = 1");
    place.succeed(run);
    EXPECT_EQ(place.read("out/render/notes.txt"), "mine");
    const Names versions = [&] {
        Names names;
        for (const auto& entry : std::filesystem::directory_iterator(place / "out/render/versions"))
            names.push_back(entry.path().filename().string());
        return names;
    }();
    ASSERT_EQ(versions.size(), 1u);
    restore();
    place.succeed(run);

    // A file of another program where the current frames would be moved to.
    const std::string blocked = "out/render/versions/" + versions[0] + "/render.0003.png";
    place.write(blocked, "somebody's work");
    edit("render", "exposure = 1");
    const Files all = times_in(place / "out");
    const RunResult outcome = place.run(run);
    EXPECT_EQ(outcome.code, 1);
    EXPECT_TRUE(contains(outcome.err, blocked + " is in the way of out/render/render.0003.png")) << outcome.err;
    EXPECT_EQ(differences(all, times_in(place / "out")), Names());
    place.remove(blocked);
    expect_nothing_made(place.succeed(run).out);
}

TEST_F(Versions, AFullDiskLeavesTheCurrentVersionInPlace)
{
    edit("render", "exposure = 1");
    const size_t record = place.read("out/render/spindrift.record").size();
    const RunResult outcome = place.run(run, record - 1); // even the record does not fit
    EXPECT_EQ(outcome.code, 1);
    EXPECT_TRUE(contains(outcome.err, "cannot write out/render/versions/")) << outcome.err;
    EXPECT_EQ(changed(), Names());
    restore();
    expect_nothing_made(place.succeed(run).out);
}

// ---------------------------------------------------------------------------------------------- listing and deleting

TEST_F(Versions, AreListedAndDeleted)
{
    const std::vector<std::string> list = {"versions", "small.toml", "-o", "out"};
    EXPECT_EQ(place.succeed(list).out, "out has no frames with other settings\n");
    place.succeed({"run", "small.toml", "-o", "out", "--frames", "2", "--set", "liquid.flip=0.5"});
    const std::string text = place.succeed(list).out;
    std::smatch id;
    ASSERT_TRUE(std::regex_search(text, id, std::regex("liquid +([0-9a-f]{12}) ")));
    EXPECT_TRUE(contains(text, "2 frames, 1-2   flip was 0.5 and is 0.97 now\n")) << text;
    EXPECT_TRUE(contains(text, "frame 2   surface has changed\n")) << text;
    EXPECT_TRUE(contains(text, "3 versions with other settings take ")) << text;

    // Two settings that differ are both listed.
    place.succeed({"render", "small.toml", "-o", "out", "--frames", "1", "--set", "render.width=48", "--set",
                   "render.samples=1"});
    const std::string more = place.succeed(list).out;
    EXPECT_TRUE(contains(more, "frame 1   width was 48 and is 96 now; samples was 1 and is 2 now\n")) << more;

    const RunResult wrong = place.run({"versions", "small.toml", "-o", "out", "--delete", "nonsense"});
    EXPECT_EQ(wrong.code, 2);
    EXPECT_TRUE(contains(wrong.err, "--delete nonsense: there is no such version; there are: ")) << wrong.err;
    place.succeed({"versions", "small.toml", "-o", "out", "--delete", id[1]});
    EXPECT_EQ(kept(times_in(place / "out")),
              (Names{"render/render.0001.png", "render/render.0002.png", "surface/surface.0002.ply"}));

    for (const auto& entry : std::filesystem::directory_iterator(place / "out/render/versions"))
        write_file(entry.path().string() + "/notes.txt", "mine");
    const std::string said = place.succeed({"versions", "small.toml", "-o", "out", "--delete", "all"}).out;
    EXPECT_EQ(kept(times_in(place / "out")), (Names{"render/notes.txt", "render/notes.txt"}));
    EXPECT_TRUE(contains(said, " still holds files of other programs\n")) << said;
    EXPECT_FALSE(place.has("out/surface/versions"));
    EXPECT_EQ(changed(), Names());
    expect_nothing_made(place.succeed(run).out);
    const RunResult nowhere = place.run({"versions", "other.toml"});
    EXPECT_EQ(nowhere.code, 2);
    EXPECT_TRUE(contains(nowhere.err, "there is no folder out/other")) << nowhere.err;
}

} // namespace

} // namespace spindrift
