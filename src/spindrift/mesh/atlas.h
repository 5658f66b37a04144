// A UV atlas: a triangle mesh cut into charts, each projected onto a plane and placed in the unit square, so that no
// two triangles overlap and every triangle has its own part of a picture.
//
// Charts grow over neighbouring triangles whose normals are within 60 degrees of the chart's axis, along which it is
// projected. All charts have the same scale, so that lengths on the surface are squeezed by at most a factor of
// kMostSqueezed, and never stretched. Charts whose outline crosses itself are divided. They are packed by their
// outlines, the tallest first, with a gutter around each [Levy 2002, 4.2].
//
// Works for open and non-manifold meshes, and for any number of parts. Triangles without area have places too.
//
// About 0.2 s of one core for 200 thousand triangles, linear.
#pragma once

#include "spindrift/mesh/mesh.h"

namespace spindrift {

struct Atlas {
    static constexpr double kMostSqueezed = 2;

    int size = 0;                 // edge of the picture [pixels]
    int gutter = 0;               // around each chart [pixels]
    double texel = 0;             // edge of a pixel on the surface, where it is not squeezed [m]
    std::vector<Vec2f> places;    // in the unit square; (0, 0) is at the lower left
    std::vector<Vec3i> triangles; // the places of the corners of each triangle of the mesh
    std::vector<int> chart;       // of each triangle
    int charts = 0;
};

// Throws Error(bad_input) if there are too many charts for the picture.
Atlas make_atlas(const Mesh& mesh, int size);

} // namespace spindrift
