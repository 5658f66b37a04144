// Videos from image sequences and films, good and bad.
#include "spindrift/video/video.h"

#include "io/temp_folder.h"
#include "spindrift/base/error.h"
#include "spindrift/io/atomic_file.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <sys/stat.h>

namespace spindrift {

namespace {

// A grey that grows from frame to frame, with a bright square in one place.
Image picture(int frame, int width = 64, int height = 48)
{
    Image image(width, height);
    for (Vec3f& p : image.pixels) p = Vec3f::Constant(0.05f * static_cast<float>(frame));
    for (int y = 8; y < 24; ++y)
        for (int x = 8; x < 40; ++x) image.at(x, y) = {0.9f, 0.4f, 0.1f};
    return image;
}

class Videos : public ::testing::Test {
  protected:
    void write_pictures(const std::string& name, int first, int last, int width = 64, int height = 48) const
    {
        for (int f = first; f <= last; ++f)
            write_image(folder / fmt::format("{}.{:04}.png", name, f), picture(f, width, height));
    }
    std::string write_film(const std::string& name, int frames, int width = 64, int height = 48) const
    {
        write_pictures(name, 1, frames, width, height);
        std::vector<std::string> paths;
        for (int f = 1; f <= frames; ++f) paths.push_back(folder / fmt::format("{}.{:04}.png", name, f));
        const std::string film = folder / (name + ".mp4");
        write_movie(film, paths, 24);
        return film;
    }
    // Expects bad input with these words.
    static void refused(const std::string& path, const std::string& words, const std::optional<FrameRange>& frames = {})
    {
        try {
            read_video(path, frames);
            FAIL() << path << " was read";
        } catch (const Error& error) {
            EXPECT_EQ(error.code, ExitCode::bad_input);
            EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
            EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
        }
    }
    TempFolder folder;
};

} // namespace

TEST_F(Videos, OfFilmsHaveTheColoursThatWereWritten)
{
    const std::string film = write_film("film", 12);
    const Video video = read_video(film);
    ASSERT_EQ(video.frames.size(), 12u);
    for (int f = 1; f <= 12; ++f) {
        const Raster& frame = video.frames[f - 1];
        ASSERT_EQ(frame.width, 64);
        ASSERT_EQ(frame.height, 48);
        for (int c = 0; c < 3; ++c) {
            EXPECT_NEAR(frame.at(52, 36)[c], 0.05f * static_cast<float>(f), 0.02f);
            EXPECT_NEAR(frame.at(24, 16)[c], picture(1).at(24, 16)[c], 0.06f);
        }
    }
    const Video part = read_video(film, FrameRange{5, 7, 1});
    ASSERT_EQ(part.frames.size(), 3u);
    EXPECT_EQ(part.first, 5);
    EXPECT_EQ(part.frames[0].values, video.frames[4].values);
}

TEST_F(Videos, OfFilmsThatCannotBeReadAreRefusedWithAReason)
{
    const std::string film = write_film("film", 30);
    refused(folder / "none.mp4", "there is no film");
    refused(film, "ends after frame 30", FrameRange{10, 40, 1});
    refused(film, "counted from 1", FrameRange{0, 4, 1});
    refused(folder / "film.txt", "neither an image sequence");

    const std::string bytes = read_file(write_film("long", 120));
    write_file(folder / "cut.mp4", std::string_view(bytes).substr(0, bytes.size() * 9 / 10));
    refused(folder / "cut.mp4", "cut.mp4 is damaged after frame");
    // The message says how to go on.
    try {
        read_video(folder / "cut.mp4");
    } catch (const Error& error) {
        const std::string message = error.what();
        const std::string command = message.substr(message.find("ffmpeg -i"));
        ASSERT_EQ(std::system(("cd " + folder.path() + " && " + command + " 2> log < /dev/null").c_str()), 0);
        EXPECT_GT(read_video(folder / "shorter.mp4").frames.size(), 50u);
    }
    write_file(folder / "noise.mp4", std::string(5000, 'x'));
    refused(folder / "noise.mp4", "cannot be read as a film");
    write_file(folder / "empty.mp4", "");
    refused(folder / "empty.mp4", "cannot be read as a film");
    // A playlist would make ffmpeg open other files.
    write_file(folder / "list.mp4", "#EXTM3U\n#EXTINF:1,\n" + film + "\n");
    refused(folder / "list.mp4", "cannot be read as a film");
    write_file(folder / "concat.mp4", "ffconcat version 1.0\nfile " + film + "\n");
    refused(folder / "concat.mp4", "cannot be read as a film");

    ASSERT_EQ(::mkfifo((folder / "pipe.mp4").c_str(), 0600), 0);
    refused(folder / "pipe.mp4", "not a plain file");
    std::filesystem::create_directory(folder / "folder.mp4");
    refused(folder / "folder.mp4", "not a plain file");
}

TEST_F(Videos, OfFilmsWhoseFramesChangeSizeAreRefused)
{
    const std::string small = write_film("small", 3), large = write_film("large", 3, 96, 48);
    const std::string both = folder / "both.mkv";
    for (const std::string& film : {small, large}) {
        const std::string command = "ffmpeg -nostdin -loglevel error -y -i " + film +
                                    " -c copy -bsf:v h264_mp4toannexb -f h264 " + film + ".h264 && cat " + film +
                                    ".h264 >> " + both;
        ASSERT_EQ(std::system(command.c_str()), 0);
    }
    refused(both, "is 96 x 48 pixels, but earlier ones are 64 x 48");
}

TEST_F(Videos, OfSequencesNeedAllFramesOfOneSize)
{
    write_pictures("a", 3, 8);
    const Video video = read_video(folder / "a.####.png");
    ASSERT_EQ(video.frames.size(), 6u);
    EXPECT_EQ(video.first, 3);
    EXPECT_NEAR(video.frames[1].at(0, 0)[0], 0.2f, 0.004f);
    refused(folder / "none.####.png", "no file matches");
    refused(folder / "a.####.png", "a.0009.png is missing", FrameRange{5, 9, 1});
    std::filesystem::remove(folder / "a.0005.png");
    refused(folder / "a.####.png", "a.0005.png is missing");
    write_image(folder / "a.0005.png", picture(5, 60, 48));
    refused(folder / "a.####.png", "a.0005.png is 60 x 48 pixels");
    write_file(folder / "a.0005.png", "not a picture");
    refused(folder / "a.####.png", "a.0005.png");
}

TEST_F(Videos, KeepAnyChannelsAndTheGuideInExr)
{
    Raster frame(9, 5, 7);
    for (size_t i = 0; i < frame.values.size(); ++i) frame.values[i] = 0.25f * static_cast<float>(i % 37) - 3;
    frame.guide.resize(frame.pixels());
    for (size_t i = 0; i < frame.guide.size(); ++i) frame.guide[i] = 0.125f * static_cast<float>(i % 8);
    std::vector<std::string> names;
    for (int c = 0; c < 7; ++c) names.push_back(fmt::format("distance.{:02}", c));
    for (int f = 1; f <= 2; ++f) write_video_frame(folder / "d.####.exr", f, frame, names);
    const Video video = read_video(folder / "d.####.exr");
    ASSERT_EQ(video.frames.size(), 2u);
    EXPECT_EQ(video.channels, names);
    EXPECT_EQ(video.frames[1].values, frame.values);
    EXPECT_EQ(video.frames[1].guide, frame.guide);

    frame.guide.clear();
    write_video_frame(folder / "d.####.exr", 2, frame, names);
    refused(folder / "d.####.exr", "d.0002.exr has 7 channels, but the first frame of the video has 7 and a guide");
}

} // namespace spindrift
