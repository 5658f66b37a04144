#include "spindrift/io/image.h"

#include "spindrift/io/atomic_file.h"
#include "temp_folder.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

using namespace spindrift;

namespace {

Image gradient(int width, int height)
{
    Image image(width, height);
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x)
            image.at(x, y) = Vec3f(static_cast<float>(x) / static_cast<float>(width),
                                   static_cast<float>(y) / static_cast<float>(height), 0.25f);
    return image;
}

Image plain(int width, int height, const Vec3f& color)
{
    Image image(width, height);
    std::fill(image.pixels.begin(), image.pixels.end(), color);
    return image;
}

float largest_difference(const Image& a, const Image& b)
{
    EXPECT_EQ(a.width, b.width);
    EXPECT_EQ(a.height, b.height);
    float largest = 0;
    for (size_t i = 0; i < a.pixels.size(); ++i)
        largest = std::max(largest, (a.pixels[i] - b.pixels[i]).cwiseAbs().maxCoeff());
    return largest;
}

// Output of a command.
std::string output_of(const std::string& command)
{
    std::string text;
    std::FILE* pipe = ::popen(command.c_str(), "r");
    for (int c; pipe && (c = std::fgetc(pipe)) != EOF;) text += static_cast<char>(c);
    if (pipe) ::pclose(pipe);
    return text;
}

bool has_ffmpeg() { return !output_of("ffmpeg -version 2>/dev/null").empty(); }

} // namespace

TEST(Srgb, EveryCodeRoundTripsOnTheStandardCurve)
{
    for (int code = 0; code < 256; ++code) {
        const float linear = linear_from_srgb(static_cast<float>(code) / 255);
        EXPECT_EQ(srgb_bytes(plain(1, 1, Vec3f::Constant(linear)))[0], code);
    }
    EXPECT_NEAR(srgb_from_linear(0.5f), 0.735357f, 1e-5f);
    EXPECT_NEAR(srgb_from_linear(0.001f), 0.01292f, 1e-6f);
    EXPECT_NEAR(linear_from_srgb(0.5f), 0.214041f, 1e-5f);
}

TEST(Srgb, OutOfRangeIsClampedAndNaNIsBlack)
{
    Image image(2, 1);
    image.at(0, 0) = Vec3f(-1, 2, kInfinity);
    image.at(1, 0) = Vec3f(std::nanf(""), -kInfinity, 1);
    EXPECT_EQ(srgb_bytes(image), (std::vector<uint8_t>{0, 255, 255, 0, 0, 255}));
}

TEST(ImageFile, PngRoundTripsWithinHalfAStep)
{
    const TempFolder folder;
    const Image image = gradient(37, 21);
    write_image(folder / "a.png", image);
    const Image back = read_image(folder / "a.png");
    EXPECT_EQ(srgb_bytes(back), srgb_bytes(image));
    EXPECT_LT(largest_difference(back, image), 0.005f);
    EXPECT_GT(largest_difference(back, image), 0.0f); // quantisation to 8 bits is visible
}

TEST(ImageFile, ExrKeepsLinearLightBeyondWhite)
{
    const TempFolder folder;
    Image image = gradient(64, 3);
    image.at(5, 2) = Vec3f(1000, -2, 0.0001f);
    write_image(folder / "a.exr", image);
    const Image back = read_image(folder / "a.exr");
    ASSERT_EQ(back.width, 64);
    ASSERT_EQ(back.height, 3);
    for (size_t i = 0; i < image.pixels.size(); ++i)
        for (int c = 0; c < 3; ++c)
            EXPECT_NEAR(back.pixels[i][c], image.pixels[i][c], std::abs(image.pixels[i][c]) * 0.0005f + 1e-7f);
}

TEST(ImageFile, JpgIsClose)
{
    const TempFolder folder;
    const Image image = gradient(64, 48);
    write_image(folder / "a.jpg", image);
    EXPECT_LT(largest_difference(read_image(folder / "a.jpg"), image), 0.05f);
}

TEST(ImageFile, SamePixelsGiveSameBytesRegardlessOfTimeAndName)
{
    const TempFolder folder;
    const Image image = gradient(50, 40);
    for (const char* ending : {".png", ".exr", ".jpg"}) write_image(folder / std::string("first") + ending, image);
    std::this_thread::sleep_for(std::chrono::milliseconds(1100)); // files store dates in seconds
    for (const char* ending : {".png", ".exr", ".jpg"}) {
        write_image(folder / std::string("second") + ending, image);
        EXPECT_TRUE(read_file(folder / std::string("first") + ending) ==
                    read_file(folder / std::string("second") + ending))
            << ending;
    }
}

