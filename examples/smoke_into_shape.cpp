// Embeds smoke that takes a shape: a cloud gathers into a mesh, and is let go.
//
//     example_smoke_into_shape out        writes out/column.obj and out/markers.0001.vdb to out/markers.0024.vdb
#include "spindrift/io/frame_path.h"
#include "spindrift/io/mesh_file.h"
#include "spindrift/io/vdb.h"
#include "spindrift/shaped_smoke/shaped_smoke.h"

#include <cstdio>

using namespace spindrift;

int main(int argc, char** argv)
{
    const std::string folder = argc > 1 ? argv[1] : ".";

    // 1. Write a closed mesh to a file: here a column, made from a shape.
    ShapeParams column;
    column.min = Vec3f(-0.2f, 0, -0.2f), column.max = Vec3f(0.2f, 1, 0.2f);
    write_mesh(folder + "/column.obj", Shape(column, "column").mesh(1));

    // 2. A ball of smoke, which takes the shape of the mesh until frame 18.
    ShapedSmokeParams params;
    params.voxel = 0.05f, params.markers = 20000, params.controls = 2000;
    MarkerSourceParams source;
    source.shape = ShapeParams::Kind::sphere, source.center = Vec3f(0.5f, 0.5f, 0), source.radius = 0.3f;
    params.sources = {source};
    TargetParams target;
    target.shape = ShapeParams::Kind::mesh, target.file = folder + "/column.obj";
    target.let_go = 18;
    params.targets = {target};

    // 3. Advance frame by frame.
    ShapedSmoke smoke(params, 24);
    smoke.start(1);
    for (int frame = 1; frame <= 24; ++frame) {
        double arrived = 0;
        if (frame > 1) arrived = smoke.advance().arrived;
        write_particles(frame_path(folder + "/markers.####.vdb", frame), smoke.markers(), params.voxel, 0.01f);
        std::printf("frame %d: %.0f%% of the control particles have arrived\n", frame, 100 * arrived);
    }
}
