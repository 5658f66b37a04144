// The zero set of a function as a closed triangle mesh [Bargteil 2006, 3.3.3 and 3.4].
//
// An octree is refined where the function is small compared with the edge of a cell (3.8), and the finest cells are
// contoured by marching cubes: one vertex on each edge between corners of different sign, found by a secant iteration
// on the function itself; in each cube a polygon for each sheet of the surface (mesh/cube_sheets.h). The mesh is closed
// and manifold by construction: cubes that share a face cut it along the same lines, a missing cube next to a cut face
// is added, and no two sheets share more than vertices.
//
// Limits: parts of the zero set that are thinner than a voxel and lie between the corners of the grid are not seen.
#pragma once

#include "spindrift/mesh/mesh.h"
#include "spindrift/track/distance_tree.h"

namespace spindrift {

// A function whose zero set is the surface; negative inside. About as large as the distance to it.
class SurfaceFunction {
  public:
    virtual ~SurfaceFunction() = default;
    // Values with the right sign, exact near the surface.
    virtual void estimate(std::span<const Vec3f> points, std::span<float> values) const = 0;
    // Exact values, and where each point comes from, if it comes from a surface.
    virtual void evaluate(std::span<const Vec3f> points, std::span<DistanceTree::Nearest> results) const = 0;
    // Contains the surface.
    virtual Box3f bounds() const = 0;
};

struct ContouredMesh {
    Mesh mesh;                        // positions and triangles
    std::vector<Vec3i> cells;         // of the triangles, in the order of CellKey
    std::vector<SurfacePoint> origin; // of the vertices: from SurfaceFunction::evaluate()
};
// `origin` is a corner of the grid.
ContouredMesh contour(const SurfaceFunction& function, float voxel, const Vec3f& origin);

} // namespace spindrift
