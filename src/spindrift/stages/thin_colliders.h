// Colliders that are thinner than the reach of a liquid's particles. The mesh of the liquid must end at them
// (surface/thin_walls.h).
#pragma once

#include "spindrift/world/solids.h"

namespace spindrift {

class ThinColliders {
  public:
    // Colliders thinner than twice the reach [m] at a frame; nullptr if there are none. Valid until the next call.
    // `colliders` must be the same in every call.
    const Solids* at(int frame, float reach, const std::vector<Shape>& colliders, float fps);

  private:
    std::optional<Solids> solids_;
    float reach_ = 0;
};

} // namespace spindrift
