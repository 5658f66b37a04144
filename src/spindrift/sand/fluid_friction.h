// Friction inside a liquid, which turns it into sand [Zhu 2005, chapter 2].
//
// The frictional stress removes the most energy among those that pressure permits, (2.3) with cohesion (2.9). It is
// found by gradient steps: each applies (2.5) to every cell with a share of the stress that would stop it, clipped to
// the yield surface (2.4). A few steps suffice, because the last step's stress is applied before pressure is found:
// over the steps of a shot, stress and pressure converge as in the staggered projections of [Narain 2011]. Cells whose
// stress would stay within the yield surface if the remaining shear were stopped are rigid; connected ones move as
// rigid bodies.
//
// Stresses are in the unit of Projection's s: stress * dt / (density * voxel) [m/s].
//
// Limits: where all sand comes to rest at once, stress takes a few steps to build up, and until then only rigid
// clusters carry weight.
//
// Differences from [Zhu 2005]:
//
// - Yield test. (2.5) considers one cell alone, and removes less energy the finer the grid: a cone of 60 degrees stood
//   with a friction angle of 38, at any resolution. Here the stress is the one that removes the most energy within the
//   yield surface, found by gradient steps; three per time step suffice, because each continues from the last stress.
// - Stress before pressure. The last step's stress acts before pressure is found. The original pressure is that of
//   water accelerating downhill, too low on a slope, and piles crept: one of 34 degrees lost 6 in two seconds. For the
//   same reason there is no second projection.
// - Yield surface: |s| <= sqrt(2) (tan p + cohesion) with the friction angle, Coulomb's law in shear. (2.4) does not
//   lie on the surface of (2.3), and with the sine of (2.3) slopes end at the arc tangent of that sine.
// - Normal stress (`FluidFriction::pressing`). It is not the pressure p of (2.9). Where sand is squeezed along its
//   slope, as between the walls of a drum, p exceeds the normal stress p - q across the slope, and a friction angle of
//   38 degrees would stand at 51 (tan / sqrt(1 - tan^2)); it stood at 45. With max(p - q, cos p) the shear on a slope
//   is at most the tangent times the normal stress, for any q. Also, a surface cell weighs a whole cell in the
//   equations of motion wherever the surface cuts it, while pressure depends on the cut: cells with a low cut slid, and
//   piles crept. A cell that rests on others or on a solid is pressed by at least a cell's weight. Previously, a
//   cohesion of an eighth of a cell's weight kept piles from creeping, but made the flowing layer of two cells in a
//   drum up to a quarter too steep; dry sand has none now.
// - Rigid clusters (sand/rigid_clusters.h) take the rigid motion closest to the velocity of their faces, which
//   conserves linear and angular momentum. They carry the weight for which stress has not built up yet. A cell is rigid
//   if the remaining shear could be stopped to the depth of the sand, not of the cell alone as in (2.5): this takes the
//   square of the depth more, and without it the inside of a column stood like a tower.
// - Turning colliders (`FluidFriction::find_turning`). Cells at the edge of the sand lack neighbours on one side, and
//   rigid rotation appears as shear there. The part due to the rotation of the nearest collider is subtracted. A rigid
//   cluster sticks to solids by the friction of each, and to none if they move differently: the fixed ends of a drum
//   held back its sand.
// - Walls (sand/wall_friction.h) have a traction that continues from step to step like stress, bounded by the pressure
//   on them; (2.8) uses the velocity change in the step instead, which depends on weight only indirectly.
// - Thin layers of less than half a cell have no pressure: they would move with the velocity extrapolated from the
//   heap, and its foot would never come to rest. Friction with the solid below stops them.
#pragma once

#include "spindrift/liquid/sliding_friction.h"
#include "spindrift/sand/rigid_clusters.h"
#include "spindrift/sand/wall_friction.h"

namespace spindrift {

struct FluidFrictionParams {
    float friction = 0.78f; // tangent of the friction angle
    float cohesion = 0;     // divided by density [m2/s2]
    float fps = 24;
};

class FluidFriction : public Material {
  public:
    explicit FluidFriction(const FluidFrictionParams& params) : params_(params), thin_layers_(params.fps) {}

    void before_pressure(const FlowStep& flow) override;
    void after_pressure(const FlowStep& flow) override;
    void after_extrapolation(const FlowStep& flow) override { thin_layers_.hold_thin_layers(flow); }

    const RigidClusters& clusters() const { return clusters_; } // of the last step
    size_t bytes() const;

    // Everything that the next step depends on.
    struct State {
        float step = 0; // [s]
        std::vector<uint64_t> tiles;
        std::vector<float> values; // cell by cell: the six components of stress and the traction
    };
    State state() const;
    void restore(const State& state);

  private:
    using Stress = Field<float>[6]; // xx, yy, zz, xy, yz, xz
    void find_wet_cells(const FlowStep& flow);
    void find_turning(const FlowStep& flow);
    void find_bounds(const FlowStep& flow);
    template <class PressureAround>
    Row pressing(const FlowStep& flow, const PressureAround& pressure, int tile, int x, int y, int o) const;
    void take_up(const FlowStep& flow);
    template <class Body> void for_each_strain(const FlowStep& flow, const Body& body) const;
    void change_stress(const FlowStep& flow, bool last);
    void slide(const FlowStep& flow, const Stress& stress) const;

    FluidFrictionParams params_;
    Field<float> wet_;           // 1 in cells with sand
    std::vector<uint8_t> full_;  // tiles that have sand in all cells, and in all cells around
    Field<float> turning_[3];    // apparent shear xy, yz, xz, see find_turning()
    std::vector<uint8_t> turns_; // tiles with apparent shear
    Field<float> bound_;         // of the stress
    Field<uint8_t> rigid_;
    WallFriction walls_;
    SlidingFriction thin_layers_;
    RigidClusters clusters_;

    Stress stress_, change_;
    Field<float> traction_[3], traction_before_[3];
    Topology tiles_; // of the last step
    float step_ = 0;
};

} // namespace spindrift
