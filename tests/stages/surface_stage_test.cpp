#include "cli/program.h"
#include "spindrift/io/mesh_file.h"

#include <gtest/gtest.h>

namespace spindrift {

// A plate of 5 mm, thinner than a cell, pushes a pool of water.
TEST(SurfaceStage, DoesNotProtrudeBehindAThinMovingCollider)
{
    const Workplace place;
    place.write("piston.toml", R"([shot]
frames = "1-8"
[liquid]
voxel = 0.05
[liquid.domain]
min = [0, 0, 0]
max = [1, 0.8, 0.5]
[[liquid.source]]
min = [0, 0, 0]
max = [0.597, 0.3, 0.5]
[[liquid.collider]]
min = [0.5975, -0.5, -0.5]
max = [0.6025, 1.5, 1]
translate = [[1, 0, 0, 0], [8, -0.14, 0, 0]]
[surface]
)");
    place.succeed({"run", "piston.toml", "-o", "out"});
    for (int frame = 1; frame <= 8; ++frame) {
        const float middle = 0.6f - 0.02f * static_cast<float>(frame - 1);
        float farthest = 0;
        for (const Vec3f& x : read_mesh(place / fmt::format("out/surface/surface.{:04}.ply", frame)).positions)
            farthest = std::max(farthest, x.x());
        EXPECT_LT(farthest, middle + 0.0025f) << "frame " << frame;
        EXPECT_GT(farthest, middle - 0.02f) << "frame " << frame;
    }
}

} // namespace spindrift
