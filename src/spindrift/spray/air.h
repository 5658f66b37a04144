// Drag of the air on droplets.
#pragma once

#include "spindrift/spray/params.h"

namespace spindrift {

// Velocity of a droplet after `seconds` under constant acceleration in a uniform wind [Jones 2018, (4.38)]. Exact for
// Stokes' drag. For Newton's drag exact without acceleration, and second order with it.
inline Vec3f after_drag(const Vec3f& v, const Vec3f& acceleration, const Vec3f& air, float radius, float drag,
                        SprayParams::Drag law, float seconds)
{
    if (law == SprayParams::Drag::newton) { // Strang splitting of dw/dt = -(drag / r) |w| w and the acceleration
        const Vec3f kick = 0.5f * seconds * acceleration, w = v + kick - air;
        return air + w / (1 + drag / radius * w.norm() * seconds) + kick;
    }
    // dw/dt = acceleration - (drag / r^2) w
    const float rate = drag / (radius * radius), loss = -std::expm1(-rate * seconds);
    const float time = rate * seconds > 1e-6f ? loss / rate : seconds; // effective time of the acceleration
    const Vec3f w = v - air;
    return air + (1 - loss) * w + time * acceleration;
}

} // namespace spindrift
