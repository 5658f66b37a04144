// Places for people to stand at, evenly spread over where they may be.
#pragma once

#include "spindrift/plan/navigator.h"

namespace spindrift {

// `count` places within polygons and rings ([x, y, inner, outer]), `distance` or more apart from each other and from
// those of `taken`, all inside the free space: on a triangular lattice as wide as they need, shifted at random as far
// as that leaves room. Fewer if there is no room for all.
std::vector<Vec2f> starting_places(const std::vector<Polygon>& polygons, const std::vector<std::vector<float>>& rings,
                                   size_t count, float distance, const Navigator& navigator,
                                   const std::vector<Vec2f>& taken, uint64_t seed);

} // namespace spindrift
