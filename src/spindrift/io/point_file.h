// Particles of any program: VDB points, or a PLY point cloud.
#pragma once

#include "spindrift/io/vdb.h"

namespace spindrift {

// By the ending of the name. In PLY: x, y, z; vx, vy, vz for the velocity; other numbers become attributes, three names
// that end in _x, _y, _z a vector; faces do not matter. Without a velocity, particles rest. Throws Error(bad_input)
// naming the file, and the line or byte where it can, for anything that cannot be used: a missing or damaged file, a
// name that is not there, NaN.
ParticleFile read_points(const std::string& path, const PointNames& names = {});

// The check for NaN alone.
void expect_finite(const std::string& path, const Particles& particles);

} // namespace spindrift
