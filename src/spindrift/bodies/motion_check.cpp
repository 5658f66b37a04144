#include "spindrift/bodies/motion_check.h"

#include "spindrift/base/state_error.h"

#include <algorithm>

namespace spindrift {

bool is_somewhere(const RigidMotion& motion)
{
    const auto within_reach = [](const Vec3d& v) { return (v.array().abs() < 1e9).all(); }; // m, m/s or 1/s; not NaN
    const double turned = motion.orientation.coeffs().norm();
    return within_reach(motion.position) && within_reach(motion.velocity) && within_reach(motion.spin) &&
           turned > 0.9 && turned < 1.1;
}

void check_state(const std::vector<RigidMotion>& motion, size_t bodies)
{
    if (motion.size() != bodies) bad_state("the motion of {} bodies, and the scene has {}", motion.size(), bodies);
    if (!std::ranges::all_of(motion, is_somewhere)) bad_state("a body is nowhere, or moves without bounds");
}

} // namespace spindrift
