#include "spindrift/turbulence/params.h"
#include "spindrift/scene/limits.h"

#include "spindrift/turbulence/waves.h"

namespace spindrift {

void TurbulenceParams::visit(ParamVisitor& v)
{
    v("eddy_size", eddy_size, unit::cells, between(1, 64),
      "Size of the largest eddies that are added, in cells of the flow. Smaller ones follow, each half as large.");
    v("viscosity", viscosity, unit::metres2_per_second, between(0, 1e3),
      "Of the fluid: the higher, the larger the smallest eddies and the faster a flow must be to become turbulent.");
    v("octaves", octaves, unit::none, between(0, kMostOctaves),
      "How many sizes of eddies there are; 0: as many as the finer grid can carry.");
    v("refine", refine, unit::none, between(1, 16), "How many cells of the finer grid make up the edge of one cell.");
    v("strength", strength, unit::none, between(0, 100), "Factor on the velocity of the eddies.");
    v("start_energy", start_energy, "m2/s2", between(1e-20, 1e6),
      "Turbulent energy of fluid that comes in. It hardly matters: what the flow stirs up soon outgrows it.");
    v("seed", seed, unit::none, limits::integer(), "Another number gives other eddies.");
}

int TurbulenceParams::octave_count() const
{
    if (octaves > 0) return octaves;
    constexpr float kShortest = 2.5f; // wave that the finer grid can carry [its cells]
    const float largest = kShortestWave * eddy_size * static_cast<float>(refine);
    const int carried = 1 + static_cast<int>(std::floor(std::log2(largest / kShortest)));
    return std::clamp(carried, 1, kMostOctaves);
}

} // namespace spindrift
