// What makes sand of a liquid (document 001, chapter 2): friction among grains, once pressure has been found.
//
// Where friction can stop the sand from shearing, it does: connected cells move as rigid bodies. Elsewhere it slides,
// and friction is as large as pressure allows. Stresses are in the unit of Projection's s: stress * dt / (density *
// voxel) [m/s], so that (2.5) is the strain rate times the edge of a cell.
//
// Weak where sand is deep: (2.5) is about one cell alone, so that the inside of a pile is more rigid than it should be.
#pragma once

#include "liquid/liquid.h"
#include "sand/rigid_clusters.h"

namespace spindrift {

struct FluidFrictionParams {
    float friction = 0.5f; // alpha of (5.4) in document 000: sqrt(2/3) sin of the angle of friction
    float cohesion = 0;    // over density [m2/s2]
};

class FluidFriction {
  public:
    explicit FluidFriction(const FluidFrictionParams& params) : params_(params) {}

    // Returns how many iterations pressure took.
    int apply(const PressedFlow& flow);

    const RigidClusters& clusters() const { return clusters_; } // of the last step
    size_t bytes() const;

  private:
    void find_wet_cells(const PressedFlow& flow);
    void find_stress(const PressedFlow& flow);
    void slide(const PressedFlow& flow);

    FluidFrictionParams params_;
    Field<float> wet_;       // 1 in cells with sand
    Field<float> stress_[6]; // xx, yy, zz, xy, yz, xz
    Field<uint8_t> rigid_;
    RigidClusters clusters_;
};

} // namespace spindrift
