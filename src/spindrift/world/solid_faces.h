// Effect of solids on a velocity field: divergence through partly open faces, and wall boundary conditions.
#pragma once

#include "spindrift/field/mac.h"
#include "spindrift/world/solids.h"

namespace spindrift {

// Net outflow of each cell of a row: through the open parts of its faces, and with the solids that cover the rest. Pass
// null as `solid` if all solids are at rest.
class Outflow {
  public:
    Outflow(const OpenView& open, const MacField& velocity, const MacField* solid, int tile)
        : open_(open), u_{{velocity.u[0], tile}, {velocity.u[1], tile}, {velocity.u[2], tile}},
          moving_(solid), s_{{(solid ? *solid : velocity).u[0], tile},
                             {(solid ? *solid : velocity).u[1], tile},
                             {(solid ? *solid : velocity).u[2], tile}}
    {
    }
    Row at(int x, int y) const
    {
        return through(open_.x.above_x(x, y), u_[0].above_x(x, y), s_[0].above_x(x, y)) -
               through(open_.x.at(x, y), u_[0].at(x, y), s_[0].at(x, y)) +
               through(open_.y.above_y(x, y), u_[1].above_y(x, y), s_[1].above_y(x, y)) -
               through(open_.y.at(x, y), u_[1].at(x, y), s_[1].at(x, y)) +
               through(open_.z.above_z(x, y), u_[2].above_z(x, y), s_[2].above_z(x, y)) -
               through(open_.z.at(x, y), u_[2].at(x, y), s_[2].at(x, y));
    }

  private:
    Row through(Row open, Row u, Row solid) const { return moving_ ? open * u + (1 - open) * solid : open * u; }

    const OpenView& open_;
    const TileView u_[3];
    bool moving_;
    const TileView s_[3];
};

// Velocity of solids [m/s] at all faces that they close partly or entirely; zero elsewhere.
void solid_velocity_at_faces(const Topology& topology, const Solids& solids, const SolidCells& cells, float voxel,
                             MacField& velocity);

// Sets closed faces to the solid's velocity along its normal and the flow's velocity along the wall, which gives free
// slip. With `stick` up to 1 this tends to no slip: face values then make the velocity at the wall, midway between
// closed face and flow, that of the solid.
void slide_on_solids(MacField& velocity, const Solids& solids, const SolidCells& cells, float voxel, float stick = 0);

} // namespace spindrift
