// The lights: a gradient dome, one bright round key light, and in the studio two softboxes that water reflects. All are
// analytic and infinitely far away, so that radiance depends on the direction only.
#pragma once

#include "spindrift/render/optics.h"
#include "spindrift/render/params.h"

namespace spindrift {

class Sky {
  public:
    explicit Sky(const RenderParams& params);

    // Radiance of a direction. The key light is included for specular paths only: matte surfaces sample it.
    Vec3f dome(const Vec3f& direction) const;
    Vec3f with_key(const Vec3f& direction) const;

    const Vec3f& key_direction() const { return key_direction_; } // towards the light
    float key_cos_radius() const { return key_cos_radius_; }
    // Irradiance of the key light on a surface that faces it, and of the dome on one that faces up.
    const Vec3f& key_irradiance() const { return key_irradiance_; }
    const Vec3f& dome_irradiance() const { return dome_irradiance_; }
    // Mean radiance of the dome on a matte surface that faces up; used instead of paths that are too long.
    Vec3f ambient() const { return dome_irradiance_ / static_cast<float>(kPi); }

  private:
    RenderParams::Sky kind_;
    Vec3f horizon_, zenith_, nadir_;
    Vec3f key_direction_, key_radiance_, key_irradiance_, dome_irradiance_;
    float key_cos_radius_, key_cos_rim_;
};

} // namespace spindrift
