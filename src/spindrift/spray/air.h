// What the air does to droplets.
#pragma once

#include "spindrift/spray/params.h"

namespace spindrift {

// The velocity of a droplet after some time under a constant acceleration, in air that moves evenly (4.38). With
// Stokes' drag this is exact; with Newton's it is exact without acceleration, and of second order with it.
inline Vec3f after_drag(const Vec3f& v, const Vec3f& acceleration, const Vec3f& air, float radius, float drag,
                        SprayParams::Drag law, float seconds)
{
    if (law == SprayParams::Drag::newton) { // dw/dt = -(drag / r) |w| w between two half kicks
        const Vec3f kick = 0.5f * seconds * acceleration, w = v + kick - air;
        return air + w / (1 + drag / radius * w.norm() * seconds) + kick;
    }
    // dw/dt = acceleration - (drag / r^2) w
    const float rate = drag / (radius * radius), loss = -std::expm1(-rate * seconds);
    const float time = rate * seconds > 1e-6f ? loss / rate : seconds; // for which the acceleration is felt
    const Vec3f w = v - air;
    return air + (1 - loss) * w + time * acceleration;
}

} // namespace spindrift
