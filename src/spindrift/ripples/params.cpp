#include "spindrift/ripples/params.h"

namespace spindrift {

RippleParams::RippleParams()
{
    viscosity = 1e-6f;
    // Small enough for viscosity to suppress all octaves: still water has no ripples.
    start_energy = 1e-10f;
}

void RippleParams::visit(ParamVisitor& v)
{
    TurbulenceParams::visit(v);
    v("longest", longest, unit::cells, between(0.5, 64),
      "Longest ripples, in cells of the liquid's grid; the liquid itself resolves longer waves.");
    v("most_height", most_height, unit::cells, between(0, 1),
      "Maximum height of ripples above or below the liquid's own surface, in cells of its grid.");
    v.require(refine == 2 || refine == 4 || refine == 8, "refine", "must be 2, 4 or 8 for ripples");
}

} // namespace spindrift
