// Disk problems while a shot is computed: each error names the file and leaves existing files alone, and the run
// resumes once the cause is removed.
#include "cli/edited_scene.h"

#include <fstream>

namespace spindrift {

namespace {

class Trouble : public ::testing::Test {
  protected:
    void SetUp() override { place.write("small.toml", small_scene()); }

    // The only message of a run that must fail.
    std::string failure(const std::vector<std::string>& arguments, rlim_t file_limit = RLIM_INFINITY)
    {
        const RunResult outcome = place.run(arguments, file_limit);
        EXPECT_EQ(outcome.code, 1) << outcome.out << outcome.err;
        EXPECT_TRUE(outcome.err.starts_with("spindrift: ")) << outcome.err;
        EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
        return outcome.err;
    }
    // Runs again after the cause is removed.
    void expect_to_finish()
    {
        place.succeed(run);
        EXPECT_EQ(differences(undisturbed(), results_in(place / "out")), std::vector<std::string>());
        EXPECT_EQ(leftovers_in(place / "out"), std::vector<std::string>());
    }

    Workplace place;
    const std::vector<std::string> run = {"run", "small.toml", "-o", "out"};
};

TEST_F(Trouble, ATruncatedFrameIsReportedAndKept)
{
    place.succeed(run);
    for (const std::string file :
         {"out/liquid/liquid.0003.vdb", "out/surface/surface.0002.ply", "out/render/render.0006.png"}) {
        const std::string whole = place.read(file);
        place.write(file, whole.substr(0, whole.size() / 2));
        const Files before = times_in(place / "out");
        const std::string message = failure(run);
        EXPECT_TRUE(contains(message, file + " is damaged: it has ")) << message;
        EXPECT_TRUE(contains(message, "Delete it")) << message;
        EXPECT_EQ(differences(before, times_in(place / "out")), std::vector<std::string>());
        place.remove(file);
        expect_to_finish();
    }
}

TEST_F(Trouble, ADamagedFrameOfTheRightSizeIsReportedWhenRead)
{
    place.succeed({"liquid", "small.toml", "-o", "out"});
    std::string bytes = place.read("out/liquid/liquid.0004.vdb");
    bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
    place.write("out/liquid/liquid.0004.vdb", bytes);
    const std::string message = failure(run);
    EXPECT_TRUE(contains(message, "out/liquid/liquid.0004.vdb")) << message;
    EXPECT_TRUE(place.has("out/surface/surface.0003.ply"));
    place.remove("out/liquid/liquid.0004.vdb");
    expect_to_finish();
}

TEST_F(Trouble, AForeignFileInTheWayIsReportedBeforeTheRunAndKept)
{
    for (const std::string file :
         {"out/liquid/liquid.0005.vdb", "out/surface/surface.0006.ply", "out/render/render.0001.png"}) {
        place.remove("out");
        place.write(file, "somebody's work");
        const std::string message = failure(run);
        EXPECT_TRUE(contains(message, file + " is in the way: it was not written by this shot")) << message;
        EXPECT_EQ(place.read(file), "somebody's work");
        EXPECT_FALSE(place.has("out/liquid/liquid.0001.vdb"));
    }
    place.remove("out/render/render.0001.png");
    place.write("out/liquid/notes.tmp", "not ours");
    place.succeed(run);
    EXPECT_EQ(place.read("out/liquid/notes.tmp"), "not ours");
}

TEST_F(Trouble, AReplacedFrameIsNotMovedWithTheOutdatedOnes)
{
    place.succeed(run);
    place.write("out/render/render.0002.png", "painted over");
    place.write("small.toml", small_scene_with("render", "exposure = 1"));
    const std::string message = failure(run);
    EXPECT_TRUE(contains(message, "out/render/render.0002.png is damaged")) << message;
    EXPECT_EQ(place.read("out/render/render.0002.png"), "painted over");
    EXPECT_TRUE(place.has("out/render/render.0001.png"));
}

TEST_F(Trouble, AForeignRecordIsKept)
{
    place.write("out/liquid/spindrift.record", "my own notes\n");
    const std::string message = failure(run);
    EXPECT_TRUE(contains(message, "out/liquid/spindrift.record was not written by this version of the program"))
        << message;
    EXPECT_EQ(place.read("out/liquid/spindrift.record"), "my own notes\n");
    place.remove("out");
    expect_to_finish();
}

TEST_F(Trouble, ATruncatedRecordIsRepaired)
{
    place.succeed({"liquid", "small.toml", "-o", "out", "--frames", "1-4"});
    const std::string record = place.read("out/liquid/spindrift.record");
    for (size_t cut = 1; cut < 12; cut += 2) {
        place.write("out/liquid/spindrift.record", record.substr(0, record.size() - cut));
        place.succeed({"liquid", "small.toml", "-o", "out", "--frames", "1-4"});
    }
    expect_to_finish();
}

TEST_F(Trouble, ADamagedStateOnlyCostsTime)
{
    place.succeed({"liquid", "small.toml", "-o", "out", "--frames", "1-4"});
    std::string state = place.read("out/liquid/spindrift.state");
    state[state.size() / 2] = static_cast<char>(state[state.size() / 2] ^ 1);
    place.write("out/liquid/spindrift.state", state);
    expect_to_finish();
}

TEST_F(Trouble, AFileInPlaceOfAFolderIsReported)
{
    place.write("out", "a file");
    EXPECT_TRUE(contains(failure(run), "cannot make the folder out: "));
    EXPECT_EQ(place.read("out"), "a file");
    place.remove("out");
    place.write("out/liquid", "a file");
    const std::string message = failure(run);
    EXPECT_TRUE(contains(message, "cannot write out/liquid/")) << message;
    EXPECT_TRUE(contains(message, "part of the path is a file, not a folder")) << message;
    EXPECT_EQ(place.read("out/liquid"), "a file");
    place.remove("out/liquid");
    expect_to_finish();
}

TEST_F(Trouble, AFullDiskLeavesEarlierFramesIntact)
{
    // The largest file of the simulation is its state.
    place.succeed({"liquid", "small.toml", "-o", "out", "--frames", "1-3"});
    const Files before = results_in(place / "out");
    const std::string message = failure(run, 100000);
    EXPECT_TRUE(contains(message, "cannot write out/liquid/spindrift.state: the file is larger than the system allows"))
        << message;
    EXPECT_EQ(differences(before, results_in(place / "out")), std::vector<std::string>());
    EXPECT_EQ(leftovers_in(place / "out"), std::vector<std::string>());
    expect_to_finish();
}

TEST_F(Trouble, ADiskThatFillsUpDuringAStageReportsTheFrame)
{
    // The surface grows as the dam breaks.
    const size_t first = undisturbed().at("surface/surface.0001.ply").size();
    const size_t last = undisturbed().at("surface/surface.0006.ply").size();
    ASSERT_LT(first, last);
    place.succeed({"liquid", "small.toml", "-o", "out"});
    const std::string message = failure(run, last - 1);
    EXPECT_TRUE(contains(message, "cannot write out/surface/surface.000")) << message;
    EXPECT_TRUE(place.has("out/surface/surface.0001.ply"));
    EXPECT_FALSE(place.has("out/surface/surface.0006.ply"));
    EXPECT_EQ(leftovers_in(place / "out"), std::vector<std::string>());
    expect_to_finish();
}

TEST_F(Trouble, ASecondRunInTheSameFolderRefusesAndTheFirstIsUndisturbed)
{
    Child first(program_command(run), place.path());
    while (first.is_running() && !place.has("out/liquid/liquid.0001.vdb")) std::this_thread::yield();
    ASSERT_TRUE(first.is_running());
    first.send(SIGSTOP);
    const std::string message = failure(run);
    EXPECT_TRUE(
        contains(message, "another run is working in out; wait for it to end, or choose another folder with -o"))
        << message;
    place.succeed({"run", "small.toml", "-o", "elsewhere", "--frames", "1"});
    first.send(SIGCONT);
    const RunResult outcome = first.wait();
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(differences(undisturbed(), results_in(place / "out")), std::vector<std::string>());
}

TEST_F(Trouble, AMissingFfmpegIsReported)
{
    // The program itself does not need PATH.
    const std::vector<std::string> command = {
        "/usr/bin/env", "PATH=/nowhere", program_path(), "run", "small.toml", "-o", "out"};
    const RunResult outcome = Child(command, place.path()).wait();
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_TRUE(contains(outcome.out, "no film: ffmpeg was not found; install it")) << outcome.out;
    EXPECT_TRUE(place.has("out/small.contact.png"));
    EXPECT_FALSE(place.has("out/small.mp4"));
    expect_to_finish();
}

TEST_F(Trouble, FramesOfAnOlderSceneAreNotReused)
{
    place.succeed(run);
    const RunResult outcome = place.succeed({"surface", "small.toml", "-o", "out", "--set", "liquid.flip=0.5"});
    EXPECT_TRUE(contains(outcome.out,
                         "surface: reads frames of another version of the scene (liquid: flip was 0.97 and "
                         "is 0.5 now); bring them up to date with: spindrift liquid small.toml\n"))
        << outcome.out;
}

} // namespace

} // namespace spindrift
