#include "spindrift/mesh/atlas.h"

#include "mesh/test_meshes.h"
#include "spindrift/base/error.h"
#include "spindrift/base/parallel.h"
#include "spindrift/mesh/links.h"

#include <Eigen/Geometry>
#include <Eigen/SVD>
#include <gtest/gtest.h>

namespace spindrift {

namespace {

using Vec2d = Eigen::Vector2d;

// A grid of `across` by `along` squares; `place` maps the unit square.
template <class Place> Mesh sheet(int across, int along, const Place& place)
{
    Mesh mesh;
    for (int i = 0; i <= across; ++i)
        for (int j = 0; j <= along; ++j)
            mesh.positions.push_back(place(static_cast<float>(i) / static_cast<float>(across),
                                           static_cast<float>(j) / static_cast<float>(along)));
    for (int i = 0; i < across; ++i)
        for (int j = 0; j < along; ++j) {
            const int a = i * (along + 1) + j, b = a + 1, c = a + along + 1, d = c + 1;
            mesh.triangles.emplace_back(a, b, c), mesh.triangles.emplace_back(b, d, c);
        }
    return mesh;
}

// A ramp that winds around an axis three times: every place on the ground is below three of its places.
Mesh ramp()
{
    return sheet(300, 10, [](float u, float v) {
        const float angle = 6 * static_cast<float>(kPi) * u, r = 0.1f + 0.4f * v;
        return Vec3f(r * std::cos(angle), 0.02f * angle, r * std::sin(angle));
    });
}

Mesh waves()
{
    return sheet(60, 40,
                 [](float u, float v) { return Vec3f(4 * u, 0.06f * std::sin(30 * u) * std::sin(14 * v + 3 * u), v); });
}

Mesh needles() // balls with long thin tips
{
    Mesh mesh = sphere_mesh({0, 0, 0}, 1, 4);
    for (Vec3f& x : mesh.positions) x *= 1 + 3 * std::exp(-40 * (1 - std::abs(x.y())));
    return mesh;
}

Mesh drops()
{
    Mesh mesh;
    for (int i = 0; i < 200; ++i)
        mesh = joined(mesh, sphere_mesh(Vec3f(static_cast<float>(i), 0, 0), 0.01f * static_cast<float>(1 + i % 20), 2));
    return mesh;
}

// Three sheets at one edge, a triangle twice, and triangles without area.
Mesh untidy()
{
    Mesh mesh;
    mesh.positions = {{0, 0, 0}, {1, 0, 0}, {0.5f, 0, 1}, {0.5f, 1, 0}, {0.5f, -1, 0.2f}, {0.5f, 0, 0}, {7, 7, 7}};
    mesh.triangles = {{1, 0, 2}, {0, 1, 3}, {0, 1, 4}, {0, 1, 3}, {0, 5, 1}, {0, 0, 1}, {6, 6, 6}};
    return mesh;
}

Mesh specks() // fewer pixels than triangles
{
    Mesh mesh;
    for (int i = 0; i < 3000; ++i) mesh = joined(mesh, sphere_mesh(Vec3f(static_cast<float>(i), 0, 0), 0.1f, 0));
    return mesh;
}

std::map<std::string, Mesh> all_kinds()
{
    return {{"box", box_mesh({0, 0, 0}, {1, 2, 3})},
            {"ball", sphere_mesh({0, 0, 0}, 1, 5)},
            {"rough ball", rough_ball(5)},
            {"inside out", inside_out(sphere_mesh({5, 5, 5}, 0.1f, 3))},
            {"far away", sphere_mesh({5000, 5000, 5000}, 1, 4)},
            {"ramp", ramp()},
            {"waves", waves()},
            {"needles", needles()},
            {"drops", drops()},
            {"untidy", untidy()}};
}

std::array<Vec2d, 3> corners_of(const Atlas& atlas, size_t t)
{
    std::array<Vec2d, 3> corners;
    for (int k = 0; k < 3; ++k) corners[k] = atlas.places[atlas.triangles[t][k]].cast<double>();
    return corners;
}

// The triangles that contain the centre of each pixel of a picture of the atlas, away from their edges.
std::vector<std::vector<int>> owners(const Atlas& atlas, int size)
{
    constexpr double kEdge = 1e-3; // pixels: places are floats
    std::vector<std::vector<int>> found(static_cast<size_t>(size) * size);
    for (size_t t = 0; t < atlas.triangles.size(); ++t) {
        std::array<Vec2d, 3> c = corners_of(atlas, t);
        for (Vec2d& p : c) p *= size;
        const Vec2d low = c[0].cwiseMin(c[1]).cwiseMin(c[2]), high = c[0].cwiseMax(c[1]).cwiseMax(c[2]);
        for (int y = static_cast<int>(low.y()); y < std::min<double>(size, high.y() + 1); ++y)
            for (int x = static_cast<int>(low.x()); x < std::min<double>(size, high.x() + 1); ++x) {
                bool inside = true;
                for (int k = 0; k < 3; ++k) {
                    const Vec2d edge = c[(k + 1) % 3] - c[k], way = Vec2d(x + 0.5, y + 0.5) - c[k];
                    inside &= edge.x() * way.y() - edge.y() * way.x() > kEdge * edge.norm();
                }
                if (inside) found[static_cast<size_t>(y) * size + x].push_back(static_cast<int>(t));
            }
    }
    return found;
}

} // namespace

TEST(Atlas, NoTwoTrianglesOverlap)
{
    for (const auto& [name, mesh] : all_kinds()) {
        constexpr int kSize = 512, kFine = 2048; // four samples a pixel each way
        const Atlas atlas = make_atlas(mesh, kSize);
        ASSERT_EQ(atlas.triangles.size(), mesh.triangles.size());
        for (const Vec2f& p : atlas.places)
            EXPECT_TRUE(p.minCoeff() >= 0 && p.maxCoeff() <= 1) << name << " " << p.transpose();
        int doubly = 0, covered = 0;
        for (const std::vector<int>& at : owners(atlas, kFine)) doubly += at.size() > 1, covered += !at.empty();
        EXPECT_EQ(doubly, 0) << name;
        EXPECT_GT(covered, 0.2 * kFine * kFine) << name << ", " << atlas.charts << " charts";
    }
}

// Every triangle keeps its orientation, is never stretched, and squeezed by at most a factor 2.
TEST(Atlas, DistortionIsBounded)
{
    for (const auto& [name, mesh] : all_kinds()) {
        const Atlas atlas = make_atlas(mesh, 1024);
        const double scale = 1 / (atlas.texel * atlas.size);
        const float extent = bounds_of(mesh).size().norm();
        for (size_t t = 0; t < mesh.triangles.size(); ++t) {
            const Vec3i& c = mesh.triangles[t];
            const Vec3d a = mesh.positions[c[0]].cast<double>(), ab = mesh.positions[c[1]].cast<double>() - a,
                        ac = mesh.positions[c[2]].cast<double>() - a;
            const double area = ab.cross(ac).norm();
            if (!(area > 1e-4 * static_cast<double>(extent * extent) / static_cast<double>(mesh.triangles.size())))
                continue; // slivers lose their shape in floats
            const Vec3d u = ab.normalized(), v = ab.cross(ac).cross(ab).normalized();
            const std::array<Vec2d, 3> flat = corners_of(atlas, t);
            Eigen::Matrix2d from, to;
            from << u.dot(ab), u.dot(ac), 0, v.dot(ac);
            to << flat[1] - flat[0], flat[2] - flat[0];
            const Eigen::Matrix2d map = to * from.inverse() / scale;
            const Vec2d values = Eigen::JacobiSVD<Eigen::Matrix2d>(map).singularValues();
            EXPECT_GT(map.determinant(), 0) << name << " triangle " << t;
            EXPECT_LT(values[0], 1.02) << name << " triangle " << t;
            EXPECT_GT(values[1], 0.98 / Atlas::kMostSqueezed) << name << " triangle " << t;
        }
    }
}

// Within the gutter around a chart no other one begins.
TEST(Atlas, GuttersSeparateCharts)
{
    for (const auto& [name, mesh] : all_kinds()) {
        constexpr int kSize = 256;
        const Atlas atlas = make_atlas(mesh, kSize);
        EXPECT_GE(atlas.gutter, 1) << name;
        const auto at = owners(atlas, kSize);
        int too_near = 0;
        const auto chart = [&](int x, int y) {
            const std::vector<int>& found = at[static_cast<size_t>(y) * kSize + x];
            return found.empty() ? -1 : atlas.chart[found.front()];
        };
        for (int y = 0; y < kSize; ++y)
            for (int x = 0; x < kSize; ++x)
                for (int dy = -2 * atlas.gutter; chart(x, y) >= 0 && dy <= 2 * atlas.gutter; ++dy)
                    for (int dx = -2 * atlas.gutter; dx <= 2 * atlas.gutter; ++dx) {
                        const int other_x = std::clamp(x + dx, 0, kSize - 1),
                                  other_y = std::clamp(y + dy, 0, kSize - 1);
                        const int other = chart(other_x, other_y);
                        too_near += other >= 0 && other != chart(x, y);
                    }
        EXPECT_EQ(too_near, 0) << name;
    }
}

TEST(Atlas, ChartsAreFew)
{
    EXPECT_LE(make_atlas(sphere_mesh({0, 0, 0}, 1, 5), 512).charts, 14);
    EXPECT_LE(make_atlas(box_mesh({0, 0, 0}, {1, 1, 1}), 512).charts, 6);
    EXPECT_LE(make_atlas(waves(), 512).charts, 30);
}

TEST(Atlas, IsTheSameForAnyNumberOfThreads)
{
    const Mesh mesh = joined(joined(rough_ball(5), ramp()), drops());
    const int threads = thread_count();
    const Atlas atlas = make_atlas(mesh, 1024);
    set_thread_count(1);
    const Atlas one = make_atlas(mesh, 1024);
    set_thread_count(threads);
    EXPECT_EQ(atlas.places, one.places);
    EXPECT_EQ(atlas.triangles, one.triangles);
    EXPECT_EQ(atlas.chart, one.chart);
}

TEST(Atlas, ManyPiecesNeedALargePicture)
{
    const Atlas atlas = make_atlas(specks(), 512);
    EXPECT_GE(atlas.charts, 3000);
    for (const Vec2f& p : atlas.places) EXPECT_TRUE(p.minCoeff() >= 0 && p.maxCoeff() <= 1);
    EXPECT_THROW(make_atlas(specks(), 64), Error);
    EXPECT_TRUE(make_atlas(Mesh(), 64).places.empty());
}

} // namespace spindrift
