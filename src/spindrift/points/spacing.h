// How far apart particles lie, for sets that do not say it themselves.
//
// A full liquid has one particle in every cube of the spacing. Each of some thousand particles is asked for the
// distance of its eighth neighbour, which hardly depends on whether the particles form a lattice, are jittered or fall
// at random. Where density varies, the answer is the spacing in the middle of the volume, not of the particles, most of
// which lie where they are dense: a spacing too large thickens the dense part a little, one too small takes the sparse
// part apart. Spray, whose particles lie more than twice as far apart as most, has no say.
//
// Where it is weak: in a sheet one particle thick it comes out a third too large.
#pragma once

#include "spindrift/base/math.h"

#include <optional>
#include <vector>

namespace spindrift {

// [m]; nothing for fewer than nine different positions. They must be finite.
std::optional<float> find_spacing(std::vector<Vec3f> positions);

} // namespace spindrift
