// Scene parameters of turbulence, and derived lengths.
#pragma once

#include "spindrift/scene/params.h"

namespace spindrift {

struct TurbulenceParams {
    static constexpr int kMaxOctaves = 8;

    float eddy_size = 4; // [cells of the flow]
    float viscosity = 1.5e-5f;
    int octaves = 0; // 0: as many as the finer grid resolves
    int refine = 4;
    float strength = 1;
    float start_energy = 1e-4f;
    int seed = 1;

    void visit(ParamVisitor& v);
    int octave_count() const;
};

} // namespace spindrift
