// spindrift footage, transfer and enlarge.
#include "cli/program.h"
#include "spindrift/io/image.h"
#include "spindrift/io/mesh_file.h"
#include "spindrift/io/vdb.h"
#include "spindrift/video/video.h"

#include <fmt/format.h>

namespace spindrift {

namespace {

bool says(const RunResult& outcome, const std::string& words) { return outcome.err.find(words) != std::string::npos; }

} // namespace

TEST(VideoCommands, TransferKeepsLightAndShadeAndTakesTheColours)
{
    const Workplace place;
    place.succeed({"footage", "clouds", "--size", "64x48", "--frames", "1-6", "-o", "clouds.####.png"});
    place.succeed({"footage", "fire", "--size", "56x48", "--frames", "11-13", "-o", "fire.####.png"});
    const std::vector<std::string> transfer = {
        "transfer", "--texture", "clouds.####.png", "--onto", "fire.####.png", "--patch", "17", "-o"};
    const auto with = [&](std::vector<std::string> more) {
        std::vector<std::string> all = transfer;
        all.insert(all.end(), more.begin(), more.end());
        return all;
    };
    place.succeed(with({"one/out.####.png", "-j", "1"}));
    place.succeed(with({"two/out.####.png", "-j", "3"}));
    EXPECT_EQ(differences(results_in(place / "one"), results_in(place / "two")), std::vector<std::string>());
    const Video made = read_video(place / "one/out.####.png"), fire = read_video(place / "fire.####.png");
    ASSERT_EQ(made.frames.size(), 3u);
    EXPECT_EQ(made.first, 11);
    for (size_t f = 0; f < 3; ++f) {
        // Bright where the fire is, and blue where it is dark.
        double bright = 0, dark = 0, blue = 0, bright_count = 0, dark_count = 0;
        for (int y = 0; y < 48; ++y)
            for (int x = 0; x < 56; ++x) {
                const float* color = made.frames[f].at(x, y);
                const auto light = static_cast<double>(color[0] + color[1] + color[2]);
                const float there = fire.frames[f].at(x, y)[0];
                if (there > 0.8f) bright += light, ++bright_count;
                if (there < 0.02f) dark += light, ++dark_count, blue += static_cast<double>(color[2] - color[0]);
            }
        EXPECT_GT(bright / bright_count, 1.5 * dark / dark_count);
        EXPECT_GT(blue / dark_count, 0.15);
    }
}

TEST(VideoCommands, EnlargeWritesAllChannelsAVolumeAndAMesh)
{
    const Workplace place;
    place.succeed({"footage", "boiling", "--size", "32x32", "--frames", "1-5", "-o", "boiling.####.exr"});
    Image heat(48, 40);
    for (int y = 0; y < 40; ++y)
        for (int x = 0; x < 48; ++x) heat.at(x, y) = Vec3f::Constant(x < 24 ? 0.9f : 0.1f);
    write_image(place / "heat.exr", heat);
    place.succeed({"enlarge", "boiling.####.exr", "--guide", "heat.exr", "--patch", "17", "--still", "--frames", "1-3",
                   "-o", "out.####.exr", "--volume", "out.####.vdb", "--mesh", "out.####.ply", "--voxel", "0.02"});
    const Video video = read_video(place / "out.####.exr");
    ASSERT_EQ(video.frames.size(), 3u);
    ASSERT_EQ(video.frames[0].channels, 20);
    EXPECT_EQ(video.frames[0].width, 48);
    EXPECT_EQ(video.frames[0].height, 40);
    // The volume has the same distances, in metres, where they are within its band.
    const FieldFile volume = read_field(place / "out.0002.vdb", "surface");
    EXPECT_TRUE(volume.is_level_set);
    EXPECT_NEAR(volume.voxel, 0.02f, 1e-7f);
    int same = 0;
    for (int y = 0; y < 40; ++y)
        for (int x = 0; x < 48; ++x)
            for (int z = 0; z < 20; ++z) {
                const float d = video.frames[1].at(x, y)[z];
                if (std::abs(volume.field.at({x, z, y}) - 0.02f * d) < 0.02f * 0.01f) ++same;
            }
    EXPECT_EQ(same, 48 * 40 * 20);
    // The mesh encloses what is negative.
    const Mesh mesh = read_mesh(place / "out.0002.ply");
    double inside = 0;
    for (const float d : video.frames[1].values) inside += static_cast<double>(std::clamp(0.5f - d, 0.0f, 1.0f));
    EXPECT_NEAR(volume_of(mesh) / (0.02 * 0.02 * 0.02 * inside), 1, 0.05);
}

TEST(VideoCommands, GoOnAfterKills)
{
    const Workplace place;
    place.succeed({"footage", "clouds", "--size", "64x48", "--frames", "1-6", "-o", "clouds.####.png"});
    place.succeed({"footage", "fire", "--size", "56x48", "--frames", "11-15", "-o", "fire.####.png"});
    place.succeed({"footage", "boiling", "--size", "32x32", "--frames", "1-5", "-o", "boiling.####.exr"});
    write_image(place / "heat.exr", Image(40, 40));
    const std::vector<std::vector<std::string>> commands = {
        {"transfer", "--texture", "clouds.####.png", "--onto", "fire.####.png", "--patch", "17", "--history", "2", "-o",
         "out/made.####.jpg"},
        {"enlarge", "boiling.####.exr", "--guide", "heat.exr", "--patch", "17", "--still", "--frames", "1-4", "-o",
         "out/made.####.exr", "--mesh", "out/made.####.ply"}};
    for (const std::vector<std::string>& command : commands) {
        place.remove("out");
        place.succeed(command);
        const Files expected = results_in(place / "out");
        EXPECT_GT(expected.size(), 3u);
        EXPECT_FALSE(place.has("out/.made.####.jpg.state") || place.has("out/.made.####.exr.state"));
        expect_same_after_kills(place, command, "out", expected);
        const RunResult again = place.run(command); // it is complete
        EXPECT_TRUE(says(again, "exists already")) << again.err;
        // Frames of other settings are not continued.
        place.remove("out");
        Child(program_that_kills_itself("KILL_AT_CALL", 20, command), place.path()).wait();
        std::vector<std::string> other = command;
        other.insert(other.end(), {"--seed", "7"});
        const RunResult mixed = place.run(other);
        EXPECT_TRUE(mixed.code == 0 || says(mixed, "exists already")) << mixed.err;
    }
}

TEST(VideoCommands, RefuseBadOptionsBeforeTheyWork)
{
    const Workplace place;
    place.succeed({"footage", "ripples", "--size", "40x40", "--frames", "1-3", "-o", "a.####.png"});
    place.succeed({"footage", "boiling", "--size", "40x40", "--frames", "1-3", "-o", "b.####.exr"});
    const auto refused = [&](const std::vector<std::string>& command, const std::string& words) {
        const RunResult outcome = place.run(command);
        EXPECT_EQ(outcome.code, 2) << outcome.err;
        EXPECT_TRUE(says(outcome, words)) << outcome.err;
        EXPECT_FALSE(place.has("out.0001.png"));
    };
    refused({"footage", "fire", "-o", "out.png"}, "no frame number pattern");
    refused({"footage", "boiling", "-o", "out.####.png"}, "only .exr can hold");
    refused({"footage", "fire", "--size", "12", "-o", "out.####.png"}, "write WIDTHxHEIGHT");
    refused({"footage", "fire", "--frames", "1-3", "-o", "a.####.png"}, "a.0001.png exists already");
    refused({"footage", "fire", "--size", "4000x4000", "--frames", "1-100000", "-o", "out.####.png"}, "GB of memory");
    refused({"transfer", "--texture", "a.####.png", "--onto", "a.####.png", "-o", "a.####.png"}, "is the input");
    refused({"transfer", "--texture", "c.####.png", "--onto", "a.####.png", "-o", "out.####.png"}, "no file matches");
    refused({"transfer", "--texture", "a.####.png", "--onto", "a.####.png", "-o", "out.####.png", "--patch", "65"},
            "smaller than a square of 65");
    refused({"transfer", "--texture", "a.####.png", "--onto", "a.####.png", "-o", "out.####.png", "--history", "3"},
            "needs at least 4");
    refused({"transfer", "--texture", "a.####.png", "--onto", "a.####.png", "-o", "out.####.png", "--frames", "1-3x2"},
            "none may be left out");
    refused({"enlarge", "a.####.png", "-o", "out.####.png"}, "either --guide");
    refused({"enlarge", "a.####.png", "-o", "out.####.png", "--guide", "a.0001.png"}, "has no channel \"guide\"");
    refused({"enlarge", "b.####.exr", "-o", "out.####.exr", "--guide", "none.png"}, "there is no such file");
    refused({"enlarge", "b.####.exr", "-o", "out.####.exr", "--size", "64x64"}, "give the wanted values with --guide");
    refused({"enlarge", "b.####.exr", "-o", "out.####.png", "--guide", "a.0001.png"}, "only .exr can hold");
    refused({"enlarge", "a.####.png", "-o", "out.####.png", "--size", "64x64", "--mesh", "out.####.ply"},
            "a surface needs distances");
}

} // namespace spindrift
