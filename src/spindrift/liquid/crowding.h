// Measures where particles have drifted closer together or farther apart than they should be. Projection::spread()
// turns the result into a displacement by one more (coarse) solve.
#pragma once

#include "spindrift/field/mac.h"
#include "spindrift/world/solids.h"

namespace spindrift {

// The relative excess of particles in each liquid cell, from the weights that to_grid() left on its faces, as far as it
// should be corrected in one substep. Near the surface a lack of particles is tolerated; inside, gaps are closed as
// well. Next to sheets faces do not see all particles; there `belonging` (see free_surface.h) is used.
void measure_crowding(const MacField& weight, const Field<float>& phi, const SolidCells& solids,
                      const Field<float>& belonging, Field<float>& crowding);

} // namespace spindrift
