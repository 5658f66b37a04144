// Embeds sand with a rigid body: a ball falls into a bed of sand.
//
//     example_sand_with_body out        writes out/sand.0001.vdb to out/sand.0010.vdb; prints where the ball is
#include "spindrift/io/frame_path.h"
#include "spindrift/io/vdb.h"
#include "spindrift/sand/granular_sand.h"

#include <cstdio>

using namespace spindrift;

int main(int argc, char** argv)
{
    const std::string folder = argc > 1 ? argv[1] : ".";

    // 1. A bed of sand in a box, and a ball of steel above it.
    SandParams params;
    params.voxel = 0.04f;
    params.domain.min = Vec3f(0, 0, 0), params.domain.max = Vec3f(0.6f, 0.8f, 0.6f);
    SandSourceParams bed;
    bed.max = Vec3f(0.6f, 0.2f, 0.6f);
    params.sources = {bed};
    BodyParams ball;
    ball.name = "ball", ball.shape = ShapeParams::Kind::sphere;
    ball.center = Vec3f(0.3f, 0.45f, 0.3f), ball.radius = 0.1f, ball.density = 7800;
    params.bodies = {ball};

    // 2. Advance, print the position, and keep the state at half time.
    GranularSand sand(params, 24);
    sand.start(1);
    GranularSand::State half;
    for (int frame = 1; frame <= 10; ++frame) {
        if (frame > 1) sand.advance();
        if (frame == 5) half = sand.state();
        write_particles(frame_path(folder + "/sand.####.vdb", frame), sand.particles(), params.voxel,
                        sand.particle_radius());
        const Vec3d& at = sand.bodies().center(0);
        std::printf("frame %d: the ball is at %.3f %.3f %.3f\n", frame, at.x(), at.y(), at.z());
    }

    // 3. Restore the state: the same frames follow, to the bit.
    const Vec3d end = sand.bodies().center(0);
    sand.restore(half);
    while (sand.frame() < 10) sand.advance();
    if (sand.bodies().center(0) != end) return std::puts("the second run ended elsewhere"), 1;
}
