// A collision of two droplets (document 003, Algorithm 4): the pair goes in, what becomes of it comes out. Mass,
// momentum and the centre of mass are kept, whatever happens. No global state, no grid.
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

// What collisions depend on besides the droplets.
struct CollisionRules {
    float surface_tension = 0.072f, density = 997.044f;
    float min_radius = 5e-5f, max_radius = 0.01f;
    float perturbation = 0.01f; // eta
    int max_satellites = 5;     // at most kMostSatellites
};

// The larger droplet is i; at equal radii the first.
Encounter encounter_of(const Droplet& i, const Droplet& j, const CollisionRules& rules);

struct CollisionResult {
    Outcome outcome = Outcome::none;
    int count = 0; // of droplets now
    // What was the larger droplet, what was the smaller one unless they merged, and satellites from the one to the
    // other.
    std::array<Droplet, kMostSatellites + 2> droplets;
    std::span<const Droplet> all() const { return {droplets.data(), static_cast<size_t>(count)}; }
};

// Both droplets are where they are when they overlap most. `random` is the key of the satellites' random turns.
// A result that would be outside the range of radii does not come about: droplets that would merge pass each other
// (Outcome::none), and a ligament that would break up draws back.
CollisionResult collide(const Droplet& larger, const Droplet& smaller, const CollisionRules& rules, uint64_t random);

// The radius at which a ligament of this volume breaks up that is drawn out at this speed (4.25).
double breakup_radius(double volume, double speed, const CollisionRules& rules);

} // namespace spindrift
