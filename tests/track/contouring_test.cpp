#include "spindrift/track/contouring.h"

#include "mesh/manifold.h"
#include "mesh/test_meshes.h"
#include "spindrift/base/random.h"
#include "track/flows.h"

#include <gtest/gtest.h>

using namespace spindrift;

namespace {

// Random values on a grid much coarser or about as fine as the contoured one, and a ball around it: everything that can
// happen between eight corners.
struct NoiseFunction : SurfaceFunction {
    float grain, level;
    uint64_t seed;

    NoiseFunction(float g, float l, uint64_t s) : grain(g), level(l), seed(s) {}
    float value(const Vec3f& x) const
    {
        const Vec3i cell = (x / grain).array().floor().cast<int>();
        Random random(seed, hash64(static_cast<uint64_t>(cell.x() * 73856093 ^ cell.y() * 19349663),
                                   static_cast<uint64_t>(cell.z())));
        const float noise = 0.05f * (random.uniform() - level);
        return std::max(noise, x.norm() - 0.8f);
    }
    void estimate(std::span<const Vec3f> points, std::span<float> values) const override
    {
        for (size_t i = 0; i < points.size(); ++i) values[i] = value(points[i]);
    }
    void evaluate(std::span<const Vec3f> points, std::span<DistanceTree::Nearest> results) const override
    {
        for (size_t i = 0; i < points.size(); ++i) results[i].distance = value(points[i]);
    }
    Box3f bounds() const override { return {Vec3f::Constant(-0.9f), Vec3f::Constant(0.9f)}; }
};

} // namespace

// The check itself: two balls that share a vertex, or an edge, are closed but no surface there.
TEST(Contouring, TheCheckOfManifoldsSeesSharedVertices)
{
    const Mesh ball = sphere_mesh({0, 0, 0}, 1, 2);
    EXPECT_TRUE(is_manifold(ball));
    EXPECT_TRUE(is_manifold(joined(ball, sphere_mesh({3, 0, 0}, 1, 2))));
    Mesh pinched = joined(ball, sphere_mesh({3, 0, 0}, 1, 2));
    const int second = static_cast<int>(ball.positions.size());
    for (Vec3i& t : pinched.triangles)
        for (int& corner : t)
            if (corner == second) corner = 0;
    EXPECT_TRUE(is_closed(pinched));
    EXPECT_FALSE(is_manifold(pinched));
    pinched.triangles.pop_back();
    EXPECT_FALSE(is_manifold(pinched));
}

TEST(Contouring, AnythingIsClosedAndManifold)
{
    for (uint64_t seed = 0; seed < 4; ++seed)
        for (const float grain : {0.3f, 0.1f, 0.037f})
            for (const float level : {0.2f, 0.5f, 0.8f}) {
                const ContouredMesh result = contour(NoiseFunction(grain, level, seed), 0.05f, {0.01f, 0, 0});
                ASSERT_GT(result.mesh.triangles.size(), 100u);
                EXPECT_TRUE(is_manifold(result.mesh)) << seed << " " << grain << " " << level;
            }
}

TEST(Contouring, VerticesLieOnTheSurfaceAndTrianglesInTheirCells)
{
    const float voxel = 0.02f;
    const Vec3f origin(0.013f, 0.004f, 0.001f);
    const ContouredMesh ball = contour(BallFunction({0.1f, 0.2f, 0.3f}, 0.25f), voxel, origin);
    EXPECT_TRUE(is_manifold(ball.mesh));
    EXPECT_NEAR(volume_of(ball.mesh), 4 * kPi / 3 * std::pow(0.25, 3), 1e-2 * 0.065);
    for (const Vec3f& x : ball.mesh.positions) EXPECT_NEAR((x - Vec3f(0.1f, 0.2f, 0.3f)).norm(), 0.25f, 2e-3f * voxel);
    ASSERT_EQ(ball.cells.size(), ball.mesh.triangles.size());
    for (size_t t = 0; t < ball.cells.size(); ++t) {
        EXPECT_FALSE(t > 0 && CellKey(ball.cells[t]) < CellKey(ball.cells[t - 1]));
        for (int k = 0; k < 3; ++k) {
            const Vec3f in_cell =
                (ball.mesh.positions[ball.mesh.triangles[t][k]] - origin) / voxel - ball.cells[t].cast<float>();
            EXPECT_GE(in_cell.minCoeff(), -1e-3f);
            EXPECT_LE(in_cell.maxCoeff(), 1.001f);
        }
    }
}
