#include "spindrift/mesh/simplify.h"

#include "spindrift/mesh/distance.h"
#include "test_meshes.h"

#include <gtest/gtest.h>

using namespace spindrift;

namespace {

int euler_characteristic(const Mesh& mesh)
{
    return static_cast<int>(mesh.positions.size()) - static_cast<int>(mesh.triangles.size() / 2);
}

// A torus of n x n quads.
Mesh torus(float large, float small, int n)
{
    Mesh mesh;
    const auto vertex = [n](int i, int j) { return i % n * n + j % n; };
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) {
            const float a = static_cast<float>(2 * kPi * i / n), b = static_cast<float>(2 * kPi * j / n);
            const float r = large + small * std::cos(b);
            mesh.positions.emplace_back(r * std::cos(a), small * std::sin(b), r * std::sin(a));
            const int p = vertex(i, j), q = vertex(i + 1, j), s = vertex(i + 1, j + 1), t = vertex(i, j + 1);
            mesh.triangles.insert(mesh.triangles.end(), {Vec3i(p, s, q), Vec3i(p, t, s)});
        }
    if (volume_of(mesh) < 0)
        for (Vec3i& t : mesh.triangles) std::swap(t[1], t[2]);
    return mesh;
}

// Largest distance from the vertices and triangle centres of either mesh to the other mesh.
float deviation(const Mesh& a, const Mesh& b)
{
    float most = 0;
    const auto measure = [&](const Mesh& from, const Mesh& to) {
        const MeshDistance distance(to);
        for (const Vec3f& x : from.positions) most = std::max(most, std::abs(distance.distance(x)));
        for (const Vec3i& t : from.triangles) {
            Vec3f middle = Vec3f::Zero();
            for (int k = 0; k < 3; ++k) middle += from.positions[t[k]] / 3;
            most = std::max(most, std::abs(distance.distance(middle)));
        }
    };
    measure(a, b), measure(b, a);
    return most;
}

} // namespace

TEST(Simplify, StaysWithinToleranceAndKeepsTopology)
{
    const Mesh meshes[] = {sphere_mesh(Vec3f(1, 2, 3), 1, 5), torus(2, 0.5f, 96),
                           joined(sphere_mesh(Vec3f(0, 0, 0), 1, 4), inside_out(sphere_mesh(Vec3f(0, 0, 0), 0.5f, 4)))};
    for (const Mesh& mesh : meshes)
        for (const float tolerance : {0.003f, 0.01f, 0.05f}) {
            Mesh simple = mesh;
            simplify(simple, tolerance);
            EXPECT_TRUE(is_closed(simple));
            EXPECT_EQ(euler_characteristic(simple), euler_characteristic(mesh));
            EXPECT_TRUE(tolerance < 0.05f || 5 * simple.triangles.size() < 2 * mesh.triangles.size());
            EXPECT_LT(deviation(simple, mesh), tolerance);
        }
}

TEST(Simplify, SubdividedCubeReducesToTwelveTriangles)
{
    // Each face is divided into 2 x 8 x 8 triangles.
    constexpr int n = 8;
    Mesh cube;
    std::map<std::array<int, 3>, int> numbers;
    const auto vertex = [&](const Vec3i& at) {
        const auto [it, is_new] =
            numbers.try_emplace({at.x(), at.y(), at.z()}, static_cast<int>(cube.positions.size()));
        if (is_new) cube.positions.push_back(at.cast<float>());
        return it->second;
    };
    for (int axis = 0; axis < 3; ++axis)
        for (const int side : {0, n})
            for (int i = 0; i < n; ++i)
                for (int j = 0; j < n; ++j) {
                    Vec3i a, u = Vec3i::Zero(), v = Vec3i::Zero();
                    a[axis] = side, a[(axis + 1) % 3] = i, a[(axis + 2) % 3] = j;
                    u[(axis + 1) % 3] = 1, v[(axis + 2) % 3] = 1;
                    if (side == 0) std::swap(u, v);
                    const int p = vertex(a), q = vertex(a + u), r = vertex(a + u + v), s = vertex(a + v);
                    cube.triangles.insert(cube.triangles.end(), {Vec3i(p, q, r), Vec3i(p, r, s)});
                }
    ASSERT_TRUE(is_closed(cube));
    simplify(cube, 0.01f);
    EXPECT_TRUE(is_closed(cube));
    EXPECT_NEAR(volume_of(cube), n * n * n, 1e-3);
    EXPECT_LT(cube.triangles.size(), 60u);
}

TEST(Simplify, RemainingVerticesKeepTheirAttributes)
{
    Mesh mesh = sphere_mesh(Vec3f::Zero(), 1, 4);
    compute_normals(mesh);
    mesh.velocities = mesh.positions;
    mesh.attributes["P"] = mesh.positions;
    std::vector<float> x;
    for (const Vec3f& p : mesh.positions) x.push_back(p.x());
    mesh.attributes["x"] = x;
    simplify(mesh, 0.02f);
    ASSERT_EQ(mesh.normals.size(), mesh.positions.size());
    EXPECT_EQ(mesh.velocities, mesh.positions);
    EXPECT_EQ(std::get<std::vector<Vec3f>>(mesh.attributes["P"]), mesh.positions);
    for (size_t i = 0; i < mesh.positions.size(); ++i) {
        EXPECT_EQ(std::get<std::vector<float>>(mesh.attributes["x"])[i], mesh.positions[i].x());
        EXPECT_NEAR(mesh.positions[i].norm(), 1, 1e-5); // vertices are not moved
        EXPECT_GT(mesh.normals[i].dot(mesh.positions[i]), 0.99f);
    }
}

TEST(Simplify, VerticesOnAWallStayOnIt)
{
    Mesh mesh = sphere_mesh(Vec3f::Zero(), 1, 5);
    for (Vec3f& p : mesh.positions) p.y() = std::max(p.y(), -0.3f); // a drop on the floor
    const Box3f container{Vec3f(-2, -0.3f, -2), Vec3f(2, 2, 2)};
    const Mesh before = mesh;
    simplify(mesh, 0.1f, container);
    EXPECT_TRUE(is_closed(mesh));
    // The contact line, a circle, may only be thinned along itself, so that the drop keeps its footprint on the floor.
    EXPECT_EQ(bounds_of(mesh).min.y(), -0.3f);
    EXPECT_NEAR(volume_of(mesh) / volume_of(before), 1, 0.05);
    for (const Vec3f& p : mesh.positions) EXPECT_TRUE(p.y() == -0.3f || p.y() > -0.3f + 1e-6f);
    float foot = 0;
    for (const Vec3f& p : mesh.positions)
        if (p.y() == -0.3f) foot = std::max(foot, std::hypot(p.x(), p.z()));
    EXPECT_NEAR(foot, std::sqrt(1 - 0.09f), 0.05f);
}
