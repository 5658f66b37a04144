// Optimal reciprocal collision avoidance [van den Berg 2011]: the velocity nearest to the preferred one with which an
// agent touches none of its neighbours within a horizon, if each of them does its share. Each neighbour forbids a
// half-plane of velocities. The optimum is found by linear programming in two dimensions, and if that is infeasible,
// the velocity that violates the half-planes least, in three.
#pragma once

#include "spindrift/base/math.h"

#include <span>
#include <vector>

namespace spindrift {

struct AvoidanceNeighbour {
    Vec2f x, v;       // place [m] and velocity [m/s]
    float radius = 0; // [m]
    float share = 1;  // of the avoidance that is ours: 1/2 if the neighbour does the same, 1 if it does nothing
};

// The velocities v with (v - point) . normal >= 0.
struct HalfPlane {
    Vec2f point, normal;
    float depth(const Vec2f& v) const { return (point - v).dot(normal); } // positive outside
};

struct Avoider {
    Vec2f x, v, preferred;
    float radius = 0, max_speed = 0;
};

// Velocities with which `self` does not touch the neighbour within the horizon [s]. If they touch already, they must
// separate within the step dt [s].
HalfPlane allowed_velocities(const Avoider& self, const AvoidanceNeighbour& other, float horizon, float dt);

// The point of the disc |v| <= max_speed in all half-planes that is nearest to `preferred`. If there is none, the point
// least far outside.
Vec2f nearest_velocity(std::span<const HalfPlane> planes, const Vec2f& preferred, float max_speed);

Vec2f avoiding_velocity(const Avoider& self, std::span<const AvoidanceNeighbour> others, float horizon, float dt);

} // namespace spindrift
