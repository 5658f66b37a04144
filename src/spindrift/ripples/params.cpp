#include "spindrift/ripples/params.h"

namespace spindrift {

RippleParams::RippleParams()
{
    viscosity = 1e-6f;
    // Viscosity holds so little down altogether: still water has no ripples.
    start_energy = 1e-10f;
}

void RippleParams::visit(ParamVisitor& v)
{
    TurbulenceParams::visit(v);
    v("longest", longest, unit::cells, between(0.5, 64),
      "Ripples much longer than this are left to the liquid itself, in cells of its grid.");
    v("most_height", most_height, unit::cells, between(0, 1),
      "How far ripples may rise or fall from the liquid's own surface, in cells of its grid.");
    v.require(refine == 2 || refine == 4 || refine == 8, "refine", "must be 2, 4 or 8 for ripples");
}

} // namespace spindrift
