#include "spindrift/render/film.h"

#include "spindrift/base/random.h"

#include <gtest/gtest.h>

using namespace spindrift;

namespace {

// A picture by random paths: `count(x)` in each pixel of a column.
template <class Count, class Value>
std::vector<float> exposed(int width, int height, const Count& count, const Value& value)
{
    Film film(width, height, 1);
    Random random(7);
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x)
            for (int i = 0; i < count(x); ++i) {
                const Vec2f offset(random.uniform() - 0.5f, random.uniform() - 0.5f);
                const float v = value(static_cast<float>(x) + 0.5f + offset.x());
                film.add(x, y, offset, 1 / static_cast<float>(count(x)), &v);
            }
    std::vector<float> pixels(static_cast<size_t>(width) * height);
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x) film.develop(x, y, &pixels[static_cast<size_t>(y) * width + x]);
    return pixels;
}

} // namespace

TEST(Film, UniformPictureStaysUniform)
{
    for (const auto& [width, height] : {std::pair(1, 1), {16, 16}, {17, 33}, {50, 3}})
        for (const float pixel : exposed(
                 width, height, [](int x) { return 1 + x % 3; }, [](float) { return 2.5f; }))
            EXPECT_NEAR(pixel, 2.5f, 1e-5f);
}

// Of a sharp edge between two pixels a tent shows 1/8 and 7/8, wherever paths are dense.
TEST(Film, EdgesAreFilteredByTheTentForAnySamplePositions)
{
    const int width = 40, height = 400;
    for (const int dense : {1, 16}) {
        const std::vector<float> pixels = exposed(
            width, height, [&](int x) { return x >= 20 ? 4 * dense : 4; },
            [](float x) { return x > 20 ? 1.0f : 0.0f; });
        const auto mean = [&](int x) {
            double sum = 0;
            for (int y = 0; y < height; ++y) sum += static_cast<double>(pixels[static_cast<size_t>(y) * width + x]);
            return sum / height;
        };
        EXPECT_NEAR(mean(18), 0, 1e-6);
        EXPECT_NEAR(mean(19), 0.125, 0.02);
        EXPECT_NEAR(mean(20), 0.875, 0.02);
        EXPECT_NEAR(mean(21), 1, 1e-6);
    }
}

TEST(Film, PathsContributeToNeighbouringPixels)
{
    // Noise of the mean over a pixel: 4/9 of the variance of that by its own paths alone.
    const int size = 200, paths = 4;
    Random noise(3);
    const std::vector<float> pixels = exposed(
        size, size, [](int) { return paths; }, [&](float) { return noise.uniform() - 0.5f; });
    double squares = 0;
    for (const float pixel : pixels) squares += static_cast<double>(pixel) * static_cast<double>(pixel);
    const double alone = 1.0 / 12 / paths;
    EXPECT_NEAR(squares / size / size / alone, 4.0 / 9, 0.08);
}
