#include "spindrift/base/noise.h"

#include <gtest/gtest.h>

namespace spindrift {
namespace {

Vec3f place(int i)
{
    Random random(7, static_cast<uint64_t>(i));
    return Vec3f(random.uniform(-50, 50), random.uniform(-50, 50), random.uniform(-50, 50));
}

TEST(Noise, GradientMatchesFiniteDifferences)
{
    constexpr float h = 1e-2f;
    for (int i = 0; i < 500; ++i) {
        const Vec3f x = place(i);
        const NoiseSample here = gradient_noise(x, 3);
        for (int a = 0; a < 3; ++a) {
            const Vec3f e = h * Vec3f::Unit(a);
            const float slope = (gradient_noise(x + e, 3).value - gradient_noise(x - e, 3).value) / (2 * h);
            ASSERT_NEAR(here.gradient[a], slope, 6e-3f) << i;
        }
    }
}

TEST(Noise, IsContinuousAcrossCellsAndZeroAtTheLattice)
{
    for (int i = 0; i < 100; ++i) {
        Vec3f x = place(i);
        x.y() = std::round(x.y());
        const Vec3f e(0, 1e-4f, 0);
        EXPECT_NEAR(gradient_noise(x + e, 1).value, gradient_noise(x - e, 1).value, 1e-3f);
        EXPECT_NEAR(gradient_noise(x.array().round(), 1).value, 0, 1e-6f);
    }
}

TEST(Noise, CurlIsDivergenceFreeWithUnitRms)
{
    constexpr float h = 1e-2f;
    double sum2 = 0, divergence2 = 0, shear2 = 0;
    Vec3d mean = Vec3d::Zero();
    constexpr int count = 20000;
    for (int i = 0; i < count; ++i) {
        const Vec3f x = place(i);
        const float time = 0.01f * static_cast<float>(i % 1000);
        const Vec3f u = curl_noise(x, time, 5);
        sum2 += static_cast<double>(u.squaredNorm()), mean += u.cast<double>() / count;
        if (i % 10) continue;
        float divergence = 0;
        for (int a = 0; a < 3; ++a) {
            const Vec3f e = h * Vec3f::Unit(a);
            const Vec3f slope = (curl_noise(x + e, time, 5) - curl_noise(x - e, time, 5)) / (2 * h);
            divergence += slope[a], shear2 += static_cast<double>(slope.squaredNorm());
        }
        divergence2 += static_cast<double>(divergence * divergence);
    }
    std::printf("root mean square %.3f, divergence over slope %.4f\n", std::sqrt(sum2 / count),
                std::sqrt(divergence2 / shear2));
    EXPECT_NEAR(std::sqrt(sum2 / count), 1, 0.02);
    EXPECT_LT(std::sqrt(divergence2 / shear2), 0.01);
    EXPECT_LT(mean.norm(), 0.03);
}

TEST(Noise, ChangesSmoothlyInTime)
{
    for (int i = 0; i < 200; ++i) {
        const Vec3f x = place(i);
        const float time = 0.05f * static_cast<float>(i);
        EXPECT_LT((curl_noise(x, time + 1e-3f, 5) - curl_noise(x, time, 5)).norm(), 0.02f);
    }
}

} // namespace
TEST(Noise, CachedCurlEqualsUncachedCurl)
{
    Random random(8);
    CurlNoise noise(0.7f, 5);
    for (int n = 0; n < 2000; ++n) {
        const Vec3f x(random.uniform(-3, 3), random.uniform(-3, 3), random.uniform(-3, 3));
        EXPECT_EQ(noise(x), curl_noise(x, 0.7f, 5));
    }
}

} // namespace spindrift
