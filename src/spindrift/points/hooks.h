// Callbacks into a solver's step, e.g. for artists' expressions. A hook may change, add and delete particles freely, as
// long as all values stay finite.
#pragma once

#include "spindrift/points/particles.h"

#include <functional>

namespace spindrift {

// Called in each step of length dt [s]; `frame` is the current time in frames.
using ParticleHook = std::function<void(Particles&, float frame, float dt)>;

struct ParticleHooks {
    ParticleHook after_forces;    // before pressure, or collisions among particles, change velocities
    ParticleHook after_advection; // after particles have moved
};

} // namespace spindrift
