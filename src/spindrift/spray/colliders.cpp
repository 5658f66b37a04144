#include "spindrift/spray/colliders.h"

namespace spindrift {

namespace {

constexpr int kMostContacts = 4;   // of a droplet in one step; it waits for the next after that
constexpr int kMostAdvances = 256; // along a way; a droplet that creeps along a wall waits too

} // namespace

SprayColliders::SprayColliders(std::vector<Shape> shapes, const std::vector<SprayColliderParams>& params, float fps)
    : shapes_(std::move(shapes)), params_(params), bounds_(shapes_.size()), fps_(fps)
{
    for (size_t c = 0; c < shapes_.size(); ++c)
        carries_ |= params_[c].contact == SprayColliderParams::Contact::stick && shapes_[c].moves();
}

void SprayColliders::set_frame(float frame)
{
    frame_before_ = frame_, frame_ = frame;
    for (size_t c = 0; c < shapes_.size(); ++c) {
        shapes_[c].prepare(frame);
        bounds_[c] = shapes_[c].bounds(frame);
    }
}

bool SprayColliders::contain(const Vec3f& x) const
{
    return std::ranges::any_of(shapes_, [&](const Shape& shape) { return shape.distance(x, frame_) < 0; });
}

Vec3f SprayColliders::normal(size_t collider, const Vec3f& x, float radius) const
{
    const float step = 0.1f * radius + 1e-5f * (1 + x.cwiseAbs().maxCoeff());
    Vec3f n;
    for (int a = 0; a < 3; ++a) {
        const Vec3f e = step * Vec3f::Unit(a);
        n[a] = shapes_[collider].distance(x + e, frame_) - shapes_[collider].distance(x - e, frame_);
    }
    const float length = n.norm();
    return length > 0 && std::isfinite(length) ? Vec3f(n / length) : Vec3f(0, 1, 0);
}

// Where a droplet is, as seen from a solid that stands where it is now.
Vec3f SprayColliders::seen_from(const Shape& shape, const Vec3f& x, float since, float left) const
{
    if (left == 0 || !shape.moves()) return x;
    return shape.carried(x, left == 1 ? since : frame_ - left * (frame_ - since), frame_);
}

std::optional<SprayColliders::Contact> SprayColliders::first_contact(const Way& way, float radius) const
{
    std::optional<Contact> first;
    for (size_t c = 0; c < shapes_.size(); ++c) {
        const Shape& shape = shapes_[c];
        const bool touched = way.touched && way.touched->first == c;
        const Vec3f start = touched ? way.touched->second : seen_from(shape, way.from, way.since, way.left);
        const Vec3f to = seen_from(shape, way.to, way.since, way.left_at_end);
        Box3f way_box;
        way_box.add(start), way_box.add(to);
        way_box = way_box.grown(radius);
        if ((way_box.min.array() > bounds_[c].max.array()).any() ||
            (way_box.max.array() < bounds_[c].min.array()).any())
            continue;
        const float length = (to - start).norm();
        float distance = shape.distance(start, frame_);
        if (distance <= 0) { // it began in the solid
            first = Contact{c, 0, start};
            break;
        }
        // One that is already nearer than its radius may go on, unless it comes nearer still.
        const float near = std::min(radius, 0.5f * distance);
        if (distance >= length + near) continue;
        const auto at = [&](float gone) -> Vec3f { return start + gone / length * (to - start); };
        // A step that is no longer than the distance cannot lead through the wall.
        float free = 0, gone = 0;
        int advances = 0;
        for (; distance >= near && gone < length && advances < kMostAdvances; ++advances) {
            free = gone, gone = std::min(gone + distance - 0.5f * near, length);
            distance = shape.distance(at(gone), frame_);
        }
        if (distance >= near && advances < kMostAdvances) continue;
        for (int halving = 0; halving < 12; ++halving) {
            const float middle = 0.5f * (free + gone);
            (shape.distance(at(middle), frame_) < near ? gone : free) = middle;
        }
        if (const float share = free / length; !first || share < first->share) first = Contact{c, share, at(free)};
    }
    return first;
}

bool SprayColliders::in_the_way(const Vec3f& x, const Vec3f& v, float radius, float seconds, float step) const
{
    return first_contact({x, x + seconds * v, frame_before_, 1, 1 - seconds / step}, radius).has_value();
}

bool SprayColliders::parted(const Vec3f& a, const Vec3f& b) const
{
    return first_contact({a, b, frame_, 0}, 1e-3f * (b - a).norm()).has_value();
}

Vec3f SprayColliders::stopped(const Vec3f& from, const Vec3f& to, float radius, float since) const
{
    const auto contact = first_contact({from, to, since}, radius);
    return contact ? contact->x : to;
}

float SprayColliders::distance_to_others(size_t collider, const Vec3f& x) const
{
    float least = kInfinity;
    for (size_t c = 0; c < shapes_.size(); ++c)
        if (c != collider) least = std::min(least, shapes_[c].distance(x, frame_));
    return least;
}

template <class Meet> void SprayColliders::follow(Vec3f& x, const Vec3f& v, float radius, float since, float seconds,
                                                  float step, const Meet& meet) const
{
    float left = seconds;
    Way way{x, x, since};
    for (int contacts = 0; contacts < kMostContacts; ++contacts) {
        way.left = left / step, way.to = way.from + left * v;
        const auto contact = first_contact(way, radius);
        if (!contact) {
            x = way.to;
            return;
        }
        const size_t c = contact->collider;
        const Shape& shape = shapes_[c];
        // One that waits for the next step goes with the solid that it has met last.
        x = contact->x;
        const Vec3f n = normal(c, x, radius), solid = shape.velocity(x, frame_, fps_);
        // Out of the solid, or away from it by what rounding may have taken, but not into another.
        if (const float room = shape.distance(x, frame_); room < radius)
            x += (room <= 0 ? radius - room : std::min(radius - room, 0.5f * distance_to_others(c, x))) * n;
        left *= 1 - contact->share;
        if (!meet(c, n, solid)) return;
        way.from = x - left * solid, way.touched = {c, x};
    }
}

SprayColliders::Fate SprayColliders::move(Vec3f& x, Vec3f& v, float radius, float seconds, float step) const
{
    Fate fate = Fate::free;
    follow(x, v, radius, frame_before_, seconds, step, [&](size_t c, const Vec3f& n, const Vec3f& solid) {
        const SprayColliderParams& collider = params_[c];
        if (collider.contact == SprayColliderParams::Contact::die) {
            fate = Fate::dead;
            return false;
        }
        if (collider.contact == SprayColliderParams::Contact::stick) {
            v = solid, fate = Fate::stuck;
            return false;
        }
        const Vec3f relative = v - solid;
        const float into = relative.dot(n);
        if (into < 0) v = solid + (1 - collider.friction) * (relative - into * n) - collider.restitution * into * n;
        fate = Fate::bounced;
        return true;
    });
    return fate;
}

void SprayColliders::slide(Vec3f& x, Vec3f& v, float radius, float since, float seconds) const
{
    follow(x, v, radius, since, seconds, seconds, [&](size_t, const Vec3f& n, const Vec3f& solid) {
        v -= std::min(0.0f, (v - solid).dot(n)) * n;
        return true;
    });
}

void SprayColliders::carry(Vec3f& x, Vec3f& v) const
{
    v = Vec3f::Zero();
    if (!carries_) return;
    const Shape* nearest = nullptr;
    float least = kInfinity;
    for (size_t c = 0; c < shapes_.size(); ++c) {
        if (params_[c].contact != SprayColliderParams::Contact::stick) continue;
        const float d = std::abs(shapes_[c].distance(x, frame_before_));
        if (d < least) least = d, nearest = &shapes_[c];
    }
    if (!nearest || !nearest->moves()) return;
    x = nearest->carried(x, frame_before_, frame_);
    v = nearest->velocity(x, frame_, fps_);
}

} // namespace spindrift
