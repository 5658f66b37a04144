#include "spindrift/surface/contour.h"

#include "spindrift/base/random.h"
#include "spindrift/mesh/cube_sheets.h"

#include <gtest/gtest.h>

using namespace spindrift;

namespace {

// Values in a box of cells, surrounded by outside.
template <class Value> Field<float> field_of(const Topology& topology, int size, const Value& value)
{
    Field<float> phi(topology, 1.0f);
    for (int t = 0; t < topology.tile_count(); ++t)
        for (int c = 0; c < kTileCells; ++c) {
            const Vec3i cell = topology.first_cell(t) + cell_in_tile(c);
            if (cell.minCoeff() >= 1 && cell.maxCoeff() < size - 1) phi.tile(t)[c] = value(cell);
        }
    return phi;
}

bool face_is_cut_twice(int configuration, int face, std::array<int, 4>& edges)
{
    int count = 0;
    for (int edge = 0; edge < 12; ++edge) {
        const CubeEdge e(edge);
        const auto on_face = [&](int corner) { return cube_corner_place(corner)[face / 2] == (face & 1); };
        const bool cut = (configuration >> e.low & 1) != (configuration >> e.high & 1);
        if (cut && on_face(e.low) && on_face(e.high)) edges[count++] = edge;
    }
    return count == 4;
}

bool in_one_sheet(const CubeSheets& sheets, const std::array<int, 4>& edges)
{
    const int first = sheets.of_edge[edges[0]];
    return std::ranges::all_of(edges, [&](int e) { return sheets.of_edge[e] == first; });
}

} // namespace

// The property that the argument for closedness in cube_sheets.h relies on.
TEST(Contour, NoSheetCrossesAFaceTwiceOnBothSides)
{
    for (int configuration = 0; configuration < 256; ++configuration) {
        const CubeCase& cube = cube_cases()[configuration];
        EXPECT_LE(cube.normal.count, 4);
        for (int face = 0; face < 6; ++face) {
            std::array<int, 4> edges{};
            if (!face_is_cut_twice(configuration, face, edges)) continue;
            EXPECT_EQ(in_one_sheet(cube.normal, edges), face == cube.twice) << configuration;
            EXPECT_FALSE(in_one_sheet(cube.flipped, edges)) << configuration;
        }
    }
}

TEST(Contour, NoiseOfAnyDensityIsClosed)
{
    constexpr int kSize = 40;
    const Topology topology = Topology::covering(Vec3i::Zero(), Vec3i::Constant(kSize));
    for (int k = 1; k < 10; ++k) {
        Random random(static_cast<uint64_t>(k));
        const float share = 0.1f * static_cast<float>(k);
        const auto phi = field_of(topology, kSize, [&](const Vec3i&) { return random.uniform() - share; });
        const Mesh mesh = contour(phi, 0.1f).mesh;
        EXPECT_TRUE(is_closed(mesh)) << share;
        EXPECT_GT(volume_of(mesh), 0) << share;
        const Box3f box{Vec3f(0.53f, 0.61f, 0.5f), Vec3f(3.1f, 2.05f, 2.0f)};
        const Mesh cut = contour(phi, 0.1f, box).mesh;
        EXPECT_TRUE(is_closed(cut)) << share;
        EXPECT_TRUE(box.contains(bounds_of(cut).min) && box.contains(bounds_of(cut).max));
    }
}

TEST(Contour, ContainerWallsAreExact)
{
    constexpr int kSize = 24;
    const Topology topology = Topology::covering(Vec3i::Zero(), Vec3i::Constant(kSize));
    const auto phi = field_of(topology, kSize, [](const Vec3i&) { return -1.0f; });
    const Box3f box{Vec3f(3.3f, 4.5f, 5.7f), Vec3f(14.1f, 12.2f, 16.5f)};
    const Mesh mesh = contour(phi, 1, box).mesh;
    EXPECT_TRUE(is_closed(mesh));
    EXPECT_NEAR(volume_of(mesh), box.size().prod(), 1e-2);
    EXPECT_EQ(bounds_of(mesh).min, box.min);
    EXPECT_EQ(bounds_of(mesh).max, box.max);
}

TEST(Contour, SphereHasItsVolumeAndNormals)
{
    constexpr int kSize = 32;
    const Topology topology = Topology::covering(Vec3i::Zero(), Vec3i::Constant(kSize));
    const Vec3f center(15.7f, 16.1f, 15.2f);
    const auto phi = field_of(topology, kSize, [&](const Vec3i& cell) {
        return (cell.cast<float>() + Vec3f::Constant(0.5f) - center).norm() - 10;
    });
    const Contour result = contour(phi, 1);
    EXPECT_TRUE(is_closed(result.mesh));
    EXPECT_NEAR(volume_of(result.mesh) / (4 * kPi / 3 * 1000), 1, 0.01);
    EXPECT_EQ(result.tile_first.back(), result.mesh.positions.size());
    for (size_t i = 0; i < result.mesh.positions.size(); ++i) {
        const Vec3f out = result.mesh.positions[i] - center;
        EXPECT_NEAR(out.norm(), 10, 0.05f);
        EXPECT_GT(result.mesh.normals[i].dot(out.normalized()), 0.999f);
    }
}
