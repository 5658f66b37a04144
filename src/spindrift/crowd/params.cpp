#include "spindrift/crowd/params.h"

namespace spindrift {

void AvoidanceParams::visit(ParamVisitor& v)
{
    v("horizon", horizon, unit::seconds, between(1e-2, 1e3),
      "Time for which an agent's velocity must be free of collisions.");
    v("distance", distance, unit::metres, between(1e-2, 1e3), "Distance within which an agent considers others.");
    v("neighbours", neighbours, unit::none, between(1, 100), "Number of nearest agents considered.");
}

void CrowdParams::visit(ParamVisitor& v)
{
    v("radius", radius, unit::metres, between(1e-3, 1e3),
      "Half the minimum distance between agents, in the mean of the crowd.");
    v("packing", packing, unit::none, between(0.05, 1),
      "Greatest density as a share of that of the closest packing of discs, which walking people do not reach.");
    v("continuum", continuum,
      "Whether the continuum keeps people out of full places. Without it they walk as if alone.");
    v("pairs", pairs, "Whether people who are too close to each other are separated.");
    v("separation", separation, unit::none, between(1, 2),
      "Agents closer than this many times their minimum distance are separated.");
    v("separation_iterations", separation_iterations, unit::none, between(2, 1000),
      "Largest number of separation iterations per step, while some agents are closer than the minimum.");
    v("speed_law", speed_law, choices("constant", "weidmann"),
      "Walking speed in dense crowds: that of each agent, or reduced according to Weidmann (1993).");
    v("freedom", freedom, unit::none, between(0, 1),
      "Share of its own velocity that an agent keeps where the crowd is full. With 0 people move as one there, and "
      "crossing streams can jam forever; a small value suffices.");
    v("look_ahead", look_ahead, unit::seconds, between(0, 60),
      "Time that agents look ahead to walk around dense oncoming crowds; 0: they do not.");
    v("side", side, unit::none, between(-1, 1),
      "Side that agents prefer when others come towards them: 1 the right, -1 the left, 0 neither.");
    v("tolerance", tolerance, unit::none, between(1e-9, 0.1),
      "Tolerance of the pressure solver: excess density as a share of the greatest.");
    v("max_iterations", max_iterations, unit::none, between(1, 100000),
      "Largest number of iterations of the pressure solver.");
    v.group("avoidance", avoidance, "Reciprocal collision avoidance of agents with driver = \"avoiding\".");
}

} // namespace spindrift
