// What others may do to a solver's particles while it steps, such as an artist's expressions. They may change, add to
// and delete from the set as they like, as long as it stays finite.
#pragma once

#include "spindrift/points/particles.h"

#include <functional>

namespace spindrift {

// Called in each step of dt [s], at a moment in frames.
using ParticleHook = std::function<void(Particles&, float frame, float dt)>;

struct ParticleHooks {
    ParticleHook after_forces;    // before pressure, or collisions among particles, act on velocities
    ParticleHook after_advection; // after particles have moved
};

} // namespace spindrift
