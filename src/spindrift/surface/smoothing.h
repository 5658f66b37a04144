// Removes the bumps of single particles from a distance without removing volume.
#pragma once

#include "spindrift/field/tiles.h"

namespace spindrift {

// One pass replaces phi by (2 + b) S phi - (1 + b) S^2 phi, where S is the binomial filter [1 2 1]/4 along each axis
// with its taps `stride` cells apart. For b = 0 curvature is kept to second order while the finest waves vanish, as in
// [Taubin 1995] for meshes; b > 0 restores curvature that was lost before. Where the liquid is thin, values may only
// decrease, as [Zhu 2005] suggests: smoothing would dissolve it.
struct Smoothing {
    int passes = 2;
    int stride = 1;       // 1 to 4
    float sharpening = 0; // b of the first pass
};
void smooth(Field<float>& phi, const Field<float>& thickness, const Smoothing& smoothing);

} // namespace spindrift
