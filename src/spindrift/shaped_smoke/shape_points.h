// Points evenly spread inside a shape, exactly as many as asked for.
//
// Stratified sampling [Madill 2013, 4.2]: the shape is covered with a lattice of small cells, each with one jittered
// point, of which those inside by exact signed distance are candidates. Instead of adding and deleting random points
// until the number is right, there are several times as many candidates as points, and every k-th is taken (k need not
// be an integer) along a space-filling order. Consecutive candidates are neighbours, so each part of the shape gets its
// share of the points to within one, however thin it is. Nothing is stored but a bit per cell.
#pragma once

#include "spindrift/scene/shapes.h"

namespace spindrift {

class ShapePoints {
  public:
    // The shape must be prepared for the frame and outlive this. Throws bad_input("{where}: ...") if it has no volume.
    ShapePoints(const Shape& shape, float frame, const std::string& where);

    double volume() const { return volume_; } // [m3], to about a percent
    std::vector<Vec3f> take(size_t count, uint64_t seed) const;

  private:
    // Cells in blocks of 4x4x4, and these in groups of 4x4x4: both orders are Morton codes of six bits.
    struct Lattice;
    Lattice lattice(float edge, uint64_t seed) const;

    const Shape& shape_;
    float frame_;
    std::string where_;
    Box3f box_;
    double volume_ = 0;
};

} // namespace spindrift
