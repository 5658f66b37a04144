// Procedural turbulence (Narain et al. 2008; document 000, chapter 3): eddies smaller than a flow's grid can carry,
// whose energy follows from the flow. Any solver's velocity can feed it:
//
//     Turbulence turbulence(params);
//     turbulence.step(flow, dt);                          // after each step of the solver
//     turbulence.velocity().sample_cells(fine, voxel, u); // u' on a finer grid, at points, or on the solver's faces
//
// Where it is weak: eddies know nothing of each other or of the flow's large eddies, and a side of the topology that is
// a wall must be one in `solid_distance` too, or eddies blow through it.
#pragma once

#include "spindrift/turbulence/energy.h"
#include "spindrift/turbulence/synthesis.h"

namespace spindrift {

class Turbulence {
  public:
    explicit Turbulence(const TurbulenceParams& params);

    void step(const Flow& flow, float dt);

    // Of the last step.
    const TurbulentVelocity& velocity() const { return velocity_; }
    const TurbulentEnergy& energy() const { return energy_; }
    const Particles& particles() const { return particles_.particles(); }
    size_t bytes() const { return energy_.bytes() + particles_.bytes() + velocity_.bytes(); }

    // Everything that later steps and samples depend on, for resuming.
    struct State {
        std::vector<uint64_t> tiles; // Morton codes, sorted
        float voxel = 0;
        // For the cells of each tile; distances only where there are solids.
        std::vector<float> energy, open, solid_distance;
        NoiseParticles::State particles;
    };
    State state() const;
    void restore(State state);

  private:
    Cascade cascade() const { return {params_.eddy_size * voxel_, params_.viscosity}; }

    TurbulenceParams params_;
    float voxel_ = 0; // of the last step's flow [m]
    TurbulentEnergy energy_;
    NoiseParticles particles_;
    TurbulentVelocity velocity_;
};

} // namespace spindrift
