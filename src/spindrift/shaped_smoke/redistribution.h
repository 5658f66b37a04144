// Redistribution: markers that left the control particles are placed back among them [Madill 2013, algorithm 2].
//
// Algorithm 2 tests random markers against the control density, and draws random points until one is dense enough (as
// printed, until one is not). Here the region of the control particles is where their fill (density.h) is at least a
// threshold, interpolated between cells. Markers are tested where a step has brought them, and new places are drawn
// from the cells of the region, with a probability that may favour those where markers are missing. Where markers
// crowd, some of the surplus is moved as well. Without these two, the flow empties thin limbs into the body: turbulence
// carries smoke out of a limb, and none back in.
#pragma once

#include "spindrift/points/sort.h"
#include "spindrift/shaped_smoke/density.h"
#include "spindrift/shaped_smoke/params.h"

namespace spindrift {

struct RedistributionInput {
    const ParticleIndex& index; // of the markers, before the step
    const Field<float>& marker_density;
    const Tent& marker_tent;
    const ParticleRegion& controls;    // before the step
    const Field<float>& fill_after;    // of the control particles, on the same topology
    const Field<float>* shape_density; // that control particles will have in the shape [1/cell], or null
    float in_shape;                    // the same where it is null
    size_t markers;                    // in all
    float least;                       // fill of the region that markers should be in
    float full; // density of control particles, relative to that in the shape, above which smoke should not be denser
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
// Markers to move, by tile, in order of their indices. They are tested where they are after `left` seconds with their
// velocity.
using MovedMarkers = std::vector<std::vector<MovedMarker>>;
MovedMarkers redistribute(const RedistributionInput& input, const RedistributionParams& params,
                          const Particles& markers, float left);

} // namespace spindrift
