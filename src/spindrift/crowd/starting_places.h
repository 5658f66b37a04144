// Evenly spread places for people to stand.
#pragma once

#include "spindrift/plan/navigator.h"

namespace spindrift {

// `count` places in the free space within polygons and rings ([x, y, inner, outer]), at least `distance` apart from
// each other and from those of `taken`: on a triangular lattice as wide as possible, jittered as far as there is room.
// Fewer if there is no room for all.
std::vector<Vec2f> starting_places(const std::vector<Polygon>& polygons, const std::vector<std::vector<float>>& rings,
                                   size_t count, float distance, const Navigator& navigator,
                                   const std::vector<Vec2f>& taken, uint64_t seed);

} // namespace spindrift