TEST(ImageFile, BadNamesAndEmptyPicturesAreRejected)
{
    const TempFolder folder;
    EXPECT_TRUE(
        contains(error_of(ExitCode::bad_input, [&] { write_image(folder / "a.bmp", gradient(2, 2)); }), "a.bmp"));
    EXPECT_TRUE(contains(error_of(ExitCode::failed, [&] { write_image(folder / "a.png", Image()); }), "empty"));
    EXPECT_TRUE(contains(error_of(ExitCode::failed, [&] { read_image(folder / "none.png"); }), "none.png"));
    EXPECT_TRUE(folder.files().empty());
}

TEST(ImageFile, TruncatedOrForeignFilesAreErrors)
{
    const TempFolder folder;
    for (const std::string ending : {".png", ".exr"}) {
        write_image(folder / "whole" + ending, gradient(64, 64));
        const std::string bytes = read_file(folder / "whole" + ending);
        for (const size_t length : {size_t(0), size_t(5), size_t(40), bytes.size() / 2, bytes.size() * 9 / 10}) {
            write_file(folder / "cut" + ending, bytes.substr(0, length));
            EXPECT_TRUE(
                contains(error_of(ExitCode::failed, [&] { read_image(folder / "cut" + ending); }), "cut" + ending))
                << length;
        }
        write_file(folder / "noise" + ending, "this is not a picture but text, long enough to hold a header");
        EXPECT_TRUE(
            contains(error_of(ExitCode::failed, [&] { read_image(folder / "noise" + ending); }), "noise" + ending));
    }
}

// The headers of these files announce more than the files hold: memory is not spent on the announcement.
TEST(ImageFile, PicturesThatAnnounceTooManyPixelsAreRefused)
{
    const TempFolder folder;
    write_image(folder / "large.png", gradient(16, 16));
    std::string bytes = read_file(folder / "large.png");
    ASSERT_EQ(bytes.substr(12, 4), "IHDR");
    const auto put = [&](size_t at, uint32_t value) { // big-endian
        for (int k = 0; k < 4; ++k) bytes[at + k] = static_cast<char>(value >> (24 - 8 * k) & 255);
    };
    put(16, 60000), put(20, 60000);
    uint32_t sum = 0xffffffff; // CRC-32 of type and data
    for (size_t i = 12; i < 29; ++i) {
        sum ^= static_cast<uint8_t>(bytes[i]);
        for (int bit = 0; bit < 8; ++bit) sum = sum & 1 ? sum >> 1 ^ 0xedb88320 : sum >> 1;
    }
    put(29, ~sum);
    write_file(folder / "large.png", bytes);
    const std::string message = error_of(ExitCode::failed, [&] { read_image(folder / "large.png"); });
    EXPECT_TRUE(contains(message, "large.png: a picture of 60000 x 60000 pixels with 3 channels is too large"))
        << message;
}

TEST(Resize, ShrinkingAveragesInLinearLight)
{
    Image image(4, 2);
    image.at(0, 0) = Vec3f(1, 0, 0);
    image.at(3, 1) = Vec3f(0, 8, 0);
    const Image half = resized(image, 2, 1);
    EXPECT_LT((half.at(0, 0) - Vec3f(0.25f, 0, 0)).norm(), 1e-6f);
    EXPECT_LT((half.at(1, 0) - Vec3f(0, 2, 0)).norm(), 1e-6f);
}

TEST(Resize, UnevenScalesKeepTheMean)
{
    const Image image = gradient(37, 23);
    Vec3f mean = Vec3f::Zero(), small_mean = Vec3f::Zero();
    for (const Vec3f& p : image.pixels) mean += p / static_cast<float>(image.pixels.size());
    const Image small = resized(image, 10, 9);
    for (const Vec3f& p : small.pixels) small_mean += p / static_cast<float>(small.pixels.size());
    EXPECT_LT((mean - small_mean).norm(), 1e-4f);
    EXPECT_LT(largest_difference(resized(image, 37, 23), image), 1e-6f);
}

