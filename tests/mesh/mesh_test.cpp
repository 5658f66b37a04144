#include "spindrift/mesh/mesh.h"

#include "mesh/test_meshes.h"

#include <gtest/gtest.h>

namespace spindrift {
namespace {

TEST(Mesh, VolumeOfABoxIsExactEvenFarFromTheOrigin)
{
    EXPECT_DOUBLE_EQ(volume_of(box_mesh({0, 0, 0}, {1, 2, 3})), 6.0);
    EXPECT_DOUBLE_EQ(volume_of(box_mesh({4096, -4096, 4096}, {4097, -4095, 4097})), 1.0);
    EXPECT_DOUBLE_EQ(volume_of(inside_out(box_mesh({0, 0, 0}, {1, 2, 3}))), -6.0);
    EXPECT_EQ(volume_of(Mesh()), 0.0);
}

TEST(Mesh, VolumeOfASphereConvergesWithTheSquareOfTheEdge)
{
    const double exact = 4.0 / 3.0 * kPi * 8.0;
    const double coarse = exact - volume_of(sphere_mesh({1, 2, 3}, 2, 4));
    const double fine = exact - volume_of(sphere_mesh({1, 2, 3}, 2, 5));
    EXPECT_GT(fine, 0); // an inscribed mesh is smaller
    EXPECT_LT(fine, 2e-3 * exact);
    EXPECT_NEAR(coarse / fine, 4.0, 0.1);
}

TEST(Mesh, BoundsAreTight)
{
    const Box3f box = bounds_of(sphere_mesh({1, 2, 3}, 2, 3));
    EXPECT_TRUE(box.min.isApprox(Vec3f(-1, 0, 1)));
    EXPECT_TRUE(box.max.isApprox(Vec3f(3, 4, 5)));
    EXPECT_TRUE(bounds_of(Mesh()).empty());
}

TEST(Mesh, NormalsOfASphereAreRadial)
{
    Mesh mesh = sphere_mesh({5, 0, 0}, 3, 4);
    compute_normals(mesh);
    ASSERT_EQ(mesh.normals.size(), mesh.positions.size());
    for (size_t i = 0; i < mesh.positions.size(); ++i) {
        EXPECT_NEAR(mesh.normals[i].norm(), 1, 1e-6f);
        EXPECT_GT(mesh.normals[i].dot((mesh.positions[i] - Vec3f(5, 0, 0)).normalized()), 0.999f);
    }
}

TEST(Mesh, NormalsDoNotDependOnTriangulation)
{
    // At a corner of a box, one or two triangles of each face meet; their angles add up to 90 degrees per face.
    Mesh mesh = box_mesh({0, 0, 0}, {1, 2, 3});
    mesh.positions.emplace_back(9, 9, 9); // belongs to no triangle
    compute_normals(mesh);
    for (size_t i = 0; i < 8; ++i) {
        const Vec3f outward = (mesh.positions[i] - Vec3f(0.5f, 1, 1.5f)).array().sign() / std::sqrt(3.0f);
        EXPECT_TRUE(mesh.normals[i].isApprox(outward, 1e-5f)) << mesh.normals[i].transpose();
    }
    EXPECT_EQ(mesh.normals[8], Vec3f(0, 0, 0));
}

TEST(Mesh, IsClosedRequiresTwoOppositeTrianglesPerEdge)
{
    const Mesh closed = sphere_mesh({0, 0, 0}, 1, 3);
    EXPECT_TRUE(is_closed(closed));
    EXPECT_TRUE(is_closed(joined(closed, box_mesh({0, 0, 0}, {1, 1, 1}))));

    Mesh hole = closed;
    hole.triangles.pop_back();
    EXPECT_FALSE(is_closed(hole));
    hole.triangles.pop_back(); // an even number of triangles remains
    EXPECT_FALSE(is_closed(hole));

    Mesh flipped = closed;
    std::swap(flipped.triangles[5][0], flipped.triangles[5][1]);
    EXPECT_FALSE(is_closed(flipped));

    Mesh doubled = closed; // an edge with four adjacent triangles
    doubled.triangles.push_back(closed.triangles[0]);
    doubled.triangles.emplace_back(closed.triangles[0][1], closed.triangles[0][0], closed.triangles[0][2]);
    EXPECT_FALSE(is_closed(doubled));

    Mesh pinched = closed;
    pinched.triangles.emplace_back(0, 0, 1);
    EXPECT_FALSE(is_closed(pinched));
}

} // namespace
} // namespace spindrift
