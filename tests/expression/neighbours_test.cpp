#include "spindrift/expression/neighbours.h"

#include "samples.h"

namespace spindrift {

namespace {

std::vector<size_t> by_brute_force(const std::vector<Vec3f>& positions, const Vec3f& x, float radius)
{
    std::vector<size_t> found;
    for (size_t i = 0; i < positions.size(); ++i)
        if ((positions[i] - x).squaredNorm() <= radius * radius) found.push_back(i);
    return found;
}

std::vector<size_t> by_tree(const NeighbourTree& tree, const Vec3f& x, float radius)
{
    std::vector<size_t> found;
    tree.for_each(x, radius, [&](size_t i, const Vec3f&) { return found.push_back(i), true; });
    std::sort(found.begin(), found.end());
    return found;
}

} // namespace

TEST(NeighbourTree, MatchesBruteForce)
{
    std::vector<Vec3f> positions = random_particles(1500, 2, 3).P;
    positions.insert(positions.end(), 40, positions[0]); // a clump at one point
    positions.emplace_back(1e6f, -1e6f, 0.0f);           // a stray
    const NeighbourTree tree(positions);
    for (const float radius : {0.0f, 0.01f, 0.1f, 0.7f, 10.0f, 1e7f})
        for (size_t i = 0; i < positions.size(); i += 97) {
            const Vec3f x = positions[i] + Vec3f::Constant(0.01f * static_cast<float>(i % 3));
            const auto expected = by_brute_force(positions, x, radius);
            ASSERT_EQ(by_tree(tree, x, radius), expected);
            ASSERT_EQ(tree.count(x, radius), expected.size());
        }
}

TEST(NeighbourTree, HandlesDegenerateSets)
{
    EXPECT_EQ(NeighbourTree({}).count(Vec3f::Zero(), 1), 0u);
    const Vec3f nowhere = Vec3f::Constant(std::numeric_limits<float>::quiet_NaN());
    std::vector<Vec3f> positions(100, Vec3f::Zero());
    for (size_t i = 0; i < 50; ++i) positions[2 * i] = nowhere;
    const NeighbourTree tree(positions);
    EXPECT_EQ(tree.count(Vec3f::Zero(), 1), 50u);
    EXPECT_EQ(tree.count(nowhere, 1), 0u);
    EXPECT_EQ(tree.count(Vec3f::Zero(), -1), 0u);
    EXPECT_EQ(tree.count(Vec3f::Zero(), std::numeric_limits<float>::quiet_NaN()), 0u);
}

TEST(Neighbours, AreCountedAndAveragedBeforeAnyChange)
{
    const Particles before = sample_particles(600);
    const float radius = 0.12f;
    // The expression changes everything that the neighbour functions read.
    const Particles after = run("@P += 1; i@n = neighbours(0.12f); @age = neighbours_mean(\"age\", 0.12f);"
                                "@v = neighbours_meanv(\"v\", 0.12f); @k = neighbours_mean(\"kind\", 0.12f);",
                                before);
    const auto& ages = *before.find<float>("age");
    const auto& kinds = *before.find<int32_t>("kind");
    for (size_t i = 0; i < before.size(); ++i) {
        const auto near = by_brute_force(before.P, before.P[i], radius);
        double age = 0, kind = 0;
        Vec3d velocity = Vec3d::Zero();
        for (const size_t j : near) age += ages[j], kind += kinds[j], velocity += before.v[j].cast<double>();
        const auto count = static_cast<double>(near.size());
        ASSERT_EQ((*after.find<int32_t>("n"))[i], static_cast<int>(near.size()) - 1);
        ASSERT_NEAR((*after.find<float>("age"))[i], age / count, 1e-6);
        ASSERT_NEAR((*after.find<float>("k"))[i], kind / count, 1e-6);
        ASSERT_LT((after.v[i].cast<double>() - velocity / count).norm(), 1e-6);
    }
}

TEST(Neighbours, GiveTheGradientOfALinearFunctionExactly)
{
    Particles particles = sample_particles(2000);
    auto& heat = particles.attribute<float>("heat");
    const Vec3f slope(3, -2, 0.5f);
    for (size_t i = 0; i < particles.size(); ++i) heat[i] = 7 + slope.dot(particles.P[i]);
    const Particles after = run("v@g = neighbours_gradient(\"heat\", 0.2f);", particles);
    for (const Vec3f& g : *after.find<Vec3f>("g")) ASSERT_LT((g - slope).norm(), 2e-3f);
    // In a plane the gradient has no normal component; a lone point has no gradient.
    for (Vec3f& x : particles.P) x.z() = 0;
    for (size_t i = 0; i < particles.size(); ++i) heat[i] = 7 + slope.dot(particles.P[i]);
    const Particles flat = run("v@g = neighbours_gradient(\"heat\", 0.2f);", particles);
    for (const Vec3f& g : *flat.find<Vec3f>("g")) ASSERT_LT((g - Vec3f(3, -2, 0)).norm(), 2e-3f);
    const Particles alone = run("v@g = neighbours_gradient(\"heat\", 0.0f);", particles);
    for (const Vec3f& g : *alone.find<Vec3f>("g")) ASSERT_EQ(g, Vec3f::Zero());
}

} // namespace spindrift