TEST(ContactSheet, ShowsEvenlySpreadPicturesInReadingOrder)
{
    const TempFolder folder;
    std::vector<std::string> pictures;
    for (int i = 0; i < 9; ++i) {
        pictures.push_back(folder / fmt::format("p.{:04}.exr", i));
        write_image(pictures.back(), plain(40, 20, Vec3f(static_cast<float>(i), 0, 0)));
    }
    const Image sheet = contact_sheet(pictures, 5, 3, 20); // 0 2 4 / 6 8
    ASSERT_EQ(sheet.width, 3 * 20 + 4 * 6);
    ASSERT_EQ(sheet.height, 2 * 10 + 3 * 6);
    const auto tile = [&](int column, int row) { return sheet.at(6 + column * 26 + 10, 6 + row * 16 + 5).x(); };
    EXPECT_EQ((std::vector<float>{tile(0, 0), tile(1, 0), tile(2, 0), tile(0, 1), tile(1, 1)}),
              (std::vector<float>{0, 2, 4, 6, 8}));
    EXPECT_LT(tile(2, 1), 0.05f); // empty: dark background
    EXPECT_LT(sheet.at(28, 10).x(), 0.05f);

    EXPECT_EQ(contact_sheet(pictures, 100, 100, 4).width, 9 * 10 + 6);
    error_of(ExitCode::failed, [] { contact_sheet({}, 5, 3, 20); });
    error_of(ExitCode::bad_input, [&] { contact_sheet(pictures, 0, 3, 20); });
    error_of(ExitCode::bad_input, [&] { contact_sheet(pictures, 5, 0, 20); });
}

TEST(Movie, HasEveryPictureInTheGivenOrderAtAnEvenSize)
{
    if (!has_ffmpeg()) GTEST_SKIP() << "ffmpeg is not installed";
    const TempFolder folder;
    std::vector<std::string> pictures;
    for (const int frame : {3, 4, 9, 20, 1}) { // gaps, and unsorted
        pictures.push_back(folder / fmt::format("p.{:04}.png", frame));
        write_image(pictures.back(), plain(65, 33, Vec3f::Constant(linear_from_srgb(static_cast<float>(frame) / 25))));
    }
    write_movie(folder / "out/a movie.mp4", pictures, 5);
    const std::string movie = "'" + (folder / "out/a movie.mp4") + "'";
    const std::string facts = output_of("ffprobe -v error -show_streams " + movie);
    for (const char* fact : {"codec_name=h264", "pix_fmt=yuv420p", "width=66", "height=34", "nb_frames=5",
                             "r_frame_rate=5/1", "color_space=bt709"})
        EXPECT_TRUE(contains(facts, fact)) << fact;

    const std::string raw = output_of("ffmpeg -v error -i " + movie + " -f rawvideo -pix_fmt gray -");
    ASSERT_EQ(raw.size(), size_t(5 * 66 * 34));
    size_t at = 66 * 17 + 33;
    for (const int frame : {3, 4, 9, 20, 1}) {
        EXPECT_NEAR(static_cast<uint8_t>(raw[at]), frame * 255 / 25, 3) << frame;
        at += 66 * 34;
    }
    // The index precedes the pictures, so that browsers start playback at once.
    const std::string bytes = read_file(folder / "out/a movie.mp4");
    EXPECT_LT(bytes.find("moov"), bytes.find("mdat"));
}

TEST(Movie, SamePicturesGiveSameBytes)
{
    if (!has_ffmpeg()) GTEST_SKIP() << "ffmpeg is not installed";
    const TempFolder folder;
    write_image(folder / "p.png", gradient(64, 48));
    write_movie(folder / "a.mp4", {folder / "p.png", folder / "p.png"}, 24);
    std::this_thread::sleep_for(std::chrono::milliseconds(1100));
    write_movie(folder / "b.mp4", {folder / "p.png", folder / "p.png"}, 24);
    EXPECT_TRUE(read_file(folder / "a.mp4") == read_file(folder / "b.mp4"));
}

TEST(Movie, DamagedOrMismatchedPictureIsNamedAndNothingIsWritten)
{
    const TempFolder folder;
    write_image(folder / "good.png", gradient(64, 48));
    write_image(folder / "small.png", gradient(32, 24));
    write_file(folder / "bad.png", "no picture");
    for (const std::string name : {"bad.png", "small.png", "missing.png"}) {
        const auto write = [&] { write_movie(folder / "m.mp4", {folder / "good.png", folder / name}, 24); };
        EXPECT_TRUE(contains(error_of(ExitCode::failed, write), name));
    }
    error_of(ExitCode::failed, [&] { write_movie(folder / "m.mp4", {}, 24); });
    error_of(ExitCode::bad_input, [&] { write_movie(folder / "m.mp4", {folder / "good.png"}, 0); });
    EXPECT_EQ(folder.files().size(), 3u);
}

