// Everything that shines: a gradient all around, one bright round key light, and in the studio two softboxes that give
// water something to mirror. All analytic and infinitely far away, so looking up a direction is all there is to it.
#pragma once

#include "spindrift/render/optics.h"
#include "spindrift/render/params.h"

namespace spindrift {

class Sky {
  public:
    explicit Sky(const RenderParams& params);

    // What a ray that leaves the scene sees. The key light is for mirror-like paths only: matte surfaces sample it.
    Vec3f dome(const Vec3f& direction) const;
    Vec3f with_key(const Vec3f& direction) const;

    const Vec3f& key_direction() const { return key_direction_; } // towards the light
    float key_cos_radius() const { return key_cos_radius_; }
    // Irradiance of the key light on a surface that faces it, and of the dome on one that faces up.
    const Vec3f& key_irradiance() const { return key_irradiance_; }
    const Vec3f& dome_irradiance() const { return dome_irradiance_; }
    // The dome as a matte surface sees it on average: stands in for what is too deep in a path to be traced.
    Vec3f ambient() const { return dome_irradiance_ / static_cast<float>(kPi); }

  private:
    RenderParams::Sky kind_;
    Vec3f horizon_, zenith_, nadir_;
    Vec3f key_direction_, key_radiance_, key_irradiance_, dome_irradiance_;
    float key_cos_radius_, key_cos_rim_;
};

} // namespace spindrift
