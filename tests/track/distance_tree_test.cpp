#include "spindrift/track/distance_tree.h"

#include "mesh/test_meshes.h"
#include "spindrift/base/random.h"
#include "spindrift/mesh/distance.h"
#include "track/flows.h"

#include <gtest/gtest.h>

using namespace spindrift;

namespace {

// A ball with spikes: sharp edges and vertices, convex and concave.
Mesh star()
{
    Mesh mesh = sphere_mesh({0.5f, 0.5f, 0.5f}, 1, 3);
    for (size_t i = 0; i < mesh.positions.size(); ++i) {
        const Vec3f out = mesh.positions[i] - Vec3f::Constant(0.5f);
        mesh.positions[i] = Vec3f::Constant(0.5f) + (i % 5 == 0 ? 0.4f : 0.22f) * out;
    }
    return mesh;
}

Vec3f random_point(Random& random)
{
    return {random.uniform(-0.1f, 1.1f), random.uniform(-0.1f, 1.1f), random.uniform(-0.1f, 1.1f)};
}

} // namespace

TEST(DistanceTree, IsExactWithinAVoxelAndHasTheRightSignEverywhere)
{
    const Mesh mesh = star();
    const MeshDistance exact(mesh);
    for (const float voxel : {0.2f, 0.05f, 0.013f}) {
        const DistanceTree tree(mesh, {voxel, {0.003f, 0.001f, -0.002f}, false});
        Random random(1);
        int near = 0;
        for (int i = 0; i < 20000; ++i) {
            const Vec3f x = random_point(random);
            const float wanted = exact.distance(x);
            const float found = tree.distance(x);
            if (std::abs(wanted) > 1e-5f) {
                EXPECT_EQ(found < 0, wanted < 0) << x.transpose() << " at " << wanted << " not " << found;
                EXPECT_EQ(tree.estimate(x) < 0, wanted < 0) << x.transpose();
            }
            if (std::abs(wanted) > 0.999f * voxel) continue;
            ++near;
            ASSERT_NEAR(found, wanted, 2e-6f) << x.transpose();
        }
        EXPECT_GT(near, 100);
    }
}

TEST(DistanceTree, IsAboutTheDistanceFarFromTheSurface)
{
    const DistanceTree tree(sphere_mesh({0.5f, 0.5f, 0.5f}, 0.3f, 5), {0.02f, Vec3f::Zero()});
    Random random(2);
    for (int i = 0; i < 5000; ++i) {
        const Vec3f x = random_point(random);
        const float wanted = (x - Vec3f::Constant(0.5f)).norm() - 0.3f;
        EXPECT_NEAR(tree.distance(x), wanted, 0.02f + 0.25f * std::abs(wanted)) << x.transpose();
    }
}

TEST(DistanceTree, NeighbouringLeavesDifferByAtMostOneLevel)
{
    const DistanceTree tree(star(), {0.01f, Vec3f::Zero()});
    Random random(3);
    int levels = 0;
    for (int i = 0; i < 20000; ++i) {
        const Vec3f x = random_point(random);
        const DistanceTree::Leaf leaf = tree.leaf(x);
        if (leaf.level < 0) continue;
        levels |= 1 << leaf.level;
        const float edge = 0.01f * static_cast<float>(1 << leaf.level);
        const Vec3f center = leaf.cell.cast<float>() * 0.01f + Vec3f::Constant(0.5f * edge);
        for (int a = 0; a < 3; ++a)
            for (const float side : {-0.51f, 0.51f}) {
                const DistanceTree::Leaf next = tree.leaf(center + side * edge * Vec3f::Unit(a));
                EXPECT_TRUE(next.level < 0 || std::abs(next.level - leaf.level) <= 1) << x.transpose();
            }
    }
    EXPECT_GT(__builtin_popcount(levels), 3);
}

TEST(DistanceTree, CurvedDistancesAreThoseOfASphere)
{
    const float voxel = 0.03f;
    const ContouredMesh ball = contour(BallFunction({0.5f, 0.5f, 0.5f}, 0.3f), voxel, Vec3f::Zero());
    double errors[2] = {0, 0};
    for (const bool curved : {false, true}) {
        const DistanceTree tree(ball.mesh, {voxel, Vec3f::Zero(), curved}, &ball.cells);
        Random random(4);
        for (int i = 0; i < 3000; ++i) {
            const Vec3f out = (random_point(random) - Vec3f::Constant(0.5f)).normalized();
            const float off = random.uniform(-0.5f, 0.5f) * voxel;
            errors[curved] += std::abs(tree.distance(Vec3f::Constant(0.5f) + (0.3f + off) * out) - off) / 3000;
        }
    }
    EXPECT_LT(errors[1], 0.1 * errors[0]);
}

TEST(DistanceTree, AnEmptyMeshIsOutsideEverywhere)
{
    const DistanceTree tree(Mesh(), {0.1f, Vec3f::Zero()});
    EXPECT_GT(tree.distance({0, 0, 0}), 0);
    EXPECT_EQ(tree.nearest({0, 0, 0}).triangle, -1);
}
