// Makes the velocity of a gas divergence-free. The whole grid is gas: the pressure is zero outside it and beyond open
// sides of the domain, and the flow through each face follows the solid's velocity on the closed part of the face.
//
// The outermost layer of cells on the upper sides of the grid counts as outside, unless a wall is there: so that every
// face of a cell inside is stored.
#pragma once

#include "spindrift/solvers/poisson.h"
#include "spindrift/world/solid_faces.h"

namespace spindrift {

class GasPressure {
  public:
    // Sets the system up. `box` is the domain in cells, infinite where a side is closed or there is none. What stayed
    // as it was since the last call (still solids, the same tiles) is kept: `changed` says whether that is so.
    void prepare(const Topology& topology, const Solids& solids, const SolidCells& cells, const Box3f& box, float voxel,
                 bool changed);
    // Subtracts the pressure gradient.
    PoissonResult make_divergence_free(MacField& velocity, double tolerance);
    // Gives faces that have no flow of their own, in solids and around the grid, one that goes on from what is near.
    void extend(MacField& velocity);

    // 1 where a cell takes part, 0 elsewhere.
    const Field<float>& inside() const { return inside_; }
    size_t active_cells() const { return active_cells_; }
    size_t bytes() const;

  private:
    void find_inside(const Box3f& box, float voxel);
    void set_up_matrix();
    void subtract_gradient(MacField& velocity);

    const Topology* topology_ = nullptr;
    const Solids* solids_ = nullptr;
    const SolidCells* cells_ = nullptr;
    float voxel_ = 0;
    Field<float> inside_;
    size_t active_cells_ = 0;
    MacField solid_velocity_; // only while solids move
    PoissonMatrix matrix_;
    PoissonSolver solver_;
    Field<float> b_;
    Field<double> s_; // pressure * dt / (density * voxel) [m/s]
    MacField known_;
};

} // namespace spindrift
