// Signed distance to a closed triangle mesh.
//
// The distance is the exact distance to the nearest triangle, found in a bounding-box tree with eight children per
// node. The sign is that of the winding number, which for a closed mesh is the signed count of the triangles that a ray
// from the point crosses. Unlike the normal of the nearest triangle, it is exact near edges and vertices, and it treats
// overlapping parts as their union. A mesh that is inverted as a whole is handled as if it were not.
//
// Rays are axis-aligned, so a crossing is decided in a plane by exact coordinates. A ray that hits an edge or a vertex
// is perturbed symbolically by an infinitesimal step, the same for every triangle [Edelsbrunner 1990].
//
// Limits: holes are not closed. A mesh that is not closed has no inside, and its distance is positive on both sides.
//
// Over a million queries per second and core near a mesh of 10 thousand triangles; queries are thread-safe.
#pragma once

#include "spindrift/mesh/mesh.h"

namespace spindrift {

class MeshDistance {
  public:
    // Copies the mesh. An empty mesh is infinitely far from everything. Pass closed = false for a mesh with a boundary.
    explicit MeshDistance(const Mesh& mesh, bool closed = true);

    // Negative inside.
    float distance(const Vec3f& x) const { return distance(x, kInfinity); }
    // The distance clamped to max_distance, with the right sign: much faster for points far from the surface.
    float distance(const Vec3f& x, float max_distance) const;
    // Nearest triangle of a point (index in the mesh), and the barycentric weights of the nearest point on it.
    struct Nearest {
        int triangle;
        Vec3f weights;
    };
    Nearest nearest(const Vec3f& x) const;
    // True if the segment intersects a triangle. Triangles are enlarged slightly, so that nothing passes between
    // adjacent ones.
    bool meets(const Vec3f& from, const Vec3f& to) const;
    const Box3f& bounds() const { return bounds_; }

  private:
    // Eight child boxes in SoA layout, tested together with vector instructions. An unused lane holds an empty box,
    // which is infinitely far and meets no ray.
    struct alignas(32) Node {
        float low[3][8], high[3][8];
        int child[8]; // index of a node, or ~index of a leaf
    };
    // Up to eight triangles in SoA layout; an unused lane holds a degenerate triangle (one point), which no ray
    // crosses.
    struct alignas(32) Leaf {
        float a[3][8], b[3][8], c[3][8];
        int triangle[8];
    };
    struct Builder;
    struct Found {
        float distance2;
        int leaf; // -1 if no triangle is nearer than the limit
    };

    Found find_nearest(const Vec3f& x, float limit2) const;
    bool inside(const Vec3f& x) const;
    // Calls visit(leaf) for each leaf whose box reaches(low, high) accepts, until it returns false.
    template <class Reaches, class Visit> void visit_leaves(const Reaches& reaches, const Visit& visit) const;

    Box3f bounds_;
    bool closed_ = true, inside_out_ = false;
    std::vector<Node> nodes_; // the first is the root
    std::vector<Leaf> leaves_;
};

} // namespace spindrift
