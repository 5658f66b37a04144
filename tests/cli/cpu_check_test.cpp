#include "cli/program.h"

namespace spindrift {

namespace {

TEST(CpuCheck, ReportsMissingFeaturesOfOldProcessors)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "sanitizers need a real processor";
#endif
    const Workplace place;
    const auto emulated = [&](const char* processor) {
        return Child({"qemu-x86_64", "-cpu", processor, program_path(), "--version"}, place.path()).wait();
    };
    constexpr int kNotFound = 127;
    const RunResult newest = emulated("max");
    if (newest.code == kNotFound) GTEST_SKIP() << "qemu-x86_64 is not installed (package qemu-user)";
    EXPECT_EQ(newest.code, 0) << newest.err;

    // Without AVX, and without anything newer than SSE3.
    for (const char* processor : {"Nehalem", "qemu64"}) {
        const RunResult outcome = emulated(processor);
#ifdef __AVX2__
        EXPECT_EQ(outcome.code, 2);
        EXPECT_EQ(outcome.err, "spindrift: this processor has no AVX2 and FMA (x86-64-v3). Build for it with: make "
                               "build CMAKE_FLAGS=-DSPINDRIFT_AVX2=OFF\n");
#else
        EXPECT_EQ(outcome.code, 0) << outcome.err;
        EXPECT_EQ(outcome.out, newest.out);
#endif
    }
}

} // namespace

} // namespace spindrift
