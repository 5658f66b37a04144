#include "spindrift/spray/liquid_view.h"

namespace spindrift {

LiquidView::LiquidView(Particles particles, float spacing, float late_by)
    : spacing_(spacing), reach_(2 * spacing), late_by_(late_by), particles_(std::move(particles)),
      topology_(tiles_around(particles_, reach_, 1))
{
    sort_by_tile(particles_, topology_, reach_, index_);
}

LiquidView::Around LiquidView::around(const Vec3f& x, const Barriers& barriers) const
{
    constexpr auto kFull = static_cast<float>(4.0 / 3 * kPi * 8); // particles in a ball with a radius of two spacings
    Around result;
    float count = 0, weights = 0;
    for_each_near(x, barriers, [&](size_t i, float distance) {
        const float w = weight(distance);
        ++count, weights += w;
        result.velocity += w * particles_.v[i];
    });
    result.share = count / kFull;
    if (weights > 0) result.velocity /= weights;
    return result;
}

} // namespace spindrift
