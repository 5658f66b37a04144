// Energy E_0 of the largest eddies that are added to a flow, on the flow's own grid [Narain 2011, 3.4]: advected by the
// flow, produced by strain, diffused by turbulent mixing, and passed on to smaller eddies.
//
// Differences from [Narain 2011]:
// - Production and cascade are integrated exactly: for q = sqrt(E_0), (3.6) and (3.7) are the Riccati equation 2 q' =
//   l_0 S^2 - q^2 / l_0. Choosing between forward and backward Euler, as in the source, is stable too but inaccurate at
//   large steps.
// - Diffusion (3.11) is implicit along grid lines (diffusion.h); the Gaussian filter of its coefficient is the same
//   sweep with a constant coefficient.
#pragma once

#include "spindrift/turbulence/diffusion.h"
#include "spindrift/turbulence/flow.h"

#include <memory>

namespace spindrift {

class TurbulentEnergy {
  public:
    explicit TurbulentEnergy(float start_energy) : start_(start_energy) {}

    void step(const Flow& flow, float eddy_size, float dt);

    // All on topology(), which is that of the flow in the last step.
    const Topology& topology() const { return *topology_; }
    const Field<float>& energy() const { return energy_; } // [m2/s2]
    const Field<float>& strain() const { return strain_; } // Frobenius norm of the rate of strain [1/s]
    const Field<float>& open() const { return open_; }     // 1 in fluid, 0 in solids and air
    size_t bytes() const;

    // Values are per cell of each tile.
    void restore(const std::vector<uint64_t>& tiles, const std::vector<float>& energy, const std::vector<float>& open);

  private:
    void set_topology(const Topology& topology);
    void find_open(const Flow& flow);
    void find_strain(const Flow& flow);
    void advect(const Flow& flow, float dt);
    void diffuse(float voxel, float eddy_size, float dt);
    void react(float eddy_size, float dt);

    float start_;
    std::unique_ptr<Topology> topology_ = std::make_unique<Topology>();
    Field<float> energy_{*topology_, 0}, strain_{*topology_, 0}, open_{*topology_, 0}, next_;
    Diffusion diffusion_;
};

} // namespace spindrift
