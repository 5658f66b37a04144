// Makes a velocity divergence-free [Jones 2018, (2.15) to (2.19)]: the pressure is zero at the free surface, which is
// located within its cell by the ghost-fluid method [Gibou 2002], and the flow through each face follows the solid's
// velocity on the closed part of the face [Batty 2007], [Ng 2009].
//
// The unknown is s = pressure * dt / (density * voxel) [m/s], so that a face's velocity changes by the difference of s
// across it.
#pragma once

#include "spindrift/liquid/body_coupling.h"
#include "spindrift/world/solid_faces.h"

namespace spindrift {

class Projection {
  public:
    // Assembles the system for a free surface (distance in cells, see free_surface.h) and solids.
    void prepare(const Topology& topology, const Field<float>& phi, const Solids& solids, const SolidCells& cells,
                 float voxel);
    // Until prepare() is called again, pressure moves these bodies too, which must be those of the solids. `density` is
    // that of the liquid.
    void couple(Bodies& bodies, float density);
    // Subtracts the pressure gradient. On entry `known` marks where velocities come from particles; on return it marks
    // open faces next to liquid, and provisionally (see extrapolate()) open faces near particles. `surface_s`, if not
    // null, is s at the free surface: at cell centres on both sides of it, to be interpolated.
    PoissonResult make_divergence_free(MacField& velocity, MacField& known, double tolerance,
                                       const Field<float>* surface_s = nullptr);
    // Makes the first layer of cells outside the liquid divergence-free as well, by changing the flow through their
    // outer faces. The surface moves into these cells within a step, and would lose volume where it rises, because
    // extrapolated velocities converge there.
    void close_surface(MacField& velocity);
    // Adds the velocity that moves crowded particles apart within `dt`: `crowding` is the relative excess of particles
    // in each cell, and s the potential of the displacement in cells.
    PoissonResult spread(const Field<float>& crowding, float voxel, float dt, MacField& velocity);

    // s in liquid cells after the last solve.
    const Field<double>& s() const { return s_; }
    size_t liquid_cells() const { return liquid_cells_; }
    bool has_liquid(int tile) const { return has_liquid_[tile]; }
    // The velocity of solids at the closed faces of a tile; nullptr where they stand still.
    const MacField* solid_velocity(int tile) const
    {
        return solids_move_ && cells_->tile(tile) ? &solid_velocity_ : nullptr;
    }
    size_t bytes() const;

  private:
    void add_gradient(MacField& velocity, float factor, const Field<float>* surface_s) const;
    void add_surface_pressure(const Field<float>& surface_s);

    const Field<float>* phi_ = nullptr;
    const Solids* solids_ = nullptr;
    const SolidCells* cells_ = nullptr;
    float voxel_ = 0;
    Bodies* bodies_ = nullptr; // nullptr if there are none
    BodyCoupling coupling_;
    std::vector<uint8_t> has_liquid_; // by tile, and 0 for missing tiles
    size_t liquid_cells_ = 0;
    MacField solid_velocity_; // only while solids move
    bool solids_move_ = false;
    PoissonMatrix matrix_;
    PoissonSolver solver_;
    Field<float> b_;
    Field<float> layer_; // of each cell, from the liquid (0) outwards
    Field<double> s_;
};

} // namespace spindrift
