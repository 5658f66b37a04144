// Particles of a liquid that are droplets of spray.
#pragma once

#include "spindrift/points/particles.h"

#include <string>

namespace spindrift {

// Removes the particles that a frame of spray, given by the path of its droplets, has taken over.
void leave_out_taken(const std::string& spray_frame, Particles& particles);

} // namespace spindrift
