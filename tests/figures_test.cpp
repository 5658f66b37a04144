#include "figures.h"

#include <gtest/gtest.h>
#include <limits>

namespace spindrift {
namespace {

TEST(Figures, AMissIsListedAndFailsTheRun)
{
    Figures figures;
    EXPECT_TRUE(figures.require("time", 1.5, at_most(2, " s")));
    EXPECT_TRUE(figures.require("gain", 5, at_least(5, "x")));
    testing::internal::CaptureStdout();
    EXPECT_EQ(figures.report(), 0);
    EXPECT_EQ(testing::internal::GetCapturedStdout(), "\nAll 2 figures asked for are reached.\n");

    EXPECT_FALSE(figures.require("memory", 150, at_most(120, " bytes")));
    EXPECT_FALSE(figures.require("gain", 4, at_least(5, "x"), "4.0x"));
    testing::internal::CaptureStdout();
    EXPECT_EQ(figures.report(), 1);
    EXPECT_EQ(testing::internal::GetCapturedStdout(), "\n2 of 4 figures asked for are missed:\n"
                                                      "- memory: 150, asked for at most 120 bytes\n"
                                                      "- gain: 4.0x, asked for at least 5x\n");
}

TEST(Figures, WhatCouldNotBeMeasuredIsMissed)
{
    Figures figures;
    EXPECT_FALSE(figures.require("time", std::numeric_limits<double>::quiet_NaN(), at_most(2, " s")));
    EXPECT_FALSE(figures.require("gain", std::numeric_limits<double>::quiet_NaN(), at_least(2, "x")));
    figures.fail("memory", "the child process failed");
    EXPECT_EQ(figures.misses().size(), 3u);
    EXPECT_EQ(figures.misses()[2], "memory: the child process failed");
}

} // namespace
} // namespace spindrift
