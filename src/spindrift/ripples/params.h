// Scene parameters of ripples: sub-grid turbulence on the surface of a liquid.
#pragma once

#include "spindrift/turbulence/params.h"

namespace spindrift {

struct RippleParams : TurbulenceParams {
    RippleParams();

    float longest = 4;         // [cells of the liquid]
    float most_height = 0.75f; // [cells of the liquid]

    void visit(ParamVisitor& v);
};

} // namespace spindrift
