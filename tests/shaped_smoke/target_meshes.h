// Meshes that smoke takes the shape of, made by code: a letter, and a creature with thin limbs that walks.
#pragma once

#include "mesh/test_meshes.h"

#include <Eigen/Geometry>
#include <cmath>

namespace spindrift {

// A ring of a tube, across its direction at that place.
struct TubeRing {
    Vec3f center;
    float radius;
    Vec3f along;
};

// The closed surface through rings, with a tip beyond either end.
inline Mesh mesh_through(const std::vector<TubeRing>& rings, const Vec3f& first_tip, const Vec3f& last_tip, int sectors)
{
    Mesh mesh;
    Vec3f e1 = rings.front().along.unitOrthogonal();
    for (const TubeRing& ring : rings) {
        e1 = (e1 - e1.dot(ring.along) * ring.along).normalized(); // turns as little as possible
        const Vec3f e2 = ring.along.cross(e1);
        for (int s = 0; s < sectors; ++s) {
            const double angle = 2 * kPi * s / sectors;
            mesh.positions.push_back(ring.center + ring.radius * (static_cast<float>(std::cos(angle)) * e1 +
                                                                  static_cast<float>(std::sin(angle)) * e2));
        }
    }
    const int count = static_cast<int>(rings.size());
    for (int r = 0; r + 1 < count; ++r)
        for (int s = 0; s < sectors; ++s) {
            const int a = r * sectors + s, b = r * sectors + (s + 1) % sectors;
            mesh.triangles.emplace_back(a, b, b + sectors), mesh.triangles.emplace_back(a, b + sectors, a + sectors);
        }
    const int bottom = static_cast<int>(mesh.positions.size());
    mesh.positions.push_back(first_tip), mesh.positions.push_back(last_tip);
    for (int s = 0; s < sectors; ++s) {
        const int next = (s + 1) % sectors, last = (count - 1) * sectors;
        mesh.triangles.emplace_back(bottom, next, s), mesh.triangles.emplace_back(bottom + 1, last + s, last + next);
    }
    return mesh;
}

// A closed tube around a polyline, with a radius and a direction at each corner, and round ends.
inline Mesh tube_along(const std::vector<TubeRing>& corners, int sectors)
{
    constexpr int kCap = 5;
    std::vector<TubeRing> rings;
    const auto add_cap = [&](const TubeRing& end, float side) {
        for (int k = 0; k < kCap; ++k) {
            const double angle = kPi / 2 * ((side > 0 ? kCap - 1 - k : k) + 1) / (kCap + 1);
            rings.push_back({end.center + side * end.radius * static_cast<float>(std::cos(angle)) * end.along,
                             end.radius * static_cast<float>(std::sin(angle)), end.along});
        }
    };
    const TubeRing &first = corners.front(), &last = corners.back();
    add_cap(first, -1);
    rings.insert(rings.end(), corners.begin(), corners.end());
    add_cap(last, 1);
    return mesh_through(rings, first.center - first.radius * first.along, last.center + last.radius * last.along,
                        sectors);
}

// A nearly straight tube: its rings are parallel.
inline Mesh tube_mesh(const std::vector<Vec3f>& corners, const std::vector<float>& radii, int sectors = 16)
{
    const Vec3f along = (corners.back() - corners.front()).normalized();
    std::vector<TubeRing> rings;
    for (size_t i = 0; i < corners.size(); ++i) rings.push_back({corners[i], radii[i], along});
    return tube_along(rings, sectors);
}

// A tube of one radius that bends.
inline Mesh bent_tube_mesh(const std::vector<Vec3f>& corners, float radius, int sectors = 16)
{
    std::vector<TubeRing> rings;
    for (size_t i = 0; i < corners.size(); ++i) {
        const Vec3f across = corners[std::min(i + 1, corners.size() - 1)] - corners[i > 0 ? i - 1 : 0];
        rings.push_back({corners[i], radius, across.normalized()});
    }
    return tube_along(rings, sectors);
}

// A long-legged animal, 1.3 m long and 1.2 m high, that walks along x with `speed` [m/s]; `time` in seconds. Its legs
// bend at hip and knee. The vertices of all times correspond.
inline Mesh creature_mesh(float time, float speed = 0.5f)
{
    const Vec3f at(speed * time, 0, 0);
    Mesh mesh = tube_mesh({at + Vec3f(-0.35f, 0.72f, 0), at + Vec3f(-0.1f, 0.75f, 0), at + Vec3f(0.15f, 0.74f, 0),
                           at + Vec3f(0.35f, 0.76f, 0)},
                          {0.15f, 0.17f, 0.17f, 0.14f});
    const auto add = [&](const Mesh& part) { mesh = joined(std::move(mesh), part); };
    const auto nod = static_cast<float>(0.03 * std::sin(4 * kPi * static_cast<double>(time)));
    add(tube_mesh(
        {at + Vec3f(0.38f, 0.8f, 0), at + Vec3f(0.5f, 0.95f + 0.5f * nod, 0), at + Vec3f(0.58f, 1.08f + nod, 0)},
        {0.09f, 0.075f, 0.07f}));
    add(tube_mesh({at + Vec3f(0.56f, 1.1f + nod, 0), at + Vec3f(0.76f, 1.02f + nod, 0)}, {0.09f, 0.05f}));
    add(tube_mesh({at + Vec3f(-0.42f, 0.74f, 0), at + Vec3f(-0.6f, 0.6f, 0.05f * nod / 0.03f)}, {0.05f, 0.04f}));
    for (int leg = 0; leg < 4; ++leg) {
        const bool front = leg < 2;
        const float side = leg % 2 == 0 ? 1.0f : -1.0f;
        const double swing = 2 * kPi * static_cast<double>(time) + (leg == 0 || leg == 3 ? 0 : kPi);
        const double hip = 0.35 * std::sin(swing), knee = hip - 0.5 * std::max(0.0, std::cos(swing));
        const Vec3f top = at + Vec3f(front ? 0.3f : -0.3f, 0.66f, 0.1f * side);
        const Vec3f middle =
            top + 0.32f * Vec3f(static_cast<float>(std::sin(hip)), -static_cast<float>(std::cos(hip)), 0);
        const Vec3f foot =
            middle + 0.3f * Vec3f(static_cast<float>(std::sin(knee)), -static_cast<float>(std::cos(knee)), 0);
        add(tube_mesh({top, Vec3f(0.5f * (top + middle)), middle, Vec3f(0.5f * (middle + foot)), foot},
                      {0.07f, 0.065f, 0.06f, 0.055f, 0.05f}));
    }
    return mesh;
}

// A point of an ellipse in the xy plane.
inline Vec3f on_ellipse(const Vec3f& middle, float width, float height, double angle)
{
    return middle + Vec3f(width * static_cast<float>(std::cos(angle)), height * static_cast<float>(std::sin(angle)), 0);
}

// The letters psi and omega of scenes/make_shapes.py: tubes of 15 cm, about 1.1 m high.
inline Mesh psi_mesh()
{
    std::vector<Vec3f> bowl = {Vec3f(-0.38f, 1.02f, 0), Vec3f(-0.38f, 0.87f, 0)};
    for (int k = 0; k <= 16; ++k) bowl.push_back(on_ellipse(Vec3f(0, 0.72f, 0), 0.38f, 0.38f, kPi * (1 + k / 16.0)));
    bowl.emplace_back(0.38f, 0.87f, 0.0f), bowl.emplace_back(0.38f, 1.02f, 0.0f);
    std::vector<Vec3f> stem;
    for (int k = 0; k <= 10; ++k) stem.emplace_back(0.0f, 0.05f + 0.1f * static_cast<float>(k), 0.0f);
    return joined(bent_tube_mesh(stem, 0.075f), bent_tube_mesh(bowl, 0.075f));
}

inline Mesh omega_mesh()
{
    std::vector<Vec3f> line = {Vec3f(0.48f, 0.08f, 0), Vec3f(0.32f, 0.08f, 0), Vec3f(0.2f, 0.09f, 0)};
    for (int k = 0; k <= 32; ++k)
        line.push_back(on_ellipse(Vec3f(0, 0.62f, 0), 0.4f, 0.44f, kPi / 180 * (-62 + k * 304 / 32.0)));
    for (const auto& [x, y] : {std::pair(-0.2f, 0.09f), {-0.32f, 0.08f}, {-0.48f, 0.08f}})
        line.emplace_back(x, y, 0.0f);
    return bent_tube_mesh(line, 0.075f);
}

// The letter T, 1 m high and 0.2 m thick.
inline Mesh letter_mesh()
{
    const std::vector<std::pair<float, float>> outline = {{-0.1f, 0}, {0.1f, 0},  {0.1f, 0.8f},  {0.4f, 0.8f},
                                                          {0.4f, 1},  {-0.4f, 1}, {-0.4f, 0.8f}, {-0.1f, 0.8f}};
    Mesh mesh;
    for (const float z : {-0.1f, 0.1f})
        for (const auto& [x, y] : outline) mesh.positions.emplace_back(x, y, z);
    const int n = static_cast<int>(outline.size());
    for (int i = 0; i < n; ++i) {
        const int j = (i + 1) % n;
        mesh.triangles.emplace_back(i, j, j + n), mesh.triangles.emplace_back(i, j + n, i + n);
    }
    for (const Vec3i& t :
         {Vec3i(0, 1, 2), Vec3i(0, 2, 7), Vec3i(7, 2, 5), Vec3i(2, 3, 4), Vec3i(2, 4, 5), Vec3i(7, 5, 6)}) {
        mesh.triangles.emplace_back(t[0] + n, t[1] + n, t[2] + n); // front
        mesh.triangles.emplace_back(t[0], t[2], t[1]);
    }
    return mesh;
}

} // namespace spindrift
