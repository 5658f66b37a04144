#include "spindrift/crowd/params.h"

namespace spindrift {

void AvoidanceParams::visit(ParamVisitor& v)
{
    v("horizon", horizon, unit::seconds, between(1e-2, 1e3),
      "For how long the velocity that an agent chooses meets nobody.");
    v("distance", distance, unit::metres, between(1e-2, 1e3), "How far an agent looks around.");
    v("neighbours", neighbours, unit::none, between(1, 100), "How many of the nearest agents it takes into account.");
}

void CrowdParams::visit(ParamVisitor& v)
{
    v("radius", radius, unit::metres, between(1e-3, 1e3),
      "Half the distance that agents keep at least, in the mean of the crowd.");
    v("packing", packing, unit::none, between(0.05, 1),
      "The greatest density beside that of the closest packing of discs, which walking people do not reach.");
    v("continuum", continuum,
      "The crowd as a continuum keeps people out of places that are full. Without it they walk as if alone.");
    v("pairs", pairs, "People who are too close to each other move apart.");
    v("separation", separation, unit::none, between(1, 2),
      "Agents that are closer than this many times their least distance move apart.");
    v("separation_iterations", separation_iterations, unit::none, between(2, 1000),
      "At most this often in a step, while some are closer than their least distance.");
    v("speed_law", speed_law, choices("constant", "weidmann"),
      "Speed where it is dense: that of each agent, or less as Weidmann's measurements say.");
    v("freedom", freedom, unit::none, between(0, 1),
      "How much of its own way an agent goes where it is densest. With 0 people move as one there, and those whose "
      "ways "
      "cross can stand still for ever; little is enough.");
    v("look_ahead", look_ahead, unit::seconds, between(0, 60),
      "How far ahead agents see where a dense crowd comes towards them, and walk around it; 0: not at all.");
    v("side", side, unit::none, between(-1, 1),
      "To which side agents turn when others come towards them: 1 always to the right, -1 to the left, 0 to neither.");
    v("tolerance", tolerance, unit::none, between(1e-9, 0.1),
      "How far densities may be above the greatest, as a share of it, for the solver of pressure.");
    v("max_iterations", max_iterations, unit::none, between(1, 100000), "Of that solver.");
    v.group("avoidance", avoidance, "Agents that avoid others by themselves, with reciprocal collision avoidance.");
}

} // namespace spindrift
