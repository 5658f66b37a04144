// Moves particles out of solids.
#pragma once

#include "spindrift/world/solids.h"

namespace spindrift {

// Moves a particle that is inside a solid, or nearer to one than half of `gap`, to a distance of `gap`, and calls
// touch(normal) at its new position. In a corner, leaving one wall may bring it closer to the next, so this is repeated
// up to four times; the particle may still be inside a solid afterwards.
template <class Touch>
void push_out_of_solids(const Solids& solids, float gap, float voxel, Vec3f& x, const Touch& touch)
{
    for (int attempt = 0; attempt < 4; ++attempt) {
        const float d = solids.distance(x);
        if (d >= 0.5f * gap) return;
        const Vec3f n = solids.normal(x, 0.1f * voxel);
        x += (gap - d) * n;
        touch(n);
    }
}

// Whether a particle that moved from `from` to `x` is behind a sheet, or newly so close to one that its side is
// undefined.
inline bool lost_its_side(const Solids& solids, float gap, const Vec3f& from, const Vec3f& x)
{
    const float least = 0.1f * gap;
    return solids.parted(from, x) || (solids.sheet_distance(x) < least && solids.sheet_distance(from) >= least);
}

} // namespace spindrift
