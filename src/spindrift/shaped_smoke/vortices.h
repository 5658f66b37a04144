// Vortex particles: the turbulent part of the velocity [Madill 2013, 5].
//
// Each has a radius sigma [m] and a strength omega [1/s], the angular velocity at its centre. Its velocity
//
//     u(x) = omega x r xi(|r|^2 / sigma^2),  r = x - x_i                          (4)
//     xi(q) = (4 - 20 / (q + 4))^2 for q < 1, or else 0                           (5)
//
// is free of divergence and ends at the radius. (The paper writes r x omega, which turns the other way.)
//
// In (6), nu is divided by sigma_i^3 + sigma_j^3, so that it is a rate in any unit of length. A rate that would be
// unstable with the number of neighbours is lowered, for both partners alike: the sum of omega is conserved exactly but
// for rounding.
#pragma once

#include "spindrift/field/mac.h"
#include "spindrift/points/particles.h"
#include "spindrift/shaped_smoke/params.h"
#include "spindrift/shaped_smoke/tile_lists.h"

namespace spindrift {

constexpr const char* kOmegaAttribute = "omega";
constexpr const char* kSigmaAttribute = "sigma";

class Vortices {
  public:
    explicit Vortices(const VortexParams& params = {}) : params_(params) { clear(); }

    void clear();
    const Particles& particles() const { return vortices_; }
    void set_particles(Particles vortices) { vortices_ = std::move(vortices); }
    size_t size() const { return vortices_.size(); }

    // (4), (5) at cell centres, summed in the order of the particles.
    void velocity(const Topology& topology, float voxel, Field<float> (&u)[3]);
    // (6), (7); `voxel` is the least size of a cell of the neighbour search.
    void exchange(float voxel, float dt);
    // (8) at constant magnitude. The gradient is that of `flow` plus `own`, at cell centres.
    void spin(const Field<float> (&flow)[3], const Field<float> (&own)[3], float voxel, float dt);
    // Removes vortices where smoke is thinner than `least`.
    void remove_outside(const Field<float>& marker_density, float voxel, float least);
    // Adds vortices at random markers where smoke is denser than `least` and the turbulent energy is below
    // params.speed^2 / 2, at most one in a volume of the size of a vortex.
    struct Smoke {
        const Particles& markers;
        const ParticleIndex& index;
        const Field<float>&density, &energy;
        float least, voxel;
    };
    void spawn(const Smoke& smoke, uint64_t seed);
    // (9).
    void move(const MacField& velocity, float voxel, float dt);

  private:
    VortexParams params_;
    Particles vortices_;
    TileLists lists_;
};

// Mean kinetic energy per mass around each cell [m2/s2]: u^2 / 2, blurred over `radius` cells.
void turbulent_energy(const Field<float> (&u)[3], float radius, Field<float>& energy, Field<float>& scratch);

} // namespace spindrift
