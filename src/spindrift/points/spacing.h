// Estimates the spacing of particle sets that do not store it.
//
//     const std::optional<float> spacing = find_spacing(particles.P);
//
// A full liquid has one particle per cube of the spacing. The estimate uses the distance to the eighth neighbour of
// some thousand particles, which hardly depends on whether particles form a lattice, are jittered or are random. Where
// density varies, the result is the median over the volume, not over the particles, most of which lie in dense parts: a
// spacing too large thickens the dense part a little, one too small breaks up the sparse part. Spray, with particles
// more than about twice as far apart as the median, is ignored.
//
// Limit: for a sheet one particle thick the result is a third too large.
#pragma once

#include "spindrift/base/math.h"

#include <optional>
#include <vector>

namespace spindrift {

// Returns the spacing [m]; nothing for fewer than nine distinct positions. Positions must be finite.
std::optional<float> find_spacing(std::vector<Vec3f> positions);

} // namespace spindrift
