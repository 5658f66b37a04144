#include "spindrift/world/solids.h"

namespace spindrift {

Solids::Solids(const DomainParams& domain, std::vector<Shape> colliders, float fps,
               const std::vector<ColliderParams>& params)
    : colliders_(std::move(colliders)), grips_(colliders_.size()), fps_(fps)
{
    for (size_t i = 0; i < params.size(); ++i) {
        grips_[i] = {params[i].friction, params[i].stick};
        has_grip_ |= params[i].friction > 0 || params[i].stick > 0;
    }
    if (domain.bounded())
        for (int axis = 0; axis < 3; ++axis)
            for (int upper = 0; upper < 2; ++upper) {
                const Side side{axis, upper ? -1.0f : 1.0f, upper ? (*domain.max)[axis] : (*domain.min)[axis]};
                (domain.closed(axis, upper) ? walls_ : open_sides_).push_back(side);
            }
    for (const Shape& c : colliders_) moving_ |= c.moves();
    is_sheet_.resize(colliders_.size());
}

void Solids::find_sheets(float voxel)
{
    sheets_.clear();
    for (size_t i = 0; i < colliders_.size(); ++i) {
        is_sheet_[i] = colliders_[i].is_wall_below(2 * voxel);
        // set_frame() updates the bounds of moving sheets.
        if (is_sheet_[i]) sheets_.push_back({i, colliders_[i].moves() ? Box3f() : colliders_[i].bounds(frame_)});
    }
}

void Solids::set_frame(float frame)
{
    frame_before_ = frame_, frame_ = frame;
    for (Shape& c : colliders_) c.prepare(frame);
    for (Sheet& sheet : sheets_) sheet.bounds = colliders_[sheet.collider].bounds(frame);
}

bool Solids::parted(const Vec3f& a, const Vec3f& b) const
{
    const Vec3f low = a.cwiseMin(b), high = a.cwiseMax(b);
    for (const Sheet& sheet : sheets_) {
        const bool apart =
            (low.array() > sheet.bounds.max.array()).any() || (high.array() < sheet.bounds.min.array()).any();
        if (!apart && colliders_[sheet.collider].meets(a, b, frame_)) return true;
    }
    return false;
}

float Solids::sheet_distance(const Vec3f& x) const
{
    float d = kInfinity;
    for (const Sheet& sheet : sheets_) d = std::min(d, colliders_[sheet.collider].distance(x, frame_));
    return d;
}

Vec3f Solids::carried_by_sheet(const Vec3f& x, float from, float to) const
{
    const Shape* nearest = nullptr;
    float least = kInfinity;
    for (const Sheet& sheet : sheets_) {
        const Shape& shape = colliders_[sheet.collider];
        if (const float d = std::abs(shape.distance(x, from)); d < least) least = d, nearest = &shape;
    }
    return nearest && nearest->moves() ? nearest->carried(x, from, to) : x;
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
    // Skip the collider queries if a wall is nearer than any collider can be within the step.
    const bool only_walls =
        !has_colliders() || std::min(collider_distance(x), body_distance(x)) > wall_distance(x) + 2 * step;
    // Twice the step times the gradient, and the step.
    const auto slope_at = [&](const Vec3f& at) {
        float h = step;
        if (has_sheets()) // the step must not cross a sheet
            if (const float d = std::abs(sheet_distance(at)); d < 2 * h) h = std::max(0.5f * d, 1e-3f * h);
        Vec3f n;
        if (only_walls || !has_bodies()) // collider distances have no vectorised version
            for (int a = 0; a < 3; ++a) {
                const Vec3f e = h * Vec3f::Unit(a);
                n[a] = only_walls ? wall_distance(at + e) - wall_distance(at - e) : distance(at + e) - distance(at - e);
            }
        else {
            const Row d = distances(
                {at.x() + h * Row{-1, 1}, at.y() + h * Row{0, 0, -1, 1}, at.z() + h * Row{0, 0, 0, 0, -1, 1}});
            n = {d[1] - d[0], d[3] - d[2], d[5] - d[4]};
        }
        return std::pair(n, h);
    };
    auto [n, h] = slope_at(x);
    // In the middle of a sheet the gradient vanishes; sample slightly to one side.
    if (has_sheets() && n.norm() < 0.01f * h) n = slope_at(x + 0.01f * step * kGenericDirection).first;
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

Solids::Grip Solids::grip(const Vec3f& x) const
{
    if (!has_grip_ || nearest_body(x)) return {};
    const Shape* shape = nearest_collider(x);
    return shape ? grips_[shape - colliders_.data()] : wall_grip_;
}

void Solids::set_wall_friction(float friction)
{
    wall_grip_.friction = friction;
    has_grip_ |= friction > 0;
}

std::optional<Vec3f> Solids::first_contact(const Vec3f& from, const Vec3f& to, float gap, float thinnest) const
{
    std::optional<Vec3f> contact;
    float first = kInfinity;
    const auto stop = [&](float way, const Vec3f& place) {
        if (way < first) first = way, contact = place;
    };
    // Path against a sheet of any thickness, by bisection.
    const auto meet_sheet = [&](const Shape& sheet, const Vec3f& start) {
        if (!sheet.meets(start, to, frame_)) return;
        const float distance = sheet.distance(start, frame_);
        if (distance <= 0.25f * gap) return stop(0, start); // on or inside the sheet: do not leave on the other side
        const float near = std::min(gap, 0.5f * distance);
        const auto at = [&](float share) -> Vec3f { return start + share * (to - start); };
        float free = 0, hit = 1;
        for (int halving = 0; halving < 24; ++halving) {
            const float middle = 0.5f * (free + hit);
            (sheet.meets(start, at(middle), frame_) ? hit : free) = middle;
        }
        for (hit = free, free = 0; hit - free > 1e-6f;) {
            const float middle = 0.5f * (free + hit);
            (sheet.distance(at(middle), frame_) < near ? hit : free) = middle;
        }
        stop(free * (to - start).norm(), at(free));
    };
    // Path against a thicker solid, seen from the solid at its current pose: `start` is the particle's start in that
    // frame.
    const auto meet = [&](const Vec3f& start, const auto& distance_at) {
        const float length = (to - start).norm();
        float distance = distance_at(start);
        const float near = std::min(gap, 0.5f * distance); // a particle close to the wall may slide on
        if (distance <= 0 || distance >= length + near) return;
        const auto at = [&](float way) -> Vec3f { return start + way / length * (to - start); };
        // Steps no longer than the distance or the thickness cannot tunnel. The number of steps is limited for solids
        // that move without bounds.
        constexpr int kMaxSteps = 10000;
        float free = 0, way = 0;
        for (int step = 0; distance >= near && way < length; ++step) {
            if (step == kMaxSteps) return stop(free, at(free));
            free = way, way = std::min(way + std::max(distance - 0.5f * near, thinnest), length);
            distance = distance_at(at(way));
        }
        if (distance >= near) return;
        for (int halving = 0; halving < 12; ++halving) {
            const float middle = 0.5f * (free + way);
            (distance_at(at(middle)) < near ? way : free) = middle;
        }
        stop(free, at(free));
    };
    for (size_t i = 0; i < colliders_.size(); ++i) {
        const Shape& c = colliders_[i];
        const Vec3f start = c.moves() ? c.carried(from, frame_before_, frame_) : from;
        if (is_sheet_[i])
            meet_sheet(c, start);
        else
            meet(start, [&](const Vec3f& x) { return c.distance(x, frame_); });
    }
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
