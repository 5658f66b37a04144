#include "world/solids.h"

namespace spindrift {

Solids::Solids(const DomainParams& domain, std::vector<Shape> colliders, float fps,
               const std::vector<ColliderParams>& params)
    : colliders_(std::move(colliders)), holds_(colliders_.size()), fps_(fps)
{
    for (size_t i = 0; i < params.size(); ++i) {
        holds_[i] = {params[i].friction, params[i].stick};
        hold_back_ |= params[i].friction > 0 || params[i].stick > 0;
    }
    if (domain.bounded())
        for (int axis = 0; axis < 3; ++axis)
            for (int upper = 0; upper < 2; ++upper) {
                const Side side{axis, upper ? -1.0f : 1.0f, upper ? (*domain.max)[axis] : (*domain.min)[axis]};
                (domain.closed(axis, upper) ? walls_ : open_sides_).push_back(side);
            }
    for (const Shape& c : colliders_) moving_ |= c.moves();
}

void Solids::set_frame(float frame)
{
    frame_before_ = frame_, frame_ = frame;
    for (Shape& c : colliders_) c.prepare(frame);
}

const std::vector<RigidSolid>& Solids::bodies() const
{
    static const std::vector<RigidSolid> none;
    return bodies_ ? *bodies_ : none;
}

float Solids::distance(const Vec3f& x) const
{
    return std::min(std::min(collider_distance(x), wall_distance(x)), body_distance(x));
}

float Solids::body_distance(const Vec3f& x) const
{
    float d = kInfinity;
    for (const RigidSolid& body : bodies())
        if (body.least_distance(x) < d) d = std::min(d, body.distance(x));
    return d;
}

Row Solids::distances(const Row3& x) const
{
    Row d = body_distances(x);
    const Row at[3] = {x.x, x.y, x.z};
    for (const Side& s : walls_) d = min(d, s.sign * (at[s.axis] - s.at));
    for (const Shape& c : colliders_)
        for (int k = 0; k < kTileSize; ++k) d[k] = std::min(d[k], c.distance({x.x[k], x.y[k], x.z[k]}, frame_));
    return d;
}

Row Solids::body_distances(const Row3& x) const
{
    const Vec3f first(x.x[0], x.y[0], x.z[0]);
    const Row3 away{x.x - first.x(), x.y - first.y(), x.z - first.z()};
    const float reach = std::sqrt(largest(away.x * away.x + away.y * away.y + away.z * away.z));
    Row d = splat(kInfinity);
    for (const RigidSolid& body : bodies())
        if (body.least_distance(first) - reach < largest(d)) d = min(d, body.distances(x));
    return d;
}

float Solids::wall_distance(const Vec3f& x) const
{
    float d = kInfinity;
    for (const Side& s : walls_) d = std::min(d, s.sign * (x[s.axis] - s.at));
    return d;
}

float Solids::collider_distance(const Vec3f& x) const
{
    float d = kInfinity;
    for (const Shape& c : colliders_) d = std::min(d, c.distance(x, frame_));
    return d;
}

float Solids::free_share(int axis, float low, float high) const
{
    float from = low, to = high;
    for (const Side& s : walls_) {
        if (s.axis != axis) continue;
        if (low == high && !(s.sign * (low - s.at) > 0)) return 0;
        (s.sign > 0 ? from : to) = s.sign > 0 ? std::max(from, s.at) : std::min(to, s.at);
    }
    return low == high ? 1 : std::max(0.0f, to - from) / (high - low);
}

Vec3f Solids::normal(const Vec3f& x, float step) const
{
    // Where a closed side is nearer than any collider can be within a step, there is no need to ask the colliders
    // again.
    const bool only_walls =
        !has_colliders() || std::min(collider_distance(x), body_distance(x)) > wall_distance(x) + 2 * step;
    Vec3f n;
    if (only_walls || !has_bodies()) // colliders gain nothing from eight places at once
        for (int a = 0; a < 3; ++a) {
            const Vec3f e = step * Vec3f::Unit(a);
            n[a] = only_walls ? wall_distance(x + e) - wall_distance(x - e) : distance(x + e) - distance(x - e);
        }
    else {
        const Row d = distances(
            {x.x() + step * Row{-1, 1}, x.y() + step * Row{0, 0, -1, 1}, x.z() + step * Row{0, 0, 0, 0, -1, 1}});
        n = {d[1] - d[0], d[3] - d[2], d[5] - d[4]};
    }
    const float length = n.norm();
    return length > 0 && std::isfinite(length) ? Vec3f(n / length) : Vec3f(0, 1, 0);
}

const Shape* Solids::nearest_collider(const Vec3f& x) const
{
    float nearest = wall_distance(x);
    const Shape* shape = nullptr;
    for (const Shape& c : colliders_)
        if (const float d = c.distance(x, frame_); d < nearest) nearest = d, shape = &c;
    return shape;
}

const RigidSolid* Solids::nearest_body(const Vec3f& x) const
{
    if (!has_bodies()) return nullptr;
    float nearest = std::min(wall_distance(x), collider_distance(x));
    const RigidSolid* found = nullptr;
    for (const RigidSolid& body : *bodies_) {
        if (body.least_distance(x) >= nearest) continue;
        if (const float d = body.distance(x); d < nearest) nearest = d, found = &body;
    }
    return found;
}

Vec3f Solids::velocity(const Vec3f& x) const
{
    const RigidSolid* body = nearest_body(x);
    return body ? body->velocity(x) : collider_velocity(x);
}

Vec3f Solids::collider_velocity(const Vec3f& x) const
{
    const Shape* shape = moving_ ? nearest_collider(x) : nullptr;
    return shape ? shape->velocity(x, frame_, fps_) : Vec3f::Zero();
}

Solids::Neighbour Solids::nearest_within(const Vec3f& center, float radius) const
{
    float nearest = wall_distance(center), second = kInfinity;
    const Shape* shape = nullptr;
    for (const Shape& c : colliders_) {
        const float d = c.distance(center, frame_);
        second = std::min(second, std::max(d, nearest));
        if (d < nearest) nearest = d, shape = &c;
    }
    return {shape, second >= nearest + 2 * radius};
}

Vec3f Solids::velocity_of(const Neighbour& solid, const Vec3f& x) const
{
    return solid.shape ? solid.shape->velocity(x, frame_, fps_) : Vec3f::Zero();
}

Solids::Hold Solids::hold(const Vec3f& x) const
{
    if (!hold_back_ || nearest_body(x)) return {};
    const Shape* shape = nearest_collider(x);
    return shape ? holds_[static_cast<size_t>(shape - colliders_.data())] : wall_hold_;
}

void Solids::set_wall_friction(float friction)
{
    wall_hold_.friction = friction;
    hold_back_ |= friction > 0;
}

std::optional<Vec3f> Solids::first_contact(const Vec3f& from, const Vec3f& to, float gap, float thinnest) const
{
    std::optional<Vec3f> contact;
    float first = kInfinity;
    // On the way from `start`, where the particle was as seen from the solid, which is at rest where it is now.
    const auto meet = [&](const Vec3f& start, const auto& distance_at) {
        const float length = (to - start).norm();
        float distance = distance_at(start);
        const float near = std::min(gap, 0.5f * distance); // one that lies at the wall may slide on
        if (distance <= 0 || distance >= length + near) return;
        const auto at = [&](float way) -> Vec3f { return start + way / length * (to - start); };
        // A step no longer than the distance, or than the wall, cannot lead through the wall.
        float free = 0, way = 0;
        while (distance >= near && way < length) {
            free = way, way = std::min(way + std::max(distance - 0.5f * near, thinnest), length);
            distance = distance_at(at(way));
        }
        if (distance >= near) return;
        for (int halving = 0; halving < 12; ++halving) {
            const float middle = 0.5f * (free + way);
            (distance_at(at(middle)) < near ? way : free) = middle;
        }
        if (free < first) first = free, contact = at(free);
    };
    for (const Shape& c : colliders_)
        meet(c.moves() ? c.carried(from, frame_before_, frame_) : from,
             [&](const Vec3f& x) { return c.distance(x, frame_); });
    for (const RigidSolid& body : bodies()) meet(body.carried(from), [&](const Vec3f& x) { return body.distance(x); });
    return contact;
}

float Solids::speed() const
{
    float fastest = 0;
    for (const Shape& c : colliders_) fastest = std::max(fastest, c.speed(frame_, fps_));
    return fastest;
}

float Solids::body_speed() const
{
    float fastest = 0;
    for (const RigidSolid& body : bodies()) fastest = std::max(fastest, body.speed());
    return fastest;
}

bool Solids::outside_open_side(const Vec3f& x) const
{
    for (const Side& s : open_sides_)
        if (s.sign * (x[s.axis] - s.at) < 0) return true;
    return false;
}

} // namespace spindrift
