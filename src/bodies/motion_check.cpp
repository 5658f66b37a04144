#include "bodies/motion_check.h"

#include "base/state_error.h"

namespace spindrift {

void check_state(const std::vector<RigidMotion>& motion, size_t bodies)
{
    if (motion.size() != bodies) bad_state("the motion of {} bodies, and the scene has {}", motion.size(), bodies);
    for (const RigidMotion& m : motion) {
        const double turned = m.orientation.coeffs().norm(); // NaN is not in the range either
        if (!m.position.allFinite() || !m.velocity.allFinite() || !m.spin.allFinite() ||
            !(turned > 0.9 && turned < 1.1))
            bad_state("a body is nowhere, or moves without bounds");
    }
}

} // namespace spindrift
