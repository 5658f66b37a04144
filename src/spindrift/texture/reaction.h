// Reaction and diffusion of two substances on a surface, which form patterns by themselves.
//
// spots: Meinhardt's activator a and inhibitor b [Bargteil 2006, (4.1)],
//
//     da/dt = s (p1 a + 0.01 a_i a^2 / b + p3) + Da lap a,   db/dt = s (p2 b + 0.01 a_i a^2) + Db lap b
//
// gray_scott: [Pearson 1993], here with the food b and the activator a,
//
//     da/dt = a^2 b - (feed + kill) a + Da lap a,            db/dt = feed (1 - b) - a^2 b + Db lap b
//
// Time has no unit: a step is one of it. Diffusion is implicit, so that any mesh allows it, and so is decay; the rest
// of the reaction is explicit. Diffusivities follow from the distance between spots that is asked for. In p1 and p2
// decay is negative: as printed, with a plus sign, only negative values of them have a steady state.
#pragma once

#include "spindrift/texture/diffusion.h"

namespace spindrift {

struct ReactionParams {
    enum class System { spots, gray_scott };
    System system = System::spots;
    float spacing = 0.1f; // distance between spots, in the mean [m]
    float speed = 1;      // s, and the same for gray_scott
    // Of spots.
    float p1 = -0.03f, p2 = -0.04f, p3 = 0, substrate = 1.5f; // a_i
    // Of gray_scott.
    float feed = 0.028f, kill = 0.06f;
    int seed = 1;
};

// One value per vertex of some of the parameters instead of the common one: null if there is none.
struct ReactionFields {
    const std::vector<float>*p1 = nullptr, *p2 = nullptr, *p3 = nullptr, *substrate = nullptr;
    const std::vector<float>*feed = nullptr, *kill = nullptr, *spacing = nullptr;
    const std::vector<uint8_t>* held = nullptr; // not zero where both substances stay as they are
};

struct Morphogens {
    std::vector<float> a, b;
};

// The state from which patterns grow at a place, a steady one with some noise. Its smallest detail is that of the
// pattern, so that all meshes that resolve the pattern start alike.
void start_reaction(const ReactionParams& params, const Vec3f& place, float& a, float& b);
// Steps of time 1.
struct ReactionReport {
    double iterations = 0; // of a solve, in the mean
    int unconverged = 0;   // solves that ended above their tolerance
};
ReactionReport react(const Mesh& mesh, const ReactionParams& params, const ReactionFields& fields, int steps,
                     Morphogens& values);
// How much a vertex belongs to a spot, 0 to 1.
float spot_share(const ReactionParams& params, float a, float b);

} // namespace spindrift
