// How much of each cell of a regular grid lies within polygons, exactly: the free area of a cell that a crowd's
// continuum needs (document 000, 4.4.3).
#pragma once

#include "spindrift/mesh/polygon.h"

namespace spindrift {

struct PlaneGrid {
    Vec2d low;   // corner of the first cell
    double cell; // edge of a cell
    int columns, rows;
};

// A share in [0, 1] for each cell, row by row from the bottom. Polygons must not overlap; outer rings are
// counter-clockwise and holes clockwise.
std::vector<float> area_fractions(const std::vector<Polygon>& polygons, const PlaneGrid& grid);

} // namespace spindrift
