// The control velocity: velocities of control particles, interpolated by Shepard's method [Madill 2013, (1), (2)].
#pragma once

#include "spindrift/points/particles.h"
#include "spindrift/shaped_smoke/tile_lists.h"

namespace spindrift {

// At cell centres. Within the radius of any control particle it is the weighted mean (1) of their velocities. It fades
// to the wind where weights (2) are below a tenth of the largest that one particle has, so that it ends smoothly.
class ControlField {
  public:
    void interpolate(const Topology& topology, float voxel, const Particles& controls, float radius, const Vec3f& wind);
    const Field<float> (&components() const)[3] { return u_; }
    size_t bytes() const { return u_[0].bytes() + u_[1].bytes() + u_[2].bytes(); }

  private:
    Field<float> u_[3];
    TileLists lists_;
};

} // namespace spindrift
