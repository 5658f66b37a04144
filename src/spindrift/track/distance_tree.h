// Signed distance to a closed triangle mesh, made for querying near the surface millions of times: the distance tree of
// [Bargteil 2006, 3.3].
//
// A balanced octree around the mesh. A cell is split if the cells next to it contain a triangle (3.10), down to the
// finest, whose edge is the voxel. Each finest cell lists its triangles. A query in a finest cell looks at the
// triangles of the 27 cells around it, nearest cells first, and is exact if the result is less than a voxel. Its sign
// is that of the normal of the nearest face, or of the angle-weighted pseudonormal of the nearest edge or vertex
// [Baerentzen 2005]. Elsewhere the distance is interpolated between the corners of the cell: approximate, with the
// right sign.
//
// Each level is a sparse grid of tiles, so that a cell is found by hashing instead of by descending from the root, its
// neighbours by index, and corners are shared. Corners of cells with triangles hold the exact distance. From there it
// is continued outwards by the eikonal equation, layer by layer and from level to level: as fast marching does [Sethian
// 1996], but in parallel.
//
// Curved distances. Triangles between points of a convex surface lie inside it, so that a surface that is sampled
// again and again shrinks. With `curved`, the distance is that to the quadratic surface through the vertices of the
// nearest triangle with the normals there, as in [Boubekeur 2008]: exact for spheres up to third order. Where normals
// differ by more than some 20 degrees, the surface has an edge, which stays as it is.
//
// Limits: the mesh must be closed and consistently oriented. Where it intersects itself, the sign is that of the
// nearest triangle.
#pragma once

#include "spindrift/mesh/links.h"
#include "spindrift/track/cell_set.h"

namespace spindrift {

// A point on a mesh.
struct SurfacePoint {
    int triangle = -1;
    Vec3f weights = Vec3f::Zero(); // barycentric
};

class DistanceTree {
  public:
    struct Settings {
        float voxel = 1;              // edge of the finest cells
        Vec3f origin = Vec3f::Zero(); // a corner of the grid
        bool curved = true;
    };
    // `cells`: the finest cell that contains each triangle of a contoured mesh, in the order of CellKey; without it,
    // triangles are listed in all cells that they meet.
    DistanceTree(Mesh mesh, const Settings& settings, const std::vector<Vec3i>* cells = nullptr);

    // With normals as in sphere_normals().
    const Mesh& mesh() const { return mesh_; }
    void set_attributes(std::map<std::string, AttributeArray> attributes) { mesh_.attributes = std::move(attributes); }
    const MeshLinks& links() const { return links_; }
    const Settings& settings() const { return settings_; }
    const Box3f& bounds() const { return bounds_; }

    struct Nearest : SurfacePoint {
        float distance = 0; // signed [m]
    };
    // Exact if the surface is within a voxel.
    float distance(const Vec3f& x) const { return find(x, true).distance; }
    // Exact if that is needed to know the sign.
    float estimate(const Vec3f& x) const { return find(x, false).distance; }
    // The nearest point, if the surface is within a voxel; otherwise triangle is -1.
    Nearest nearest(const Vec3f& x) const { return find(x, true); }
    // Interpolated between the corners of the grid by cubic polynomials: smoother than the surface. The exact distance
    // where corners are missing.
    float smooth_distance(const Vec3f& x) const;

    // For tests: the leaf that contains a point, as the number of levels above the finest and its first finest cell;
    // level -1 outside of all.
    struct Leaf {
        int level = -1;
        Vec3i cell = Vec3i::Zero();
    };
    Leaf leaf(const Vec3f& x) const;
    int level_count() const { return static_cast<int>(levels_.size()); }
    size_t cell_count() const;
    size_t bytes() const;

  private:
    struct Level {
        CellSet cells;
        Field<float> phi; // at the lower corner of each cell
    };
    // The triangles of a cell: a range of listed_.
    struct Range {
        uint32_t first = 0, count = 0;
    };
    class Candidates;

    void list_triangles(const std::vector<Vec3i>* cells);
    void make_levels();
    void find_distances();
    void find_exact_corners();
    void copy_from_finer(int level);
    void continue_outwards(int level);
    Vec3f position(const Vec3i& corner, int level) const;
    Vec3i cell_at(const Vec3f& x) const;
    Nearest find(const Vec3f& x, bool exact) const;
    bool find_in_lists(const Vec3f& x, const Vec3i& cell, int tile, Nearest& nearest) const;
    float signed_distance(const Vec3f& x, const SurfacePoint& at) const;
    float interpolate(const Level& level, int tile, const Vec3i& cell, const Vec3f& share) const;

    Mesh mesh_;
    Settings settings_;
    MeshLinks links_;
    std::vector<Vec3f> pseudonormals_; // of vertices
    Box3f bounds_;
    std::vector<CellKey> keys_; // while building: of the listed triangles
    std::vector<int> listed_;   // triangles by finest cell
    // The corners of the listed triangles: one read instead of four.
    struct Corners {
        float at[9];
    };
    std::vector<Corners> listed_corners_;
    std::vector<Level> levels_; // from the finest
    Field<Range> lists_;        // of the finest cells
    std::vector<uint8_t> near_; // of the finest tiles: whether they or their neighbours list triangles
};

} // namespace spindrift
