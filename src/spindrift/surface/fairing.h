// Smooths a mesh along itself, so that the two sides of a thin sheet do not know of each other.
#pragma once

#include "spindrift/surface/contour.h"

namespace spindrift {

// One pass replaces positions x by S x + (1 + b) S (x - S x), S being some steps of the umbrella operator: what is
// added back keeps the volume (Vollmer, Mencl and Müller 1999 do the like). Eight steps remove waves shorter than about
// six edges.
struct Fairing {
    int passes = 2;
    int steps = 8;
};
// `strength` in [0, 1] says how far each vertex follows. The waterline is smoothed along itself, walls stay as they
// are. Normals are left to update_normals().
void fair(Contour& contour, const std::vector<float>& strength, const Fairing& fairing);
// Normals from the faces around, for vertices that were moved. Faces on a wall do not count, and at a wall the surface
// continues as in a mirror: the free surface is shaded as smoothly at its edge as elsewhere.
void update_normals(Contour& contour, const std::vector<float>& strength);

} // namespace spindrift
