// How the surface passes through a cube of eight samples: which of the cut edges belong to the same sheet.
#pragma once

#include "spindrift/base/math.h"

#include <array>

namespace spindrift {

// Corner c of a cube lies at (c >> 2, c >> 1 & 1, c & 1). Edge 4 a + 2 u + v runs along axis a; u and v are the
// positions on the other two axes, in ascending order. Face 2 a + side. A configuration has bit c set if corner c is
// inside.
inline int cube_corner(int x, int y, int z) { return x << 2 | y << 1 | z; }
inline Vec3i cube_corner_place(int corner) { return {corner >> 2, corner >> 1 & 1, corner & 1}; }

struct CubeEdge {
    int axis, low, high; // corners

    explicit CubeEdge(int edge) : axis(edge >> 2)
    {
        const int u = edge >> 1 & 1, v = edge & 1;
        low = axis == 0 ? cube_corner(0, u, v) : axis == 1 ? cube_corner(u, 0, v) : cube_corner(u, v, 0);
        high = low | 4 >> axis;
    }
};

// The sheets of one configuration: the sheet index of each cut edge, at most four sheets. The cut edges of a sheet form
// a loop, which runs counter-clockwise as seen from outside.
struct CubeSheets {
    int count = 0;
    std::array<int8_t, 12> of_edge{}; // -1 for edges that are not cut
    std::array<int8_t, 12> next{};    // the next edge of the loop, or -1
};

// A face whose inside corners are diagonal can be crossed in two ways. Normally the inside corners are separated. In
// some configurations a single sheet then crosses the face twice; if that happens on both sides of a face, four quads
// share one edge of the mesh. Such faces (`twice`, or -1; a configuration has at most one) are crossed the other way,
// `flipped`, by both cubes, which separates the sheets. The tests check for all configurations that no other such edge
// remains.
struct CubeCase {
    CubeSheets normal, flipped;
    int twice = -1;
};
const std::array<CubeCase, 256>& cube_cases();

} // namespace spindrift
