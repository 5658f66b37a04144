// Makes the control velocity divergence-free, an option that the paper names as future work [Madill 2013, 9]. The whole
// grid takes part, and the pressure is zero outside of it, so that smoke may leave and enter on all sides: a shape of
// another volume is then only reached with redistribution.
#pragma once

#include "spindrift/field/mac.h"
#include "spindrift/solvers/poisson.h"

namespace spindrift {

class ControlProjection {
  public:
    PoissonResult project(MacField& velocity, double tolerance);
    size_t bytes() const { return matrix_.bytes() + solver_.bytes() + b_.bytes() + s_.bytes(); }

  private:
    void set_up_matrix(const Topology& topology);

    Field<float> inside_;
    PoissonMatrix matrix_;
    PoissonSolver solver_;
    Field<float> b_;
    Field<double> s_;
};

// Root mean square of the divergence [1/s] over the cells all of whose faces are stored.
double rms_divergence(const MacField& velocity, float voxel);

} // namespace spindrift
