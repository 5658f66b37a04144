// Particles as FLIP leaves them: one at a random position in every unit cube, so that their spacing is 1.
#pragma once

#include "spindrift/base/random.h"
#include "spindrift/surface/surface.h"

#include <vector>

namespace spindrift {

// In the cubes of a box, where `inside` holds.
template <class Inside>
std::vector<Vec3f> jittered(const Vec3i& low, const Vec3i& high, uint64_t seed, const Inside& inside)
{
    std::vector<Vec3f> positions;
    Random random(seed);
    for (int x = low.x(); x < high.x(); ++x)
        for (int y = low.y(); y < high.y(); ++y)
            for (int z = low.z(); z < high.z(); ++z) {
                const Vec3f jitter(random.uniform(), random.uniform(), random.uniform());
                const Vec3f p = Vec3i(x, y, z).cast<float>() + jitter;
                if (inside(p)) positions.push_back(p);
            }
    return positions;
}

// All other parameters have defaults.
inline SurfaceParams with_mode(SurfaceMode mode)
{
    SurfaceParams params;
    params.mode = mode;
    return params;
}

} // namespace spindrift
