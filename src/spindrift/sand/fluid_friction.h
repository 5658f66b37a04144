// What makes sand of a liquid (document 001, chapter 2): friction among its grains.
//
// The stress of friction is the one that takes most energy among those that pressure allows, (2.3) with cohesion (2.9).
// It is found by gradient steps, each of which is (2.5) for every cell with a share of what would stop it, cut off at
// the yield surface (2.4). A few of them do, because the stress of the last step is taken up before pressure is found:
// over the steps of a shot stress and pressure come to terms, as in document 000's staggered projections. Cells whose
// stress would stay within the yield surface if what still slides were stopped are rigid; connected, they move as rigid
// bodies.
//
// Stresses are in the unit of Projection's s: stress * dt / (density * voxel) [m/s].
//
// Weak where sand comes to rest at once, all of it: stress grows over a few steps, and until then only rigid clusters
// carry weight.
#pragma once

#include "spindrift/sand/rigid_clusters.h"
#include "spindrift/sand/wall_friction.h"

namespace spindrift {

struct FluidFrictionParams {
    float friction = 0.78f; // the tangent of the angle of friction
    float cohesion = 0;     // over density [m2/s2]
    float fps = 24;
};

class FluidFriction : public InnerFriction {
  public:
    explicit FluidFriction(const FluidFrictionParams& params) : params_(params) {}

    void start(const InnerFlow& flow) override;
    void apply(const InnerFlow& flow) override;

    const RigidClusters& clusters() const { return clusters_; } // of the last step
    size_t bytes() const;

    // What the next step starts from.
    struct State {
        float step = 0; // [s]
        std::vector<uint64_t> tiles;
        std::vector<float> values; // cell by cell: the six components of stress and the traction, one after the other
    };
    State state() const;
    void restore(const State& state);

  private:
    using Stress = Field<float>[6]; // xx, yy, zz, xy, yz, xz
    void find_wet_cells(const InnerFlow& flow);
    void find_turning(const InnerFlow& flow);
    void find_bounds(const InnerFlow& flow);
    template <class PressureAround>
    Row pressing(const InnerFlow& flow, const PressureAround& pressure, int tile, int x, int y, int o) const;
    void take_up(const InnerFlow& flow);
    template <class Body> void for_each_strain(const InnerFlow& flow, const Body& body) const;
    void change_stress(const InnerFlow& flow, bool last);
    void slide(const InnerFlow& flow, const Stress& stress) const;

    FluidFrictionParams params_;
    Field<float> wet_;           // 1 in cells with sand
    std::vector<uint8_t> full_;  // tiles that have nothing but such cells in and around them
    Field<float> turning_[3];    // shear that only seems to be there, see find_turning(): xy, yz, xz
    std::vector<uint8_t> turns_; // tiles that have any of it
    Field<float> bound_;         // of the stress
    Field<uint8_t> rigid_;
    WallFriction walls_;
    RigidClusters clusters_;

    Stress stress_, change_;
    Field<float> traction_[3], traction_before_[3];
    Topology tiles_; // of the last step
    float step_ = 0;
};

} // namespace spindrift
