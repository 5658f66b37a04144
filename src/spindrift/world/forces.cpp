#include "spindrift/world/forces.h"
#include "spindrift/scene/limits.h"

#include "spindrift/base/noise.h"

namespace spindrift {

void ForceParams::visit(ParamVisitor& v)
{
    v("kind", kind, choices("wind", "noise", "attraction"),
      "Wind drags smoke and lone liquid particles along; noise and attraction accelerate all smoke and liquid.");
    v("velocity", velocity, unit::metres_per_second, limits::velocity(), "Velocity of the wind.");
    v("drag", drag, unit::per_second, limits::rate(),
      "Rate at which smoke or a lone particle approaches the wind's velocity.");
    v("strength", strength, unit::metres_per_second2, limits::acceleration(),
      "Root mean square of noise; maximum of attraction. Negative values repel.");
    v("size", size, unit::metres, limits::size(), "Feature size of the noise.");
    v("change", change, unit::per_second, between(0, 1e4), "Rate at which the noise changes; 0 keeps it constant.");
    v.rows("points", points, 3, unit::metres, "Attraction: a point [[x, y, z]], or the corners of a polyline.");
    v("reach", reach, unit::metres, limits::size(), "Distance from the line at which attraction fades to zero.");
    v("seed", seed, unit::none, limits::seed(), "Random seed of the noise.");
    v.require(kind != Kind::attraction || !points.empty(), "points",
              "must have at least one point [x, y, z] for kind = \"attraction\"");
    FrameSpan::visit(v, "the force");
}

namespace {

Vec3f nearest_on_line(const std::vector<std::vector<float>>& points, const Vec3f& x)
{
    const auto corner = [&](size_t i) { return Vec3f(points[i][0], points[i][1], points[i][2]); };
    Vec3f best = corner(0);
    for (size_t i = 1; i < points.size(); ++i) {
        const Vec3f from = corner(i - 1), along = corner(i) - from;
        const float t = clamp01((x - from).dot(along) / std::max(along.squaredNorm(), 1e-20f));
        const Vec3f on = from + t * along;
        if ((x - on).squaredNorm() < (x - best).squaredNorm()) best = on;
    }
    return best;
}

// Acceleration towards the line. It vanishes on the line, which prevents jitter there, and beyond its reach.
Vec3f attraction(const ForceParams& force, const Vec3f& x)
{
    constexpr float kSoft = 0.1f; // softening length, as a fraction of the reach
    const Vec3f way = nearest_on_line(force.points, x) - x;
    const float distance = way.norm() / force.reach;
    if (distance >= 1) return Vec3f::Zero();
    const float fade = 1 - distance * distance;
    return force.strength * fade * fade / (force.reach * std::max(distance, kSoft)) * way;
}

} // namespace

void Forces::set_frame(float frame)
{
    frame_ = frame;
    active_.clear(), winds_.clear();
    for (const ForceParams& force : forces_)
        if (force.contains(frame)) (force.kind == ForceParams::Kind::wind ? winds_ : active_).push_back(&force);
}

Vec3f Forces::acceleration(const Vec3f& x) const
{
    Vec3f sum = gravity_;
    for (const ForceParams* force : active_) {
        if (force->kind == ForceParams::Kind::attraction)
            sum += attraction(*force, x);
        else
            sum += force->strength *
                   curl_noise(x / force->size, force->change * frame_ / fps_, static_cast<uint64_t>(force->seed));
    }
    return sum;
}

Vec3f Forces::slowed_by_wind(const Vec3f& v, float dt) const
{
    Vec3f out = v;
    for (const ForceParams* wind : winds_) out = wind->velocity + std::exp(-wind->drag * dt) * (out - wind->velocity);
    return out;
}

float Forces::max_acceleration() const
{
    constexpr float kPeak = 3; // peak over root mean square of the noise
    float most = gravity_.cwiseAbs().maxCoeff();
    for (const ForceParams* force : active_)
        most += std::abs(force->strength) * (force->kind == ForceParams::Kind::noise ? kPeak : 1);
    return most;
}

} // namespace spindrift
