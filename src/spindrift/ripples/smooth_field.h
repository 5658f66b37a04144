// Samples a coarse field on a finer grid by the cubic B-spline with the field's values as coefficients. This smooths
// out details at the scale of the coarse grid, reproduces planes, and has continuous slope and curvature.
#pragma once

#include "spindrift/field/row.h"

namespace spindrift {

class SmoothField {
  public:
    // One cell of `coarse` is `refine` cells of the finer grid: 2, 4 or 8.
    SmoothField(const Field<float>& coarse, int refine);

    // Samples at the cell centres of one tile of the finer grid.
    struct Tile {
        alignas(64) float value[kTileCells];
        alignas(64) float slope[3][kTileCells]; // per coarse cell
    };
    void sample(const Vec3i& fine_tile, Tile& out) const;

  private:
    static constexpr int kMaxNodes = kTileSize; // per axis, for a refinement of two
    void gather(const Vec3i& fine_tile, float (&nodes)[kMaxNodes][kMaxNodes][kMaxNodes]) const;

    const Field<float>* coarse_;
    int refine_, count_; // nodes per axis of a tile
    // For each cell along an axis: the first of its four nodes, and the weights of value and slope.
    struct Place {
        int first;
        float weight[4], slope[4];
    };
    Place places_[kTileSize];
};

} // namespace spindrift
