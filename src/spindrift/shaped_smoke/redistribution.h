// Redistribution: markers that left the control particles are placed back among them [Madill 2013, algorithm 2].
//
// Algorithm 2 tests random markers against the control density, and draws random points until one is dense enough (as
// printed, until one is not). Here markers are tested where a step has brought them, and new places are drawn directly
// from the cells that are dense enough, with a probability that may favour those where markers are missing: no point is
// ever rejected. Where markers crowd, some of the surplus is moved as well. Without these two, the flow empties thin
// limbs into the body: turbulence carries smoke out of a limb, and none back in.
#pragma once

#include "spindrift/points/sort.h"
#include "spindrift/shaped_smoke/params.h"

namespace spindrift {

struct RedistributionInput {
    const ParticleIndex& index;                          // of the markers, before the step
    const Field<float>&marker_density, &control_density; // before the step
    const Field<float>& control_density_after;           // on the same topology
    size_t markers;                                      // in all
    float least; // control density of the region that markers should be in [1/cell]
    float full;  // control density above which smoke should not be denser still [1/cell]
    float voxel;
    float share;   // of the markers outside to move now
    float surplus; // of the crowding to correct, 0 to 1
    uint64_t seed;
};

// A marker, and a place where it could have been before the step instead.
struct MovedMarker {
    uint32_t index;
    Vec3f from;
};
// Markers to move, in order of their indices. They are tested where they are after `left` seconds with their velocity.
std::vector<MovedMarker> redistribute(const RedistributionInput& input, const RedistributionParams& params,
                                      const Particles& markers, float left);

} // namespace spindrift
