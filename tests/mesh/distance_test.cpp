#include "spindrift/mesh/distance.h"

#include "mesh/test_meshes.h"
#include "spindrift/base/parallel.h"
#include "spindrift/base/random.h"

#include <Eigen/Geometry>
#include <gtest/gtest.h>

namespace spindrift {
namespace {

// Distance to a triangle by the regions of its plane [Ericson 2004, 5.1.5], in double.
double triangle_distance(const Vec3d& p, const Vec3d& a, const Vec3d& b, const Vec3d& c)
{
    const Vec3d ab = b - a, ac = c - a;
    const double d1 = ab.dot(p - a), d2 = ac.dot(p - a), d3 = ab.dot(p - b), d4 = ac.dot(p - b), d5 = ab.dot(p - c),
                 d6 = ac.dot(p - c);
    if (d1 <= 0 && d2 <= 0) return (p - a).norm();
    if (d3 >= 0 && d4 <= d3) return (p - b).norm();
    if (d6 >= 0 && d5 <= d6) return (p - c).norm();
    const double va = d3 * d6 - d5 * d4, vb = d5 * d2 - d1 * d6, vc = d1 * d4 - d3 * d2;
    if (vc <= 0 && d1 >= 0 && d3 <= 0) return (p - (a + d1 / (d1 - d3) * ab)).norm();
    if (vb <= 0 && d2 >= 0 && d6 <= 0) return (p - (a + d2 / (d2 - d6) * ac)).norm();
    if (va <= 0 && d4 >= d3 && d5 >= d6) return (p - (b + (d4 - d3) / (d4 - d3 + d5 - d6) * (c - b))).norm();
    return std::abs(ab.cross(ac).normalized().dot(p - a));
}

// Brute force over all triangles: the nearest one, and the winding number as a sum of solid angles [Van Oosterom 1983].
double brute_force_distance(const Mesh& mesh, const Vec3f& x)
{
    const Vec3d p = x.cast<double>();
    double least = std::numeric_limits<double>::infinity(), angle = 0;
    for (const Vec3i& t : mesh.triangles) {
        const Vec3d a = mesh.positions[t[0]].cast<double>();
        const Vec3d b = mesh.positions[t[1]].cast<double>();
        const Vec3d c = mesh.positions[t[2]].cast<double>();
        least = std::min(least, triangle_distance(p, a, b, c));
        const Vec3d u = a - p, v = b - p, w = c - p;
        const double lu = u.norm(), lv = v.norm(), lw = w.norm();
        angle += 2 * std::atan2(u.dot(v.cross(w)), lu * lv * lw + u.dot(v) * lw + v.dot(w) * lu + w.dot(u) * lv);
    }
    return angle > 2 * kPi ? -least : least; // half a winding is 2 pi
}

Vec3f random_point(Random& random, const Box3f& box)
{
    Vec3f x;
    for (int axis = 0; axis < 3; ++axis) x[axis] = random.uniform(box.min[axis], box.max[axis]);
    return x;
}

// A bumpy, slightly self-intersecting sphere: vertices displaced at random by about an edge length.
Mesh rough_mesh(float roughness)
{
    Mesh mesh = sphere_mesh({0.3f, -0.2f, 0.1f}, 1, 4);
    Random random(7);
    for (Vec3f& x : mesh.positions)
        for (int axis = 0; axis < 3; ++axis) x[axis] += random.uniform(-roughness, roughness);
    return mesh;
}

void expect_brute_force(const Mesh& mesh, int points)
{
    const MeshDistance tree(mesh);
    const Box3f box = bounds_of(mesh);
    Random random(3);
    int inside = 0;
    for (int i = 0; i < points; ++i) {
        const Vec3f x = random_point(random, box.grown(0.2f * box.size().maxCoeff()));
        const double expected = brute_force_distance(mesh, x);
        // Skip points that float arithmetic cannot distinguish from the surface.
        if (std::abs(expected) < 1e-6) continue;
        inside += expected < 0;
        ASSERT_NEAR(tree.distance(x), expected, 3e-6) << "at " << x.transpose();
    }
    EXPECT_GT(inside, points / 20);
    EXPECT_LT(inside, points - points / 20);
}

TEST(MeshDistance, EqualsBruteForceOnASphere) { expect_brute_force(sphere_mesh({0.3f, -0.2f, 0.1f}, 1, 4), 2000); }

TEST(MeshDistance, EqualsBruteForceOnARoughMesh) { expect_brute_force(rough_mesh(0.02f), 2000); }

TEST(MeshDistance, EqualsBruteForceOnASelfIntersectingMesh) { expect_brute_force(rough_mesh(0.15f), 2000); }

TEST(MeshDistance, EqualsBruteForceOnFewTriangles)
{
    expect_brute_force(box_mesh({0, 0, 0}, {1, 2, 0.5f}), 2000);
    expect_brute_force(sphere_mesh({0, 0, 0}, 1, 0), 2000); // eight triangles: a single leaf
    // Twenty triangles leave lanes of the leaves unused, and rays from the gap pass through the slab.
    expect_brute_force(joined(sphere_mesh({0, 0, 0}, 1, 0), box_mesh({1.5f, -2, -2}, {2, 2, 2})), 2000);
}

TEST(MeshDistance, EqualsBruteForceOnLongThinTriangles)
{
    Mesh mesh = sphere_mesh({0, 0, 0}, 1, 3);
    for (Vec3f& x : mesh.positions) x = x.cwiseProduct(Vec3f(1, 0.002f, 0.3f));
    const MeshDistance tree(mesh);
    Random random(3);
    for (int i = 0; i < 2000; ++i) {
        const Vec3f x = random_point(random, {Vec3f(-1.2f, -0.004f, -0.4f), Vec3f(1.2f, 0.004f, 0.4f)});
        const double expected = brute_force_distance(mesh, x);
        if (std::abs(expected) < 1e-6) continue;
        ASSERT_NEAR(tree.distance(x), expected, 3e-6) << "at " << x.transpose();
    }
}

TEST(MeshDistance, SignIsRightNextToEdgesAndVertices)
{
    const Mesh mesh = rough_mesh(0.02f);
    const MeshDistance tree(mesh);
    Random random(5);
    for (const Vec3i& t : mesh.triangles) {
        const Vec3f& a = mesh.positions[t[0]];
        const Vec3f& b = mesh.positions[t[1]];
        for (const Vec3f& on : {a, Vec3f(0.5f * (a + b))}) {
            const Vec3f x = on + random_point(random, {Vec3f::Constant(-1e-3f), Vec3f::Constant(1e-3f)});
            const double expected = brute_force_distance(mesh, x);
            if (std::abs(expected) < 1e-6) continue;
            ASSERT_NEAR(tree.distance(x), expected, 3e-6) << "at " << x.transpose();
        }
    }
}

TEST(MeshDistance, SignIsRightWhereRaysHitEdgesAndVertices)
{
    // All rays of these points pass exactly through vertices or along edges and faces.
    const Mesh box = joined(box_mesh({0, 0, 0}, {4, 4, 4}), box_mesh({6, 0, 0}, {8, 4, 4}));
    const MeshDistance tree(box);
    int inside = 0;
    for (int x = -1; x <= 9; ++x)
        for (int y = -1; y <= 5; ++y)
            for (int z = -1; z <= 5; ++z) {
                const Vec3f at(static_cast<float>(x), static_cast<float>(y), static_cast<float>(z));
                const auto within = [](int i, int low, int high) { return i > low && i < high; };
                const bool in = within(y, 0, 4) && within(z, 0, 4) && (within(x, 0, 4) || within(x, 6, 8));
                const float d = tree.distance(at);
                if (d == 0) continue;
                ASSERT_EQ(d < 0, in) << at.transpose();
                inside += d < 0;
            }
    EXPECT_EQ(inside, 27 + 9);

    // The sphere has vertices on the axes and edges in the coordinate planes.
    const Mesh sphere = sphere_mesh({0, 0, 0}, 1, 4);
    const MeshDistance ball(sphere);
    for (int i = -15; i <= 15; ++i)
        for (int axis = 0; axis < 3; ++axis) {
            Vec3f at = Vec3f::Zero();
            at[axis] = static_cast<float>(i) / 10;
            if (std::abs(i) == 10) continue;
            ASSERT_EQ(ball.distance(at) < 0, std::abs(i) < 10) << at.transpose();
        }
    for (const Vec3f& vertex : sphere.positions) {
        ASSERT_LT(ball.distance(0.9f * vertex), 0) << vertex.transpose();
        ASSERT_GT(ball.distance(1.1f * vertex), 0) << vertex.transpose();
    }
}

TEST(MeshDistance, TheInsideOfOverlappingPartsIsInside)
{
    const MeshDistance two(joined(sphere_mesh({0, 0, 0}, 1, 4), sphere_mesh({1, 0, 0}, 1, 4)));
    EXPECT_LT(two.distance({0.5f, 0.1f, 0}), 0);          // in both
    EXPECT_LT(two.distance({0.03f, 0.1f, 0}), 0);         // in both, next to the second one's surface
    EXPECT_LT(two.distance({-0.03f, 0.1f, 0}), 0);        // only in the first, next to the second
    EXPECT_LT(two.distance({1.5f, 0, 0}), 0);             // only in the second
    EXPECT_GT(two.distance({0.5f, 0.95f, 0}), 0);         // in the groove between them
    EXPECT_NEAR(two.distance({-0.5f, 0, 0}), -0.5, 5e-3); // surfaces inside other parts count too
}

TEST(MeshDistance, CavityIsOutsideAndInvertedMeshIsCorrected)
{
    const Mesh hollow = joined(sphere_mesh({0, 0, 0}, 1, 3), inside_out(sphere_mesh({0, 0, 0}, 0.5f, 3)));
    const MeshDistance shell(hollow), reversed(inside_out(hollow));
    for (const MeshDistance* mesh : {&shell, &reversed}) {
        EXPECT_GT(mesh->distance({0.1f, 0.1f, 0}), 0);
        EXPECT_LT(mesh->distance({0.4f, 0.6f, 0}), 0);
        EXPECT_GT(mesh->distance({0.9f, 0.9f, 0}), 0);
    }
}

TEST(MeshDistance, LimitKeepsNearDistancesAndFarSigns)
{
    const MeshDistance tree(rough_mesh(0.05f));
    Random random(11);
    int beyond = 0;
    for (int i = 0; i < 5000; ++i) {
        const Vec3f x = random_point(random, tree.bounds().grown(0.3f));
        const float exact = tree.distance(x), limited = tree.distance(x, 0.1f);
        beyond += std::abs(exact) > 0.1f;
        ASSERT_EQ(limited, std::clamp(exact, -0.1f, 0.1f)) << x.transpose();
    }
    EXPECT_GT(beyond, 1000);
}

TEST(MeshDistance, StaysAccurateFarFromTheOrigin)
{
    const Vec3f far(1000, -2000, 500);
    const MeshDistance tree(sphere_mesh(far, 1, 5));
    EXPECT_NEAR(tree.distance(far), -1, 2e-3);
    EXPECT_NEAR(tree.distance(far + Vec3f(0, 3, 0)), 2, 2e-3);
    EXPECT_NEAR(tree.distance({0, 0, 0}), far.norm() - 1, 2e-3);
}

TEST(MeshDistance, DegenerateTrianglesKeepDistanceAndSign)
{
    // An edge split on one side only; the gap is filled by a triangle with three collinear corners.
    Mesh mesh = box_mesh({0, 0, 0}, {2, 2, 2});
    mesh.positions.emplace_back(1.0f, 0.0f, 0.0f); // in the middle of the edge 0-1
    for (Vec3i& t : mesh.triangles)
        if (t == Vec3i(0, 1, 5)) t = {8, 1, 5};
    mesh.triangles.emplace_back(0, 8, 5);
    mesh.triangles.emplace_back(0, 1, 8);
    ASSERT_TRUE(is_closed(mesh));
    const MeshDistance tree(mesh), plain(box_mesh({0, 0, 0}, {2, 2, 2}));
    Random random(13);
    for (int i = 0; i < 5000; ++i) {
        const Vec3f x = random_point(random, tree.bounds().grown(1));
        ASSERT_NEAR(tree.distance(x), plain.distance(x), 1e-6) << x.transpose();
    }
    EXPECT_LT(tree.distance({1, 0.5f, 0.5f}), 0);
    EXPECT_GT(tree.distance({1, -0.5f, 0}), 0);
}

TEST(MeshDistance, AnEmptyMeshIsInfinitelyFar)
{
    const MeshDistance nothing{Mesh()};
    EXPECT_EQ(nothing.distance({1, 2, 3}), kInfinity);
    EXPECT_EQ(nothing.distance({1, 2, 3}, 0.5f), 0.5f);
    EXPECT_TRUE(nothing.bounds().empty());
}

TEST(MeshDistance, ConcurrentQueriesEqualSerialOnes)
{
    const MeshDistance tree(rough_mesh(0.05f));
    std::vector<Vec3f> points;
    std::vector<float> alone, together(20000);
    Random random(17);
    for (size_t i = 0; i < together.size(); ++i) points.push_back(random_point(random, tree.bounds().grown(0.3f)));
    for (const Vec3f& x : points) alone.push_back(tree.distance(x));
    parallel_for(points.size(), [&](size_t i) { together[i] = tree.distance(points[i]); });
    EXPECT_EQ(alone, together);
}

} // namespace
} // namespace spindrift
