#include "spindrift/points/spacing.h"

#include "spindrift/base/random.h"

#include <gtest/gtest.h>

using namespace spindrift;

namespace {

constexpr int kEdge = 24;

// One point in every unit cube: at its centre, or jittered.
std::vector<Vec3f> cubes(float jitter)
{
    std::vector<Vec3f> points;
    Random random(2);
    const auto place = [&](int i) { return static_cast<float>(i) + jitter * random.uniform(); };
    for (int x = 0; x < kEdge; ++x)
        for (int y = 0; y < kEdge; ++y)
            for (int z = 0; z < kEdge; ++z) points.emplace_back(place(x), place(y), place(z));
    return points;
}

std::vector<Vec3f> scattered(size_t count, const Vec3f& size, uint64_t seed)
{
    std::vector<Vec3f> points(count);
    Random random(seed);
    for (Vec3f& p : points) p = size.cwiseProduct(Vec3f(random.uniform(), random.uniform(), random.uniform()));
    return points;
}

void append(std::vector<Vec3f>& to, const std::vector<Vec3f>& from) { to.insert(to.end(), from.begin(), from.end()); }

} // namespace

TEST(Spacing, EqualsTheEdgeOfTheCubePerParticle)
{
    EXPECT_NEAR(*find_spacing(cubes(0)), 1, 0.1);
    EXPECT_NEAR(*find_spacing(cubes(1)), 1, 0.05);
    EXPECT_NEAR(*find_spacing(scattered(20000, Vec3f(40, 25, 20), 1)), 1, 0.05);
}

TEST(Spacing, ScalesWithPositionsAndIgnoresTranslation)
{
    std::vector<Vec3f> points = cubes(1);
    const float one = *find_spacing(points);
    for (Vec3f& p : points) p = 0.03125f * p + Vec3f(100, -200, 50);
    EXPECT_NEAR(*find_spacing(points), 0.03125f * one, 1e-4f);
}

TEST(Spacing, IgnoresDuplicatesAndSpray)
{
    std::vector<Vec3f> points = cubes(1);
    append(points, cubes(1));
    EXPECT_NEAR(*find_spacing(points), 1, 0.05);
    points = cubes(1);
    append(points, scattered(points.size() / 3, Vec3f::Constant(1000), 4)); // a quarter of all points
    EXPECT_NEAR(*find_spacing(points), 1, 0.1);
}

TEST(Spacing, LiesBetweenThoseOfDenseAndSparseParts)
{
    // Ten times as dense at one end as at the other: spacings from 1 to 0.46.
    std::vector<Vec3f> points;
    Random random(6);
    for (const Vec3f& p : scattered(160000, Vec3f(64, 16, 16), 8))
        if (random.uniform() < 0.1f + 0.9f * p.x() / 64) points.push_back(p);
    const float found = *find_spacing(points), in_the_middle = std::cbrt(1 / 5.5f);
    EXPECT_NEAR(found, in_the_middle, 0.1f * in_the_middle);
}

TEST(Spacing, SheetIsOverestimatedByAThird)
{
    std::vector<Vec3f> sheet = scattered(3600, Vec3f(60, 0, 60), 3);
    EXPECT_GT(*find_spacing(sheet), 0.9f);
    EXPECT_LT(*find_spacing(sheet), 1.4f);
}

TEST(Spacing, FewPointsGiveNoSpacing)
{
    EXPECT_FALSE(find_spacing({}));
    EXPECT_FALSE(find_spacing({1000, Vec3f(1, 2, 3)})); // all at one position
    EXPECT_FALSE(find_spacing(scattered(8, Vec3f::Ones(), 1)));
    EXPECT_TRUE(find_spacing(scattered(9, Vec3f::Ones(), 1)));
}
