// Keeps turbulence from carrying smoke out of the shape, an option that the paper names as future work [Madill 2013,
// 9].
//
// Near and beyond the surface, by signed distance, the turbulent velocity loses its outward component; outside, a
// velocity towards the surface is added. Only the turbulence is changed: control particles never leave the shape.
#pragma once

#include "spindrift/field/tiles.h"
#include "spindrift/shaped_smoke/targets.h"

namespace spindrift {

class Containment {
  public:
    // `u` is the turbulent velocity at cell centres; the targets must be prepared for their distance.
    void apply(const Targets& targets, float voxel, Field<float> (&u)[3]);
    size_t bytes() const { return distance_.bytes(); }

  private:
    void find_distances(const Targets& targets, const Topology& topology, float voxel);
    Field<float> distance_; // [cells], clamped
};

} // namespace spindrift
