#include "spindrift/turbulence/params.h"
#include "spindrift/scene/limits.h"

#include "spindrift/turbulence/waves.h"

namespace spindrift {

void TurbulenceParams::visit(ParamVisitor& v)
{
    v("eddy_size", eddy_size, unit::cells, between(1, 64),
      "Size of the largest eddies that are added, in cells of the flow. Each further octave halves the size.");
    v("viscosity", viscosity, unit::metres2_per_second, between(0, 1e3),
      "Kinematic viscosity of the fluid. Higher values remove small eddies and delay the onset of turbulence.");
    v("octaves", octaves, unit::none, between(0, kMaxOctaves),
      "Number of eddy sizes; 0: as many as the finer grid resolves.");
    v("refine", refine, unit::none, between(1, 16), "Cells of the finer grid per cell edge of the flow.");
    v("strength", strength, unit::none, between(0, 100), "Factor on the velocity of the eddies.");
    v("start_energy", start_energy, "m2/s2", between(1e-20, 1e6),
      "Initial turbulent energy of inflowing fluid. Its influence is small, because production soon exceeds it.");
    v("seed", seed, unit::none, limits::integer(), "Random seed of the eddies.");
}

int TurbulenceParams::octave_count() const
{
    if (octaves > 0) return octaves;
    constexpr float kShortest = 2.5f; // shortest wave that the finer grid resolves [its cells]
    const float largest = kShortestWave * eddy_size * static_cast<float>(refine);
    const int carried = 1 + static_cast<int>(std::floor(std::log2(largest / kShortest)));
    return std::clamp(carried, 1, kMaxOctaves);
}

} // namespace spindrift
