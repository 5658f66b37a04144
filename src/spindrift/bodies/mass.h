// Volume, centre of mass and inertia of a body of uniform density.
#pragma once

#include "spindrift/world/rigid_solid.h"

namespace spindrift {

using Mat3d = Eigen::Matrix3d;

struct MassProperties {
    double volume = 0;             // [m3]
    Vec3d center = Vec3d::Zero();  // [m]
    Mat3d inertia = Mat3d::Zero(); // about the centre, for a density of 1 [m5]
};

// Exact for a single shape (closed meshes by the divergence theorem). The union of several shapes, which may overlap,
// is integrated on a grid of 128 cells along its longest side, accurate to a thousandth.
MassProperties mass_properties(const std::vector<RigidSolid::Part>& parts);

} // namespace spindrift
