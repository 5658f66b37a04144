#include "spindrift/mesh/remesh.h"

#include "base/determinism.h"
#include "mesh/test_meshes.h"
#include "spindrift/mesh/distance.h"

#include <Eigen/Geometry>
#include <gtest/gtest.h>

namespace spindrift {

namespace {

constexpr float kPush = 0.63f; // of vertices: makes slivers

struct Quality {
    double mean = 0, longest = 0, shortest = 1e9; // edge
    double least_angle = 180;                     // degrees
    double below_thirty = 0;                      // share of triangles with an angle below 30 degrees
};

Quality quality_of(const Mesh& mesh)
{
    Quality q;
    const double count = static_cast<double>(mesh.triangles.size());
    for (const Vec3i& t : mesh.triangles) {
        double least = 180;
        for (int k = 0; k < 3; ++k) {
            const Vec3d a = mesh.positions[t[k]].cast<double>(), b = mesh.positions[t[(k + 1) % 3]].cast<double>(),
                        c = mesh.positions[t[(k + 2) % 3]].cast<double>();
            const double length = (a - b).norm();
            q.mean += length / (3 * count), q.longest = std::max(q.longest, length),
                                            q.shortest = std::min(q.shortest, length);
            least = std::min(least, std::atan2((b - a).cross(c - a).norm(), (b - a).dot(c - a)) * 180 / kPi);
        }
        q.least_angle = std::min(q.least_angle, least), q.below_thirty += (least < 30) / count;
    }
    return q;
}

} // namespace

TEST(Remesh, MakesEqualTrianglesOfAnySize)
{
    const Mesh mesh = rough_ball(4, kPush);
    for (const float edge : {0.02f, 0.05f, 0.15f}) {
        const Remeshed out = remeshed(mesh, edge);
        EXPECT_TRUE(is_closed(out.mesh));
        const Quality q = quality_of(out.mesh);
        EXPECT_NEAR(q.mean / static_cast<double>(edge), 1, 0.1);
        EXPECT_LT(q.longest, 2 * static_cast<double>(edge));
        EXPECT_GT(q.shortest, 0.3 * static_cast<double>(edge));
        EXPECT_GT(q.least_angle, 12);
        EXPECT_LT(q.below_thirty, 0.02);
        EXPECT_NEAR(volume_of(out.mesh) / volume_of(mesh), 1, 0.02);
    }
}

TEST(Remesh, VerticesLieOnTheSurface)
{
    const Mesh mesh = rough_ball(3, kPush);
    const Remeshed out = remeshed(mesh, 0.06f);
    ASSERT_EQ(out.triangle.size(), out.mesh.positions.size());
    for (size_t i = 0; i < out.triangle.size(); ++i) {
        const Vec3i& t = mesh.triangles[out.triangle[i]];
        Vec3f place = Vec3f::Zero();
        for (int k = 0; k < 3; ++k) place += out.weights[i][k] * mesh.positions[t[k]];
        EXPECT_LT((place - out.mesh.positions[i]).norm(), 1e-5f);
    }
}

TEST(Remesh, KeepsHolesAndParts)
{
    Mesh half = sphere_mesh({0, 0, 0}, 1, 4);
    std::erase_if(half.triangles, [&](const Vec3i& t) {
        return half.positions[t[0]].y() + half.positions[t[1]].y() + half.positions[t[2]].y() < 0;
    });
    const Mesh rest = remeshed(half, 0.07f).mesh;
    float lowest = 1;
    double area = 0;
    for (const Vec3f& x : rest.positions) lowest = std::min(lowest, x.y());
    for (const Vec3i& t : rest.triangles)
        area += static_cast<double>((rest.positions[t[1]] - rest.positions[t[0]])
                                        .cross(rest.positions[t[2]] - rest.positions[t[0]])
                                        .norm()) /
                2;
    EXPECT_NEAR(lowest, 0, 1e-4f);
    EXPECT_NEAR(area / (2 * kPi), 1, 0.02);
    EXPECT_FALSE(is_closed(rest));
    // Two balls, and two tetrahedra that share an edge, which is no manifold: it is cut apart.
    EXPECT_TRUE(is_closed(remeshed(joined(sphere_mesh({0, 0, 0}, 1, 3), sphere_mesh({3, 0, 0}, 0.5f, 3)), 0.1f).mesh));
    Mesh pair;
    pair.positions = {{0, 0, 0}, {0, 0, 1}, {1, 0, 0.5f}, {1, 1, 0.5f}, {-1, 0, 0.5f}, {-1, -1, 0.5f}};
    pair.triangles = {{0, 1, 2}, {0, 3, 1}, {1, 3, 2}, {0, 2, 3}, {0, 1, 4}, {0, 5, 1}, {1, 5, 4}, {0, 4, 5}};
    const Mesh cut = remeshed(pair, 0.1f).mesh;
    EXPECT_GT(cut.triangles.size(), 300u);
    EXPECT_TRUE(remeshed(Mesh(), 1).mesh.positions.empty());
    // A surface smaller than an edge is left as it is, or nearly.
    EXPECT_TRUE(is_closed(remeshed(sphere_mesh({0, 0, 0}, 0.1f, 3), 1).mesh));
}

TEST(Remesh, GivesTheSameBitsForAnyNumberOfThreads)
{
    const Mesh mesh = rough_ball(4, kPush);
    const auto run = [&] { return remeshed(mesh, 0.05f).mesh.positions; };
    EXPECT_TRUE(same_bits(with_threads(1, run), with_threads(4, run)));
}

} // namespace spindrift
