// Embeds smoke with a moving collider: smoke rises around a mesh from a file with keyframes.
//
//     example_smoke_around_mesh out        writes out/ball.obj and out/smoke.0001.vdb to out/smoke.0012.vdb
#include "spindrift/io/frame_path.h"
#include "spindrift/io/mesh_file.h"
#include "spindrift/io/vdb.h"
#include "spindrift/smoke/smoke.h"

#include <cstdio>

using namespace spindrift;

int main(int argc, char** argv)
{
    const std::string folder = argc > 1 ? argv[1] : ".";

    // 1. Write a closed mesh to a file: here a ball, made from a shape.
    ShapeParams ball;
    ball.shape = ShapeParams::Kind::sphere, ball.radius = 0.15f;
    write_mesh(folder + "/ball.obj", Shape(ball, "ball").mesh(1));

    // 2. Hot smoke from a source, and above it the mesh, which moves sideways: rows of frame, x, y, z.
    SmokeParams params;
    params.voxel = 0.05f;
    SmokeSourceParams source;
    source.shape = ShapeParams::Kind::sphere, source.center = Vec3f(0, 0.15f, 0), source.radius = 0.12f;
    source.temperature = 150;
    params.sources = {source};
    SmokeColliderParams mesh;
    mesh.shape = ShapeParams::Kind::mesh, mesh.file = folder + "/ball.obj";
    mesh.translate = {{1, -0.1f, 0.6f, 0}, {12, 0.2f, 0.6f, 0}};
    params.colliders = {mesh};

    // 3. Advance frame by frame. The grid follows the smoke; fields are written by copying their tiles.
    Smoke smoke(params, 24);
    smoke.start(1);
    for (int frame = 1; frame <= 12; ++frame) {
        if (frame > 1) smoke.advance();
        std::vector<NamedField> fields;
        for (const SmokeScalar& scalar : smoke.scalars()) fields.push_back({scalar.name, &scalar.value});
        const Field<Vec3f> velocity = smoke.velocity_at_centers();
        write_fields(frame_path(folder + "/smoke.####.vdb", frame), fields, params.voxel, {}, {{"vel", &velocity}});
        std::printf("frame %d: %d tiles, %.4f m3 of smoke\n", frame, smoke.topology().tile_count(), smoke.mass());
    }
}
