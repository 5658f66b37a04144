// Exact share of each cell of a regular grid that lies within polygons, by Green's theorem along their edges: the free
// area of a cell in the continuum of a crowd [Narain 2011, section 4.4.3].
#pragma once

#include "spindrift/mesh/polygon.h"

namespace spindrift {

struct PlaneGrid {
    Vec2d low;   // corner of the first cell
    double cell; // edge of a cell
    int columns, rows;
};

// A share in [0, 1] for each cell, row by row from the bottom. Polygons must not overlap. Outer rings are
// counter-clockwise, holes clockwise.
std::vector<float> area_fractions(const std::vector<Polygon>& polygons, const PlaneGrid& grid);

} // namespace spindrift
