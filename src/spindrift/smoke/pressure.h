// Pressure projection of a gas: makes its velocity divergence-free. The whole grid is gas. The pressure is zero outside
// the grid and beyond open sides of the domain; on the closed part of a face, the flow has the solid's velocity.
//
// The outermost layer of cells on the upper sides of the grid counts as outside, except at walls, so that every face of
// an inside cell is stored.
#pragma once

#include "spindrift/solvers/poisson.h"
#include "spindrift/world/solid_faces.h"

namespace spindrift {

class GasPressure {
  public:
    // Builds the system. `box` is the domain in cells, infinite where a side is closed or there is no domain. With
    // `changed` false (same tiles, solids at rest), the matrix of the last call is reused.
    void prepare(const Topology& topology, const Solids& solids, const SolidCells& cells, const Box3f& box, float voxel,
                 bool changed);
    // Solves for the pressure and subtracts its gradient.
    PoissonResult make_divergence_free(MacField& velocity, double tolerance);
    // Extrapolates the velocity to faces in solids and around the grid.
    void extend(MacField& velocity);

    // 1 in cells of the system, 0 elsewhere.
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
    MacField solid_velocity_; // set only if solids move
    PoissonMatrix matrix_;
    PoissonSolver solver_;
    Field<float> b_;
    Field<double> s_; // pressure * dt / (density * voxel) [m/s]
    MacField known_;
};

} // namespace spindrift
