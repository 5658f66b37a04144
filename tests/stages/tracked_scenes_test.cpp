// Shots with tracked surfaces as a whole: what their pictures claim, at low resolution.
#include "cli/program.h"
#include "mesh/manifold.h"
#include "spindrift/io/mesh_file.h"
#include "spindrift/mesh/parts.h"

#include <gtest/gtest.h>

namespace spindrift {

// scenes/tracked_shelf.toml with cells of twice the size.
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
        EXPECT_EQ(std::ranges::max(MeshParts(mesh).numbers()), 0) << "parts besides the first, frame " << frame;
        EXPECT_NEAR(volume_of(mesh), before, 0.02 * before) << frame;
        lowest = std::min(lowest, bounds_of(mesh).min.y());
    }
    EXPECT_LT(lowest, 0.35f) << "it slides off";
}

} // namespace spindrift
