#include "spindrift/world/forces.h"
#include "spindrift/scene/limits.h"

#include "spindrift/base/noise.h"

namespace spindrift {

void ForceParams::visit(ParamVisitor& v)
{
    v("kind", kind, choices("wind", "noise", "attraction"),
      "Wind drags smoke along, and of a liquid particles that are on their own; noise and attraction accelerate all of "
      "it.");
    v("velocity", velocity, unit::metres_per_second, limits::velocity(), "Of the wind.");
    v("drag", drag, unit::per_second, limits::rate(),
      "Share of the difference to the wind's velocity that smoke or a lone particle loses, a second.");
    v("strength", strength, unit::metres_per_second2, limits::acceleration(),
      "Of noise, its root mean square; of attraction, its most. Below 0 it drives away.");
    v("size", size, unit::metres, limits::size(), "Of the noise's features.");
    v("change", change, unit::per_second, between(0, 1e4), "How often the noise becomes another one; 0: never.");
    v.rows("points", points, 3, unit::metres,
           "Attraction: a point [[x, y, z]], or the corners of a line to be drawn to.");
    v("reach", reach, unit::metres, limits::size(),
      "How far from the line attraction goes; it fades out towards there.");
    v("seed", seed, unit::none, limits::seed(), "Another number is another noise.");
    v("first_frame", first_frame, unit::frames, limits::frame(), "Acts from this frame on; by default with the shot.");
    v("last_frame", last_frame, unit::frames, limits::frame(), "Acts up to this frame; by default with the shot.");
    v.require(kind != Kind::attraction || !points.empty(), "points",
              "must name at least one point [x, y, z] for kind = \"attraction\"");
    v.require(first_frame <= last_frame, "last_frame", "the force ends before it starts");
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

// Towards the line; nothing on it, for the liquid not to tremble there, and nothing beyond its reach.
Vec3f attraction(const ForceParams& force, const Vec3f& x)
{
    constexpr float kSoft = 0.1f; // of the reach
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
        if (frame >= static_cast<float>(force.first_frame) && frame <= static_cast<float>(force.last_frame) + 1)
            (force.kind == ForceParams::Kind::wind ? winds_ : active_).push_back(&force);
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

Vec3f Forces::flying(const Vec3f& x, const Vec3f& v, float dt) const
{
    Vec3f out = v + dt * acceleration(x);
    for (const ForceParams* wind : winds_) out = wind->velocity + std::exp(-wind->drag * dt) * (out - wind->velocity);
    return out;
}

float Forces::strongest() const
{
    constexpr float kPeak = 3; // of noise over its root mean square
    float most = gravity_.cwiseAbs().maxCoeff();
    for (const ForceParams* force : active_)
        most += std::abs(force->strength) * (force->kind == ForceParams::Kind::noise ? kPeak : 1);
    return most;
}

} // namespace spindrift
