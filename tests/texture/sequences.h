// Sequences of meshes with known motion.
#pragma once

#include "mesh/test_meshes.h"

#include <Eigen/Geometry>

namespace spindrift {

// The square |x|, |z| <= half in the plane y = 0, with that many cells along an edge. Vertices inside are pushed around
// differently for each seed.
inline Mesh plane_mesh(float half, int cells, uint64_t seed)
{
    Mesh mesh;
    Random random(seed);
    const float cell = 2 * half / static_cast<float>(cells);
    for (int j = 0; j <= cells; ++j)
        for (int i = 0; i <= cells; ++i) {
            const bool inside = i > 0 && i < cells && j > 0 && j < cells;
            const float push = inside ? 0.3f : 0.0f, a = random.uniform(-push, push), b = random.uniform(-push, push);
            mesh.positions.emplace_back(cell * (static_cast<float>(i) + a) - half, 0,
                                        cell * (static_cast<float>(j) + b) - half);
        }
    for (int j = 0; j < cells; ++j)
        for (int i = 0; i < cells; ++i) {
            const int a = j * (cells + 1) + i, b = a + cells + 1;
            mesh.triangles.emplace_back(a, b, a + 1), mesh.triangles.emplace_back(b, b + 1, a + 1);
        }
    compute_normals(mesh);
    return mesh;
}

// A ball of radius 1 that turns about an axis. Consecutive frames have different triangles. Velocities are those of
// the moment, or the motion since the frame before.
struct TurningBall {
    Vec3f axis = Vec3f(1, 2, 3).normalized();
    float angle = 0.1f; // between frames
    float seconds = 0.1f;
    int levels = 4;

    Mesh frame(int number, bool motion) const
    {
        // Each frame has the vertices of a ball that is turned in another way.
        const Eigen::AngleAxisf other(0.7f * static_cast<float>(number * number), Vec3f(3, 1, -2).normalized());
        Mesh mesh = sphere_mesh({0, 0, 0}, 1, levels);
        for (Vec3f& x : mesh.positions) {
            x = other * x;
            mesh.velocities.emplace_back(motion ? Vec3f((x - back(x, 1)) / seconds)
                                                : Vec3f(axis.cross(x) * (angle / seconds)));
        }
        return mesh;
    }
    // Where a place was some frames ago.
    Vec3f back(const Vec3f& x, int frames) const
    {
        return Eigen::AngleAxisf(-angle * static_cast<float>(frames), axis) * x;
    }
};

// A ball of radius 1 whose upper half turns one way and the lower the other, so that textures are wound up. Frames have
// different triangles; velocities are the motion since the frame before.
struct TwistingBall {
    float angle = 0.05f; // between frames, at the poles
    float seconds = 0.1f;
    int levels = 5;

    Mesh frame(int number) const
    {
        const Eigen::AngleAxisf other(0.7f * static_cast<float>(number * number), Vec3f(3, 1, -2).normalized());
        Mesh mesh = sphere_mesh({0, 0, 0}, 1, levels);
        for (Vec3f& x : mesh.positions) {
            x = other * x;
            mesh.velocities.emplace_back((x - back(x)) / seconds);
        }
        return mesh;
    }
    // Where a place was one frame ago.
    Vec3f back(const Vec3f& x) const { return Eigen::AngleAxisf(-angle * std::sin(2 * x.y()), Vec3f::UnitY()) * x; }
};

} // namespace spindrift