TEST(Movie, MissingFfmpegIsExplained)
{
    const TempFolder folder;
    write_image(folder / "p.png", gradient(8, 8));
    const std::string path = std::getenv("PATH");
    ::setenv("PATH", folder.path().c_str(), 1);
    const std::string message =
        error_of(ExitCode::failed, [&] { write_movie(folder / "m.mp4", {folder / "p.png"}, 24); });
    ::setenv("PATH", path.c_str(), 1);
    EXPECT_TRUE(contains(message, "ffmpeg was not found"));
}

// A substitute for ffmpeg that fails at once: its last line must reach the user, and SIGPIPE must not end this process.
TEST(Movie, ErrorHoldsTheLastLineOfAFailingFfmpeg)
{
    const TempFolder folder;
    write_image(folder / "p.png", gradient(1024, 1024));
    write_file(folder / "ffmpeg", "#!/bin/sh\necho first >&2\necho the encoder is unavailable >&2\nexit 1\n");
    std::filesystem::permissions(folder / "ffmpeg", std::filesystem::perms::owner_all);
    const std::string path = std::getenv("PATH");
    ::setenv("PATH", folder.path().c_str(), 1);
    const std::vector<std::string> pictures(5, folder / "p.png");
    const std::string message = error_of(ExitCode::failed, [&] { write_movie(folder / "m.mp4", pictures, 24); });
    ::setenv("PATH", path.c_str(), 1);
    EXPECT_TRUE(contains(message, "the encoder is unavailable")) << message;
    EXPECT_TRUE(contains(message, folder / "m.mp4")) << message;
    EXPECT_FALSE(file_exists(folder / "m.mp4"));
    EXPECT_EQ(folder.files().size(), 2u);
}

TEST(Image, NamedChannelsComeBackFromExr)
{
    TempFolder folder;
    ChannelImage image(5, 3);
    using enum ChannelImage::Precision;
    for (const auto& [name, precision] :
         {std::pair("R", half), std::pair("G", half), std::pair("B", half), std::pair("A", half), std::pair("Z", full),
          std::pair("N.X", half), std::pair("mask_water.Y", half), std::pair("velocity.Z", full)}) {
        ChannelImage::Channel& channel = image.add(name, precision);
        for (size_t i = 0; i < channel.values.size(); ++i)
            channel.values[i] = static_cast<float>(image.channels.size()) + static_cast<float>(i) / 3;
    }
    write_image(folder / "a.exr", image);
    const ChannelImage read = read_channels(folder / "a.exr");
    ASSERT_EQ(read.channels.size(), image.channels.size());
    for (const ChannelImage::Channel& channel : image.channels) {
        const ChannelImage::Channel* found = read.find(channel.name);
        ASSERT_TRUE(found) << channel.name;
        EXPECT_EQ(found->precision, channel.precision) << channel.name;
        for (size_t i = 0; i < channel.values.size(); ++i)
            EXPECT_NEAR(found->values[i], channel.values[i], channel.precision == full ? 0 : 0.005f) << channel.name;
    }
    // Readers of plain pictures find the colours.
    const Image colors = read_image(folder / "a.exr");
    EXPECT_NEAR((colors.at(0, 0) - Vec3f(1, 2, 3)).norm(), 0, 1e-3f);
    // The same values give the same bytes.
    write_image(folder / "b.exr", image);
    EXPECT_EQ(read_file(folder / "a.exr"), read_file(folder / "b.exr"));
}

TEST(Image, BadChannelsAreNamed)
{
    TempFolder folder;
    ChannelImage image(4, 4);
    EXPECT_TRUE(contains(error_of(ExitCode::failed, [&] { write_image(folder / "a.exr", image); }), "is empty"));
    image.add("Z", ChannelImage::Precision::full).values[3] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_TRUE(contains(error_of(ExitCode::failed, [&] { write_image(folder / "a.exr", image); }), "\"Z\""));
    image.channels[0].values.resize(7);
    EXPECT_TRUE(contains(error_of(ExitCode::failed, [&] { write_image(folder / "a.exr", image); }), "7 values"));
    EXPECT_TRUE(contains(error_of(ExitCode::bad_input, [&] { write_image(folder / "a.png", image); }), ".exr"));
    EXPECT_TRUE(folder.files().empty());
}
