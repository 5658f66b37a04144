// Solid patterns: a value for every place in space, from which textures start.
#pragma once

#include "spindrift/base/math.h"

namespace spindrift {

enum class Pattern { checker, stripes, spots, noise };

// From 0 to 1; `x` in units of the pattern's size: the edge of a check, the width of a stripe, the distance between
// spots, a wave of the noise.
float pattern_at(Pattern pattern, const Vec3f& x, uint64_t seed);

} // namespace spindrift
