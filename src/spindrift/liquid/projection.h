// Makes a velocity divergence-free (document 003, equations 2.15-2.19): the pressure is zero at the free surface,
// placed within its cell by the ghost-fluid method (Gibou et al. 2002), and the flow through each face follows the
// solid's velocity on the closed part of the face (Batty et al. 2007, Ng et al. 2009).
//
// The unknown is s = pressure * dt / (density * voxel) [m/s], so that a face's velocity changes by the plain difference
// of s across it.
#pragma once

#include "spindrift/liquid/body_coupling.h"
#include "spindrift/world/solid_faces.h"

namespace spindrift {

class Projection {
  public:
    // Sets up the system for a free surface (distance in cells, see free_surface.h) and solids.
    void prepare(const Topology& topology, const Field<float>& phi, const Solids& solids, const SolidCells& cells,
                 float voxel);
    // From now on, until prepare() is called again, pressure moves these bodies too, which must be those of the solids.
    // `density` is that of the liquid.
    void couple(Bodies& bodies, float density);
    // Subtracts the pressure gradient. `known` holds where velocities come from particles, and afterwards which are
    // known: open faces next to liquid, and provisionally (see extrapolate()) open faces near particles.
    // `surface_s`, if there is any, is s at the free surface: at cell centres on both sides of it, to be interpolated.
    PoissonResult make_divergence_free(MacField& velocity, MacField& known, double tolerance,
                                       const Field<float>* surface_s = nullptr);
    // Makes the first layer of cells outside the liquid divergence-free as well, by changing the flow through their
    // outer faces. A surface moves into these cells within a step, and would lose volume where it rises: extrapolated
    // velocities converge there without giving way.
    void close_surface(MacField& velocity);
    // Adds to the velocity what moves crowded particles apart within `dt`: `crowding` is the relative excess of
    // particles in each cell, and s the potential of the displacement in cells.
    PoissonResult spread(const Field<float>& crowding, float voxel, float dt, MacField& velocity);

    // s at the cells of the liquid after the last solve.
    const Field<double>& s() const { return s_; }
    size_t liquid_cells() const { return liquid_cells_; }
    bool has_liquid(int tile) const { return has_liquid_[static_cast<size_t>(tile)]; }
    // Of solids at the closed faces of a tile; nullptr where they stand still.
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
    Bodies* bodies_ = nullptr; // nullptr without any
    BodyCoupling coupling_;
    std::vector<uint8_t> has_liquid_; // of each tile, and 0 for missing tiles
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
