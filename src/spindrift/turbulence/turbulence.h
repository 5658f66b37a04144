// Procedural turbulence [Narain 2008; Narain 2011, chapter 3]: eddies below the resolution of a flow's grid, with
// energy derived from the flow. Works with any solver's velocity and never changes it:
//
//     Turbulence turbulence(params);
//     turbulence.step(flow, dt);                          // after each step of the solver
//     turbulence.velocity().sample_cells(fine, voxel, u); // u' on a finer grid, at points, or on the solver's faces
//
// See energy.h, noise_particles.h, synthesis.h and waves.h for the differences from [Narain 2011].
//
// Limits: eddies do not interact with each other or with the flow's resolved eddies. A closed side of the topology must
// be included in `solid_distance`, otherwise eddies flow through it.
#pragma once

#include "spindrift/turbulence/energy.h"
#include "spindrift/turbulence/synthesis.h"

namespace spindrift {

class Turbulence {
  public:
    explicit Turbulence(const TurbulenceParams& params);

    void step(const Flow& flow, float dt);

    // Results of the last step.
    const TurbulentVelocity& velocity() const { return velocity_; }
    const TurbulentEnergy& energy() const { return energy_; }
    const Particles& particles() const { return particles_.particles(); }
    size_t bytes() const { return energy_.bytes() + particles_.bytes() + velocity_.bytes(); }

    // Everything that later steps and samples depend on, to resume.
    struct State {
        std::vector<uint64_t> tiles; // Morton codes, sorted
        float voxel = 0;
        // Per cell of each tile; distances only if there are solids.
        std::vector<float> energy, open, solid_distance;
        NoiseParticles::State particles;
    };
    State state() const;
    void restore(State state);

  private:
    Cascade cascade() const { return {params_.eddy_size * voxel_, params_.viscosity}; }

    TurbulenceParams params_;
    float voxel_ = 0; // of the flow in the last step [m]
    TurbulentEnergy energy_;
    NoiseParticles particles_;
    TurbulentVelocity velocity_;
};

} // namespace spindrift
