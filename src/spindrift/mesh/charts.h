// Cuts a triangle mesh into charts: connected pieces that can be projected along an axis without covering themselves.
#pragma once

#include "spindrift/mesh/mesh.h"

#include <Eigen/Geometry>
#include <array>

namespace spindrift {

struct Charts {
    // The least cosine between the normals of a chart's triangles and its axis.
    static constexpr double kLeastCosine = 0.5;

    std::vector<std::vector<int>> triangles; // of each chart; each triangle of the mesh is in one
    std::vector<Vec3d> axes;
    std::vector<std::vector<std::array<int, 2>>> outlines; // edges, as vertices
};

Charts cut_into_charts(const Mesh& mesh);

// Coordinates across an axis; from the side that the axis points to, v is counter-clockwise of u.
struct ChartPlane {
    Vec3d u, v;
    explicit ChartPlane(const Vec3d& axis) : u(axis.unitOrthogonal()), v(axis.cross(u)) {}
    Eigen::Vector2d operator()(const Vec3f& x) const { return {u.dot(x.cast<double>()), v.dot(x.cast<double>())}; }
};

} // namespace spindrift
