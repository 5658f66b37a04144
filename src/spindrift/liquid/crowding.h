// Where particles have drifted closer together or farther apart than they should be.
#pragma once

#include "spindrift/field/mac.h"
#include "spindrift/world/solids.h"

namespace spindrift {

// The relative excess of particles in each liquid cell, from the weights that to_grid() left on its faces, as far as it
// should be undone in one substep. Near the surface too few particles are no fault; inside, gaps are closed as well.
// Next to sheets faces do not see all particles; there it is `belonging`, see free_surface.h, that counts.
void measure_crowding(const MacField& weight, const Field<float>& phi, const SolidCells& solids,
                      const Field<float>& belonging, Field<float>& crowding);

} // namespace spindrift
