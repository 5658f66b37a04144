#include "spindrift/liquid/mac_flow.h"

#include "spindrift/turbulence/sampler.h"

namespace spindrift {

MacFlow::MacFlow(const MacField& velocity, float voxel) : velocity_(velocity), voxel_(voxel)
{
    Vec3f most = Vec3f::Zero();
    for (int a = 0; a < 3; ++a) {
        const auto values = velocity.u[a].values();
        most[a] = parallel_reduce(
            values.size(), 0.0f, [&](size_t i) { return std::abs(values[i]); },
            [](float x, float y) { return std::max(x, y); }, 4096);
    }
    max_speed_ = most.norm();
}

void MacFlow::sample(std::span<const Vec3f> points, float, std::span<Vec3f> velocities) const
{
    Sampler sampler(velocity_.u[0].topology());
    for (size_t i = 0; i < points.size(); ++i) velocities[i] = sampler.velocity(velocity_, points[i] / voxel_);
}

} // namespace spindrift
