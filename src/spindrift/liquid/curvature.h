// How curved the liquid's surface is, for surface tension.
#pragma once

#include "spindrift/world/solids.h"

namespace spindrift {

class Curvature {
  public:
    // From the distance to the surface (free_surface.h). In solids the surface is continued at the contact angle,
    // measured in the liquid [radians].
    void measure(const Field<float>& phi, const SolidCells& solids, float contact_angle);
    // Twice the mean curvature, per cell, positive for a drop: at cell centres near the surface, that of the surface
    // next to them.
    Field<float>& values() { return curvature_; }
    size_t bytes() const { return smooth_.bytes() + scratch_.bytes() + curvature_.bytes(); }

  private:
    Field<float> smooth_, scratch_, curvature_;
};

} // namespace spindrift
