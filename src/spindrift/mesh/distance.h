// Signed distance to a closed triangle mesh.
//
// The distance is the exact distance to the nearest triangle, found in a tree of boxes eight children wide. The sign is
// the mesh's winding number, which for a closed mesh is the signed count of the triangles that a ray from the point
// crosses: exact near edges and vertices, where the nearest triangle's normal is not, and sensible where parts of the
// mesh overlap, since the inside of either part is inside. A mesh that is inside out as a whole is taken as if it were
// not.
//
// Rays run along an axis, so a crossing is decided in a plane by exact coordinates, and a point straight below an edge
// or a vertex is moved aside by an imagined infinitely small step, the same for every triangle (Edelsbrunner and
// Mücke, Simulation of Simplicity, 1990). What the method cannot do is close holes: a mesh that is not closed has no
// inside, and its distance is positive on both sides.
//
// Over a million queries a second and core near a mesh of 10 thousand triangles; safe to call from many threads.
#pragma once

#include "spindrift/mesh/mesh.h"

namespace spindrift {

class MeshDistance {
  public:
    // The mesh is copied. An empty one is infinitely far from everything. One that is not closed must say so.
    explicit MeshDistance(const Mesh& mesh, bool closed = true);

    // Negative inside.
    float distance(const Vec3f& x) const { return distance(x, kInfinity); }
    // The same where it is nearer than max_distance, and max_distance with the right sign elsewhere: much faster for
    // points far from the surface.
    float distance(const Vec3f& x, float max_distance) const;
    // The triangle next to a point, by its number in the mesh, and the weights of its corners at the nearest place on
    // it.
    struct Nearest {
        int triangle;
        Vec3f weights;
    };
    Nearest nearest(const Vec3f& x) const;
    // True if the line from one place to another meets a triangle. Triangles are taken a little larger than they are,
    // so that nothing passes between two of them.
    bool meets(const Vec3f& from, const Vec3f& to) const;
    const Box3f& bounds() const { return bounds_; }

  private:
    // Eight boxes side by side, so that one pass of vector instructions handles them all. An unused lane holds an empty
    // box, which is infinitely far and meets no ray.
    struct alignas(32) Node {
        float low[3][8], high[3][8];
        int child[8]; // a node, or ~index of a leaf
    };
    // Up to eight triangles side by side; an unused lane holds a single point of the mesh, which no ray crosses.
    struct alignas(32) Leaf {
        float a[3][8], b[3][8], c[3][8];
        int triangle[8];
    };
    struct Builder;
    struct Found {
        float distance2;
        int leaf; // in which; -1 if no triangle is nearer than the limit
    };

    Found find_nearest(const Vec3f& x, float limit2) const;
    bool inside(const Vec3f& x) const;

    Box3f bounds_;
    bool closed_ = true, inside_out_ = false;
    std::vector<Node> nodes_; // the first is the root
    std::vector<Leaf> leaves_;
};

} // namespace spindrift
