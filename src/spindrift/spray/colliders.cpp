#include "spindrift/spray/colliders.h"

namespace spindrift {

namespace {

constexpr int kMostContacts = 4;   // in one step; the droplet then waits for the next step
constexpr int kMostAdvances = 256; // of sphere tracing along a path; a droplet that creeps along a wall waits too

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

bool SprayColliders::contains(const Vec3f& x) const
{
    return std::ranges::any_of(shapes_, [&](const Shape& shape) { return shape.distance(x, frame_) < 0; });
}

Barriers SprayColliders::barriers(float since) const
{
    if (shapes_.empty()) return {};
    const auto distance = [this, since](const Vec3f& x) {
        float least = kInfinity;
        for (const Shape& shape : shapes_)
            least = std::min(least, shape.distance(in_frame_of(shape, x, since, 1), frame_));
        return least;
    };
    const auto part = [this, since](const Vec3f& a, const Vec3f& b) {
        return std::ranges::any_of(shapes_, [&](const Shape& shape) {
            const Vec3f from = in_frame_of(shape, a, since, 1), to = in_frame_of(shape, b, since, 1);
            return shape.distance(from, frame_) > 0 && shape.distance(to, frame_) > 0 && shape.meets(from, to, frame_);
        });
    };
    return {distance, part};
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

// Position of a droplet in the frame of reference of a solid, fixed at the solid's current position.
Vec3f SprayColliders::in_frame_of(const Shape& shape, const Vec3f& x, float since, float left) const
{
    if (left == 0 || !shape.moves()) return x;
    return shape.carried(x, left == 1 ? since : frame_ - left * (frame_ - since), frame_);
}

std::optional<SprayColliders::Contact> SprayColliders::first_contact(const Path& path, float radius) const
{
    std::optional<Contact> first;
    for (size_t c = 0; c < shapes_.size(); ++c) {
        const Shape& shape = shapes_[c];
        const bool touched = path.touched && path.touched->first == c;
        const Vec3f start = touched ? path.touched->second : in_frame_of(shape, path.from, path.since, path.left);
        const Vec3f to = in_frame_of(shape, path.to, path.since, path.left_at_end);
        Box3f path_box;
        path_box.add(start), path_box.add(to);
        path_box = path_box.grown(radius);
        if ((path_box.min.array() > bounds_[c].max.array()).any() ||
            (path_box.max.array() < bounds_[c].min.array()).any())
            continue;
        const float length = (to - start).norm();
        float distance = shape.distance(start, frame_);
        if (distance <= 0) { // starts inside the solid
            first = Contact{c, 0, start};
            break;
        }
        // A droplet closer than its radius may go on unless it comes closer still.
        const float near = std::min(radius, 0.5f * distance);
        if (distance >= length + near) continue;
        const auto at = [&](float gone) -> Vec3f { return start + gone / length * (to - start); };
        // Sphere tracing: a step no longer than the distance cannot cross the wall.
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

bool SprayColliders::blocks(const Vec3f& x, const Vec3f& v, float radius, float seconds, float step) const
{
    return first_contact({x, x + seconds * v, frame_before_, 1, 1 - seconds / step}, radius).has_value();
}

bool SprayColliders::separate(const Vec3f& a, const Vec3f& b) const
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
    Path path{x, x, since};
    for (int contacts = 0; contacts < kMostContacts; ++contacts) {
        path.left = left / step, path.to = path.from + left * v;
        const auto contact = first_contact(path, radius);
        if (!contact) {
            x = path.to;
            return;
        }
        const size_t c = contact->collider;
        const Shape& shape = shapes_[c];
        // A droplet that waits for the next step moves with the solid that it hit last.
        x = contact->x;
        const Vec3f n = normal(c, x, radius), solid = shape.velocity(x, frame_, fps_);
        // Push it out of the solid, or off the surface by the rounding error, but not into another solid.
        if (const float room = shape.distance(x, frame_); room < radius)
            x += (room <= 0 ? radius - room : std::min(radius - room, 0.5f * distance_to_others(c, x))) * n;
        left *= 1 - contact->share;
        if (!meet(c, n, solid)) return;
        path.from = x - left * solid, path.touched = {c, x};
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
