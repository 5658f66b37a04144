// Particles that the flow carries along and whose eddies go with them (document 000, 3.5.1), about one eddy size apart:
// where the flow thins them out others are added, and where it crowds them some go.
//
// Coming and going takes as long as the eddies live there: a particle's `presence` rises to one or falls to zero, and
// it is removed at zero. Particles that leave the fluid go at once.
#pragma once

#include "spindrift/points/sort.h"
#include "spindrift/turbulence/cascade.h"
#include "spindrift/turbulence/energy.h"
#include "spindrift/turbulence/params.h"

namespace spindrift {

constexpr const char* kPresenceAttribute = "presence";
constexpr const char* kEddyEnergyAttribute = "energy"; // of the largest eddies [m2/s2]
// The time of an octave's eddies, counted in their turnovers; it begins anew after kTimePeriod.
std::string eddy_time_attribute(int octave);
constexpr float kTimePeriod = 256;

class NoiseParticles {
  public:
    explicit NoiseParticles(const TurbulenceParams& params);

    void step(const Flow& flow, const TurbulentEnergy& energy, const Cascade& cascade, float dt);

    // Others may sort them.
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
    void live(const Flow& flow, const TurbulentEnergy& energy, const Cascade& cascade, float dt, const Cubes& cubes);
    void fill(const Flow& flow, Cubes& cubes);
    void give_energy(const Flow& flow, const TurbulentEnergy& energy, size_t first);
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
