// Embeds a liquid: a dam break, set up from parameters, advanced frame by frame and written as VDB points.
//
//     example_dam_break out        writes out/liquid.0001.vdb to out/liquid.0010.vdb; prints what each frame took
//
// Links only Spindrift::liquid and Spindrift::io, without image, ray-tracing or geometry libraries.
#include "spindrift/io/atomic_file.h"
#include "spindrift/io/frame_path.h"
#include "spindrift/io/vdb.h"
#include "spindrift/liquid/liquid.h"

#include <cstdio>

using namespace spindrift;

int main(int argc, char** argv)
{
    const std::string folder = argc > 1 ? argv[1] : ".";

    // 1. The parameters that a scene has in [liquid]. SI units, y is up.
    LiquidParams params;
    params.voxel = 0.05f;
    params.transfer = Transfer::apic;
    params.domain.min = Vec3f(0, 0, 0);
    params.domain.max = Vec3f(2, 1, 1);
    SourceParams water;
    water.max = Vec3f(0.6f, 0.8f, 1); // a box from the origin, filled at the first frame
    params.sources = {water};

    // 2. Make the solver and the state at frame 1.
    Liquid liquid(params, /*fps=*/24);
    liquid.start(1);

    // 3. Advance frame by frame. Caches store the motion over the last frame as velocity.
    for (int frame = 1; frame <= 10; ++frame) {
        if (frame > 1) {
            const LiquidReport report = liquid.advance();
            std::printf("frame %d: %zu particles, %d substeps, %d iterations, %.2f s\n", frame, report.particles,
                        report.substeps, report.iterations, report.times.total());
        }
        liquid.show_motion([&](const Particles& particles) {
            write_particles(frame_path(folder + "/liquid.####.vdb", frame), particles, params.voxel,
                            liquid.particle_radius());
        });
    }
}
