// Smooths a mesh along itself, so that the two sides of a thin sheet do not affect each other.
#pragma once

#include "spindrift/mesh/links.h"
#include "spindrift/surface/contour.h"

namespace spindrift {

// One pass replaces positions x by S x + (1 + b) S (x - S x), where S is a number of steps of the umbrella operator;
// the part that is added back keeps the volume, similar to [Vollmer 1999]. Eight steps remove waves shorter than about
// six edges.
struct Fairing {
    int passes = 2;
    int steps = 8;
};
// `strength` in [0, 1] is how far each vertex follows. The waterline is smoothed along itself, walls are unchanged.
// Call update_normals() afterwards.
void fair(Contour& contour, const MeshLinks& links, const std::vector<float>& strength, const Fairing& fairing);
// Recomputes normals of moved vertices from adjacent faces. Faces on a wall are ignored, and at a wall the surface is
// mirrored: the free surface is shaded as smoothly at its edge as elsewhere.
void update_normals(Contour& contour, const MeshLinks& links, const std::vector<float>& strength);

} // namespace spindrift
