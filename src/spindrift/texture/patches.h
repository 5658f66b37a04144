// Overlapping patches of a surface, each flattened into a plane of texels [Bargteil 2006, 4.4.2]. Patches grow around
// seeds, vertex by vertex: each is put where its triangles keep their shape, the mean if they disagree [Maillot 1993],
// unless it would distort a triangle too much [Sander 2001], or cover what is flattened already. Then the patch is
// aligned with a field of directions by least squares [Praun 2000].
#pragma once

#include "spindrift/mesh/links.h"

namespace spindrift {

struct PatchSettings {
    int size = 33;        // of a patch, in texels
    float texel = 1;      // [m]
    float distortion = 2; // the largest scaling of a triangle in any direction, or its inverse
    float overlap = 0.9f; // distance between seeds, in halves of the size
    bool align = true;
};

struct Patch {
    int seed = 0; // a vertex, at the origin
    std::vector<int> vertices;
    std::vector<Vec2f> places;    // of the vertices [texels]
    std::vector<Vec3i> triangles; // of its own vertices, counter-clockwise
};

// Scaling of a triangle between the plane and the surface: max(largest, 1 / smallest); infinite if it is flipped.
float distortion_of(const Vec3f& q1, const Vec3f& q2, const Vec3f& q3, const Vec2f& p1, const Vec2f& p2,
                    const Vec2f& p3, float texel);

// Every vertex that has a triangle which can be flattened is in a patch.
// `mesh` has normals; `directions`, of unit length and tangent, become the first axis of the plane. Vertices in
// `preferred`, if it is not empty, become seeds first, so that patches can stay where they were in an earlier frame.
std::vector<Patch> make_patches(const Mesh& mesh, const MeshLinks& links, const std::vector<Vec3f>& directions,
                                const PatchSettings& settings, uint64_t seed,
                                const std::vector<uint8_t>& preferred = {});
// Smaller patches as parts of larger ones, which is faster than to grow them.
std::vector<Patch> smaller_patches(const Mesh& mesh, const MeshLinks& links, const std::vector<Patch>& large,
                                   const PatchSettings& settings, uint64_t seed,
                                   const std::vector<uint8_t>& preferred = {});

} // namespace spindrift
