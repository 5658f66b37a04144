#include "spindrift/bodies/motion_check.h"

#include "spindrift/base/state_error.h"

#include <algorithm>

namespace spindrift {

bool is_plausible(const RigidMotion& motion)
{
    const auto bounded = [](const Vec3d& v) { return (v.array().abs() < 1e9).all(); }; // m, m/s or 1/s; false for NaN
    const double length = motion.orientation.coeffs().norm();
    return bounded(motion.position) && bounded(motion.velocity) && bounded(motion.spin) && length > 0.9 && length < 1.1;
}

void check_state(const std::vector<RigidMotion>& motion, size_t bodies)
{
    if (motion.size() != bodies) bad_state("the motion of {} bodies, but the scene has {}", motion.size(), bodies);
    if (!std::ranges::all_of(motion, is_plausible)) bad_state("the position or motion of a body is not plausible");
}

} // namespace spindrift
