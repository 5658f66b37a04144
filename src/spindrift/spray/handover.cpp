#include "spindrift/spray/handover.h"

#include "spindrift/spray/whitewater.h"

#include <algorithm>

namespace spindrift {

float radius_of_share(float spacing) { return spacing * static_cast<float>(std::cbrt(3 / (4 * kPi))); }

void Handover::inspect(const LiquidView& liquid, float isolated_share, const Barriers& barriers)
{
    enum What : uint8_t { part_of_liquid, newly_isolated, taken_and_isolated, taken_and_rejoined };
    const Particles& p = liquid.particles();
    std::vector<uint8_t> what(p.size());
    parallel_for(
        p.size(),
        [&](size_t i) {
            const bool isolated = liquid.around(p.P[i], barriers).share < isolated_share;
            const bool taken = std::ranges::binary_search(taken_, p.id[i]);
            what[i] = taken ? (isolated ? taken_and_isolated : taken_and_rejoined)
                            : (isolated ? newly_isolated : part_of_liquid);
        },
        256);
    taken_.clear(), rejoined_.clear(), isolated_.clear(); // particles that have left the liquid's cache are dropped
    for (size_t i = 0; i < what.size(); ++i) {
        if (what[i] == newly_isolated) isolated_.push_back(i);
        if (what[i] == taken_and_rejoined) rejoined_.push_back(p.id[i]);
        if (what[i] == taken_and_isolated || what[i] == taken_and_rejoined) taken_.push_back(p.id[i]);
    }
    std::ranges::sort(taken_), std::ranges::sort(rejoined_);
}

double Handover::give_back(double landed, double all, double particle_volume)
{
    constexpr double kRounding = 1e-4; // of a particle, for rounded radii
    // Droplets may hold more than was taken: they merged with others, or their particles have left the liquid.
    const double surplus = std::max(0.0, all - particle_volume * static_cast<double>(taken_.size()));
    const double usable = std::max(0.0, landed - surplus) / particle_volume + kRounding;
    const size_t count = std::min(rejoined_.size(), static_cast<size_t>(usable));
    std::vector<int32_t> left;
    std::set_difference(taken_.begin(), taken_.end(), rejoined_.begin(),
                        rejoined_.begin() + static_cast<std::ptrdiff_t>(count), std::back_inserter(left));
    taken_ = std::move(left);
    return surplus + particle_volume * static_cast<double>(count);
}

Particles Handover::take(const LiquidView& liquid, const Vec3f& gravity,
                         const std::function<bool(const Vec3f&)>& has_room)
{
    const Particles& p = liquid.particles();
    Particles droplets;
    for (const size_t i : isolated_) {
        if (!has_room(p.P[i])) continue;
        droplets.P.push_back(p.P[i]), droplets.v.push_back(p.v[i] + liquid.velocities_late_by() * gravity);
        taken_.push_back(p.id[i]);
    }
    std::ranges::sort(taken_);
    droplets.resize(droplets.P.size());
    std::ranges::fill(droplets.attribute<float>("radius"), radius_of_share(liquid.spacing()));
    std::ranges::fill(droplets.attribute<float>(kLifeAttribute), kEndsInLiquid);
    return droplets;
}

} // namespace spindrift
