#include "spindrift/io/frame_path.h"

#include "spindrift/io/atomic_file.h"
#include "temp_folder.h"

using namespace spindrift;

TEST(FramePath, SupportsEveryPatternSyntax)
{
    EXPECT_EQ(frame_path("a/splash.####.vdb", 7), "a/splash.0007.vdb");
    EXPECT_EQ(frame_path("splash.%04d.vdb", 7), "splash.0007.vdb");
    EXPECT_EQ(frame_path("splash.$F4.vdb", 7), "splash.0007.vdb");
    EXPECT_EQ(frame_path("splash.$F.vdb", 7), "splash.7.vdb");
    EXPECT_EQ(frame_path("splash.%d.vdb", 120), "splash.120.vdb");
    EXPECT_EQ(frame_path("splash.#.vdb", 120), "splash.120.vdb");
    EXPECT_EQ(frame_path("####", 12345), "12345");
}

TEST(FramePath, NegativeFramesKeepTheirPaddingAfterTheSign)
{
    EXPECT_EQ(frame_path("s.####.vdb", -5), "s.-0005.vdb");
    EXPECT_EQ(frame_path("s.$F.vdb", -5), "s.-5.vdb");
    EXPECT_EQ(frame_path("s.##.vdb", -2147483647 - 1), "s.-2147483648.vdb");
}

TEST(FramePath, OnlyTheLastPatternOfTheFileNameCounts)
{
    EXPECT_FALSE(has_frame_pattern("shot#1/still.png"));
    EXPECT_EQ(frame_path("shot#1/still.png", 3), "shot#1/still.png");
    EXPECT_EQ(frame_path("shot#1/take#2.###.png", 3), "shot#1/take#2.003.png");
    EXPECT_FALSE(has_frame_pattern("100%/$HOME.png"));
    EXPECT_TRUE(has_frame_pattern("out.$F4.png"));
    EXPECT_FALSE(has_frame_pattern(""));
}

TEST(FramePath, FindsExactlyTheFramesOfThePatternInOrder)
{
    const TempFolder folder;
    for (const char* name : {"s.0010.vdb", "s.0002.vdb", "s.-0003.vdb", "s.12345.vdb", "s.7.vdb", "s.0005.vdb.tmp",
                             "t.0001.vdb", "s.00x1.vdb", "s.00011.vdb", "s.99999999999.vdb", "s.+0001.vdb"})
        write_file(folder / name, "");
    EXPECT_EQ(frames_on_disk(folder / "s.####.vdb"), (std::vector<int>{-3, 2, 10, 12345}));
    EXPECT_EQ(frames_on_disk(folder / "s.$F.vdb"), (std::vector<int>{7, 12345}));
    EXPECT_TRUE(frames_on_disk(folder / "s.0010.vdb").empty());
    EXPECT_TRUE(frames_on_disk(folder / "missing/s.####.vdb").empty());
}

TEST(FrameRange, ReadsRangesAndSingleFrames)
{
    const auto expect = [](const char* text, int first, int last) {
        const FrameRange range = parse_frame_range(text);
        EXPECT_EQ(range.first, first) << text;
        EXPECT_EQ(range.last, last) << text;
        EXPECT_EQ(range.count(), last - first + 1) << text;
    };
    expect("10-40", 10, 40);
    expect("7", 7, 7);
    expect("-5--1", -5, -1);
    expect("-5-5", -5, 5);
    expect("0001-0100", 1, 100);
}

TEST(FrameRange, MayHaveAStep)
{
    const auto expect = [](const char* text, int first, int last, int step, int count) {
        const FrameRange range = parse_frame_range(text);
        EXPECT_EQ(range.first, first) << text;
        EXPECT_EQ(range.last, last) << text;
        EXPECT_EQ(range.step, step) << text;
        EXPECT_EQ(range.count(), count) << text;
    };
    expect("1-30x2", 1, 29, 2, 15);
    expect("1-9x4", 1, 9, 4, 3);
    expect("-5--1x3", -5, -2, 3, 2);
    expect("7-7x5", 7, 7, 5, 1);
    expect("1-2147483646x2147483647", 1, 1, 2147483647, 1);
}

TEST(FrameRange, RejectsInvalidRanges)
{
    for (const char* text : {"1-9x", "1-9x0", "1-9x-2", "1-9x2x", "7x2", "", "a", "1-", "-", "1-x", "1-2-3", "1:2",
                             "5-1", "1 - 2", " 1", "1.5", "99999999999", "-2147483648-2147483647"})
        EXPECT_TRUE(contains(error_of(ExitCode::bad_input, [&] { parse_frame_range(text); }), text)) << text;
}
