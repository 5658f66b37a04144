// A velocity on a staggered grid that moves a tracked surface.
#pragma once

#include "spindrift/field/mac.h"
#include "spindrift/track/tracker.h"

namespace spindrift {

// Constant during the step. The field must outlive it; beyond its tiles nothing moves.
class MacFlow : public TrackFlow {
  public:
    MacFlow(const MacField& velocity, float voxel);
    void sample(std::span<const Vec3f> points, float share, std::span<Vec3f> velocities) const override;
    float max_speed() const override { return max_speed_; }

  private:
    const MacField& velocity_;
    float voxel_, max_speed_;
};

} // namespace spindrift
