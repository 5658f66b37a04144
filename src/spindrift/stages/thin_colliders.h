// The colliders that a mesh of a liquid has to end at, because they are thinner than what the liquid's particles reach
// beyond themselves (surface/thin_walls.h).
#pragma once

#include "spindrift/world/solids.h"

namespace spindrift {

class ThinColliders {
  public:
    // Those that are thinner than twice the reach [m], at a frame; nullptr if there are none. Valid until the next
    // call. `colliders` must be the same in every call.
    const Solids* at(int frame, float reach, const std::vector<Shape>& colliders, float fps);

  private:
    std::optional<Solids> solids_;
    float reach_ = 0;
};

} // namespace spindrift
