// A field at the cells of a coarse grid as a smooth function on a finer one: the cubic B-spline that has its values as
// coefficients. It takes off what is smaller than the coarse grid, leaves planes as they are, and has slopes and
// curvatures without jumps.
#pragma once

#include "spindrift/field/row.h"

namespace spindrift {

class SmoothField {
  public:
    // One cell of `coarse` is `refine` cells long on the finer grid: 2, 4 or 8.
    SmoothField(const Field<float>& coarse, int refine);

    // At the cell centres of one tile of the finer grid.
    struct Tile {
        alignas(64) float value[kTileCells];
        alignas(64) float slope[3][kTileCells]; // per coarse cell
    };
    void sample(const Vec3i& fine_tile, Tile& out) const;

  private:
    static constexpr int kMostNodes = kTileSize; // along an axis, for a refinement of two
    void gather(const Vec3i& fine_tile, float (&nodes)[kMostNodes][kMostNodes][kMostNodes]) const;

    const Field<float>* coarse_;
    int refine_, count_; // of nodes along an axis of a tile
    // Of each cell along an axis: its first node of four, their weights, and those of the slope.
    struct Place {
        int first;
        float weight[4], slope[4];
    };
    Place places_[kTileSize];
};

} // namespace spindrift
