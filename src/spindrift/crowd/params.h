// Scene parameters of the motion of a crowd. Positions and goals come from the floor plan.
#pragma once

#include "spindrift/scene/params.h"

namespace spindrift {

// Agents that avoid collisions by themselves, see crowd/avoidance.h.
struct AvoidanceParams {
    float horizon = 3, distance = 6;
    int neighbours = 12;
    void visit(ParamVisitor& v);
};

struct CrowdParams {
    enum class SpeedLaw { constant, weidmann };
    float radius = 0.2f;
    float packing = 0.5f;
    bool continuum = true, pairs = true;
    float separation = 1.25f;
    int separation_iterations = 12;
    SpeedLaw speed_law = SpeedLaw::constant;
    float freedom = 0;
    float look_ahead = 0, side = 0;
    float tolerance = 2e-3f;
    int max_iterations = 200;
    AvoidanceParams avoidance;

    void visit(ParamVisitor& v);

    float least_distance() const { return 2 * radius; }
    // Greatest density [Narain 2011, (4.4)] [1/m2].
    float densest() const { return 2 * packing / (std::sqrt(3.0f) * least_distance() * least_distance()); }
};

// Fundamental diagram of [Weidmann 1993]: speed of pedestrians at this density [1/m2], relative to the free walking
// speed.
inline float weidmann_speed(float density)
{
    constexpr float kJamDensity = 5.4f, kShape = 1.913f;
    if (density <= 0) return 1;
    return density < kJamDensity ? 1 - std::exp(-kShape * (1 / density - 1 / kJamDensity)) : 0;
}

} // namespace spindrift
