// Curvature of the liquid's surface, for surface tension, which is the pressure at the free surface in the projection.
// It is the curvature of the distance after two light smoothing passes, extrapolated from each cell's centre to the
// surface along both principal directions: without the latter, a bump too small for the smoothed distance to show meets
// a lower pressure farther out, and grows. The step resolves the shortest capillary wave, and moves at most half a cell
// (Liquid::largest_step).
#pragma once

#include "spindrift/world/solids.h"

namespace spindrift {

class Curvature {
  public:
    // From the distance to the surface (free_surface.h). In solids the surface is continued at the contact angle,
    // measured in the liquid [radians].
    void measure(const Field<float>& phi, const SolidCells& solids, float contact_angle);
    // Twice the mean curvature [1 / cell], positive for a drop: at cell centres near the surface, the curvature of the
    // surface next to them.
    Field<float>& values() { return curvature_; }
    size_t bytes() const { return smooth_.bytes() + scratch_.bytes() + curvature_.bytes(); }

  private:
    Field<float> smooth_, scratch_, curvature_;
};

} // namespace spindrift
