#include "spray/colliders.h"

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

void SprayColliders::push_out(Vec3f& x) const
{
    for (size_t c = 0; c < shapes_.size(); ++c)
        if (const float distance = shapes_[c].distance(x, frame_); distance < 0) x -= distance * normal(c, x, 0);
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

std::optional<SprayColliders::Contact> SprayColliders::first_contact(const Vec3f& from, const Vec3f& to, float radius,
                                                                     float share_of_step) const
{
    std::optional<Contact> first;
    for (size_t c = 0; c < shapes_.size(); ++c) {
        const Shape& shape = shapes_[c];
        const Vec3f start =
            shape.moves() ? Vec3f(from + share_of_step * (shape.carried(from, frame_before_, frame_) - from)) : from;
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
        const auto at = [&](float way) -> Vec3f { return start + way / length * (to - start); };
        // A step that is no longer than the distance cannot lead through the wall.
        float free = 0, way = 0;
        int advances = 0;
        for (; distance >= near && way < length && advances < kMostAdvances; ++advances) {
            free = way, way = std::min(way + distance - 0.5f * near, length);
            distance = shape.distance(at(way), frame_);
        }
        if (distance >= near && advances < kMostAdvances) continue;
        for (int halving = 0; halving < 12; ++halving) {
            const float middle = 0.5f * (free + way);
            (shape.distance(at(middle), frame_) < near ? way : free) = middle;
        }
        if (const float share = free / length; !first || share < first->share) first = Contact{c, share, at(free)};
    }
    return first;
}

bool SprayColliders::in_the_way(const Vec3f& x, const Vec3f& v, float radius, float seconds, float step) const
{
    return first_contact(x, x + seconds * v, radius, seconds / step).has_value();
}

SprayColliders::Fate SprayColliders::move(Vec3f& x, Vec3f& v, float radius, float seconds, float step) const
{
    Fate fate = Fate::free;
    float left = seconds;
    for (int contacts = 0; contacts < kMostContacts; ++contacts) {
        const Vec3f to = x + left * v;
        const auto contact = first_contact(x, to, radius, left / step);
        if (!contact) {
            x = to;
            return fate;
        }
        const SprayColliderParams& collider = params_[contact->collider];
        x = contact->x;
        const Shape& shape = shapes_[contact->collider];
        const Vec3f n = normal(contact->collider, x, radius), solid = shape.velocity(x, frame_, fps_);
        // Out of the solid, or away from it by what rounding may have taken.
        if (const float room = shape.distance(x, frame_); room < radius) x += (radius - room) * n;
        if (collider.contact == SprayColliderParams::Contact::die) return Fate::dead;
        if (collider.contact == SprayColliderParams::Contact::stick) {
            v = solid;
            return Fate::stuck;
        }
        const Vec3f relative = v - solid;
        const float into = relative.dot(n);
        if (into < 0) v = solid + (1 - collider.friction) * (relative - into * n) - collider.restitution * into * n;
        left *= 1 - contact->share;
        fate = Fate::bounced;
    }
    return fate;
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
