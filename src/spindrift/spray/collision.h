// Collision of two droplets [Jones 2018, Algorithm 4]: takes the pair and returns what becomes of it. Mass, momentum
// and the centre of mass are conserved in all cases. No global state, no grid.
//
//     const CollisionResult result = collide(larger, smaller, rules, seed);
//     for (const Droplet& d : result.all()) ...
//
// Differences from [Jones 2018]:
// - Satellites are rotated at random about the velocity of their ligament, not about zero velocity, and the change of
//   momentum is subtracted again: the result is Galilean invariant.
// - The sign in (4.27) is inverted, see break_up() in the source.
#pragma once

#include "spindrift/spray/thresholds.h"

#include <array>
#include <span>

namespace spindrift {

struct Droplet {
    Vec3f x = Vec3f::Zero(), v = Vec3f::Zero();
    float radius = 0;
};

inline double ball_volume(double radius) { return 4 * kPi / 3 * radius * radius * radius; }
inline double ball_radius(double volume) { return std::cbrt(3 * volume / (4 * kPi)); }

constexpr int kMostSatellites = 16;

// Parameters of collisions.
struct CollisionRules {
    float surface_tension = 0.072f, density = 997.044f;
    float min_radius = 5e-5f, max_radius = 0.01f;
    float perturbation = 0.01f; // eta
    int max_satellites = 5;     // at most kMostSatellites
};

// i is the larger droplet, or the first of two equal ones.
Encounter encounter_of(const Droplet& i, const Droplet& j, const CollisionRules& rules);

struct CollisionResult {
    Outcome outcome = Outcome::none;
    int count = 0; // of the resulting droplets
    // The former larger droplet, the former smaller one unless they merged, then satellites from the first to the
    // second.
    std::array<Droplet, kMostSatellites + 2> droplets;
    std::span<const Droplet> all() const { return {droplets.data(), static_cast<size_t>(count)}; }
};

// The droplets are given at their deepest overlap. `random` is the key of the satellites' random rotations. Results
// outside the range of radii are suppressed: droplets that would merge pass each other (Outcome::none), and a ligament
// that would break up retracts.
CollisionResult collide(const Droplet& larger, const Droplet& smaller, const CollisionRules& rules, uint64_t random);

// Radius at which a ligament of this volume, stretched at this speed, breaks up [Jones 2018, (4.25)].
double breakup_radius(double volume, double speed, const CollisionRules& rules);

} // namespace spindrift
