// Particles that are advected by the flow and carry eddies [Narain 2011, 3.5.1], about one eddy size apart.
//
// Difference from [Narain 2011]: particles are added where the flow spreads and removed where it converges, which
// prevents holes and growing cost. To avoid jumps, `presence` rises to one or falls to zero over about a turnover of
// the eddies; a particle is removed at zero. Particles that leave the fluid are removed at once.
#pragma once

#include "spindrift/points/sort.h"
#include "spindrift/turbulence/cascade.h"
#include "spindrift/turbulence/energy.h"
#include "spindrift/turbulence/params.h"

namespace spindrift {

constexpr const char* kPresenceAttribute = "presence";
constexpr const char* kEddyEnergyAttribute = "energy"; // of the largest eddies [m2/s2]
// Time of an octave's eddies in turnovers, periodic with kTimePeriod.
std::string eddy_time_attribute(int octave);
constexpr float kTimePeriod = 256;

class NoiseParticles {
  public:
    explicit NoiseParticles(const TurbulenceParams& params);

    void step(const Flow& flow, const TurbulentEnergy& energy, const Cascade& cascade, float dt);

    // Callers may sort the particles.
    Particles& particles() { return particles_; }
    const Particles& particles() const { return particles_; }
    size_t bytes() const;

    // `filled` are the tiles of the last step.
    struct State {
        Particles particles;
        int next_id = 0;
        int64_t steps = 0;
    };
    State state() const { return {particles_, next_id_, steps_}; }
    void restore(State state, const std::vector<uint64_t>& filled);

  private:
    class Cubes;
    void move(const Flow& flow, float dt);
    void remove_strays(const Flow& flow);
    void age(const Flow& flow, const TurbulentEnergy& energy, const Cascade& cascade, float dt, const Cubes& cubes);
    void fill(const Flow& flow, Cubes& cubes);
    void assign_energy(const Flow& flow, const TurbulentEnergy& energy, size_t first);
    void add(const Vec3f& x, float presence);

    int octaves_;
    uint64_t seed_;
    float start_energy_, eddy_cells_;
    Particles particles_;
    std::vector<uint64_t> filled_; // tiles of the last step, sorted
    int next_id_ = 0;
    int64_t steps_ = 0;
};

} // namespace spindrift
