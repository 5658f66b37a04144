// Particle files of any program: VDB points, or PLY point clouds.
#pragma once

#include "spindrift/io/vdb.h"

namespace spindrift {

// Format by extension. In PLY: x, y, z; vx, vy, vz for the velocity; other properties become attributes, three names
// that end in _x, _y, _z a vector; faces are ignored. Without a velocity, particles are at rest. Throws
// Error(bad_input) naming the file, and the line or byte where possible, if it cannot be used: a missing or damaged
// file, a missing name, NaN.
ParticleFile read_points(const std::string& path, const PointNames& names = {});

// Only the check for NaN.
void expect_finite(const std::string& path, const Particles& particles);

} // namespace spindrift
