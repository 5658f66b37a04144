// Shots with tracked surfaces as a whole: what their pictures claim, at low resolution.
#include "cli/program.h"
#include "mesh/manifold.h"
#include "spindrift/io/mesh_file.h"
#include "spindrift/mesh/parts.h"

#include <Eigen/Geometry>
#include <gtest/gtest.h>

namespace spindrift {

namespace {

// The share of its volume that the largest connected part of a mesh has.
double share_of_largest_part(const Mesh& mesh)
{
    const std::vector<int32_t> part = MeshParts(mesh).numbers();
    std::vector<double> six_volumes(part.size(), 0);
    for (const Vec3i& t : mesh.triangles) {
        const auto at = [&](int k) { return Vec3d(mesh.positions[t[k]].cast<double>()); };
        six_volumes[part[t[0]]] += at(0).dot(at(1).cross(at(2)));
    }
    return *std::ranges::max_element(six_volumes) / 6 / volume_of(mesh);
}

} // namespace

// scenes/tracked_shelf.toml with cells of twice the size. Crumbs of a few cells come and go.
TEST(TrackedScenes, GoopOffAShelfStaysInOnePieceAndKeepsItsVolume)
{
    const Workplace place;
    for (const char* stage : {"liquid", "track"})
        place.succeed({"run", SPINDRIFT_SOURCE_DIR "/scenes/tracked_shelf.toml", "-o", "out", "--stage", stage, "--set",
                       "liquid.voxel=0.04", "--set", "track.voxel=0.016"});
    const double before = volume_of(read_mesh(place / "out/track/track.0001.ply"));
    EXPECT_NEAR(before, 0.45 * 0.3 * 0.4, 0.02 * 0.054);
    float lowest = kInfinity;
    for (int frame = 2; frame <= 72; ++frame) {
        const Mesh mesh = read_mesh(place / fmt::format("out/track/track.{:04}.ply", frame));
        EXPECT_TRUE(is_manifold(mesh)) << frame;
        EXPECT_GT(share_of_largest_part(mesh), 0.995) << frame;
        EXPECT_NEAR(volume_of(mesh), before, 0.03 * before) << frame;
        lowest = std::min(lowest, bounds_of(mesh).min.y());
    }
    EXPECT_LT(lowest, 0.35f) << "it slides off";
}

} // namespace spindrift
