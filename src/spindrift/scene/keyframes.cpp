#include "spindrift/scene/keyframes.h"

#include <algorithm>

namespace spindrift {

namespace {

// The keys around a time and the fraction between them; the same key twice where the value is held.
struct Span {
    size_t from, to;
    double t, frames;
};

// At a key, returns the span that follows: motion starts at the first key and has ended at the last.
Span span_at(const Keys& keys, float frame, Interpolation interpolation)
{
    const auto next = std::upper_bound(keys.begin(), keys.end(), frame,
                                       [](float f, const std::vector<float>& key) { return f < key[0]; });
    const size_t to = next - keys.begin(), from = to - 1;
    if (next == keys.begin()) return {0, 0, 0, 1};
    if (next == keys.end() || interpolation == Interpolation::step) return {from, from, 0, 1};
    const double frames = static_cast<double>(keys[to][0]) - keys[from][0];
    return {from, to, (frame - keys[from][0]) / frames, frames};
}

Vec3d values_of(const std::vector<float>& key)
{
    Vec3d values = Vec3d::Zero();
    for (size_t i = 1; i < std::min<size_t>(key.size(), 4); ++i) values[static_cast<int>(i - 1)] = key[i];
    return values;
}

double frames_around(const Keys& keys, size_t i) { return static_cast<double>(keys[i + 1][0]) - keys[i - 1][0]; }

// Derivative of a smooth motion at a key.
Vec3d rate_at_key(const Keys& keys, size_t i)
{
    if (i == 0 || i + 1 == keys.size()) return Vec3d::Zero();
    const Vec3d before = values_of(keys[i - 1]), here = values_of(keys[i]), after = values_of(keys[i + 1]);
    if (here == before || here == after) return Vec3d::Zero();
    return (after - before) / frames_around(keys, i);
}

} // namespace

bool in_order(const Keys& keys)
{
    for (size_t i = 1; i < keys.size(); ++i)
        if (!(keys[i - 1][0] < keys[i][0])) return false;
    return true;
}

bool keys_change(const Keys& keys)
{
    for (size_t i = 1; i < keys.size(); ++i)
        if (!std::equal(keys[i].begin() + 1, keys[i].end(), keys[i - 1].begin() + 1)) return true;
    return false;
}

KeyedValue value_at(const Keys& keys, float frame, Interpolation interpolation)
{
    const Span span = span_at(keys, frame, interpolation);
    const Vec3d from = values_of(keys[span.from]), to = values_of(keys[span.to]);
    const double t = span.t, h = span.frames;
    if (interpolation != Interpolation::smooth || span.from == span.to)
        return {from + t * (to - from), (to - from) / h};
    // Cubic Hermite interpolation.
    const Vec3d start = h * rate_at_key(keys, span.from), end = h * rate_at_key(keys, span.to), way = to - from;
    const double t2 = t * t, t3 = t2 * t;
    return {from + (3 * t2 - 2 * t3) * way + (t3 - 2 * t2 + t) * start + (t3 - t2) * end,
            (6 * (t - t2) * way + (3 * t2 - 4 * t + 1) * start + (3 * t2 - 2 * t) * end) / h};
}

// ----------------------------------------------------------------------------------------------------------- rotations

namespace {

struct Turn {
    Vec3d axis; // unit length, or zero
    double radians;
    explicit Turn(const std::vector<float>& key) : axis(values_of(key).normalized()), radians(key[4] * kPi / 180) {}
    Eigen::Quaterniond rotation() const { return Eigen::Quaterniond(Eigen::AngleAxisd(radians, axis)); }
};

// Rotation from one key to the next.
Eigen::AngleAxisd way_between(const std::vector<float>& first, const std::vector<float>& second)
{
    Turn from(first), to(second);
    // A rotation by zero degrees adopts the axis of the other key.
    if (from.radians == 0) from.axis = to.axis;
    if (to.radians == 0) to.axis = from.axis;
    if (from.axis.dot(to.axis) < 0) to.axis = -to.axis, to.radians = -to.radians;
    const bool same_axis = (from.axis - to.axis).norm() < 1e-5;
    return same_axis ? Eigen::AngleAxisd(to.radians - from.radians, from.axis)
                     : Eigen::AngleAxisd(to.rotation() * from.rotation().conjugate());
}

Vec3d vector_of(const Eigen::AngleAxisd& turn) { return turn.angle() * turn.axis(); }

Eigen::Quaterniond turned_by(const Vec3d& vector)
{
    const double angle = vector.norm();
    if (angle == 0) return Eigen::Quaterniond::Identity();
    return Eigen::Quaterniond(Eigen::AngleAxisd(angle, vector / angle));
}

// The rotation vector nearest to a guess: adds whole turns as needed.
Vec3d vector_near(const Eigen::Quaterniond& turn, const Vec3d& guess)
{
    const Eigen::AngleAxisd shortest(turn);
    const Vec3d axis = std::abs(shortest.angle()) > 1e-9 ? shortest.axis() : guess.normalized();
    const double turns = std::round((guess.dot(axis) - shortest.angle()) / (2 * kPi));
    return (shortest.angle() + 2 * kPi * turns) * axis;
}

// Angular velocity of a smooth motion at a key.
Vec3d spin_at_key(const Keys& keys, size_t i)
{
    if (i == 0 || i + 1 == keys.size()) return Vec3d::Zero();
    const Vec3d before = vector_of(way_between(keys[i - 1], keys[i])),
                after = vector_of(way_between(keys[i], keys[i + 1]));
    if (before.norm() < 1e-12 || after.norm() < 1e-12) return Vec3d::Zero();
    return (before + after) / frames_around(keys, i);
}

// Cubic Bezier curve of quaternions in cumulative form, a product of three rotations with a known derivative [Kim
// 1995]: q(t) = A B C q(0), with the angular velocities of both keys at its ends.
KeyedTurn smooth_turn(const Keys& keys, const Span& span)
{
    const Eigen::Quaterniond start = Turn(keys[span.from]).rotation(), end = Turn(keys[span.to]).rotation();
    const double t = span.t, h = span.frames;
    const Vec3d first = h / 3 * spin_at_key(keys, span.from), last = h / 3 * spin_at_key(keys, span.to);
    const Vec3d way = vector_of(way_between(keys[span.from], keys[span.to]));
    const Vec3d middle =
        vector_near(turned_by(-first) * turned_by(-last) * end * start.conjugate(), way - first - last);
    const Vec3d third = (turned_by(first) * turned_by(middle)).conjugate() * last;

    const Eigen::Quaterniond A = turned_by((1 - (1 - t) * (1 - t) * (1 - t)) * first);
    const Eigen::Quaterniond B = turned_by(t * t * (3 - 2 * t) * middle), C = turned_by(t * t * t * third);
    const Vec3d spin = 3 * (1 - t) * (1 - t) * first + 6 * t * (1 - t) * (A * middle) + 3 * t * t * (A * (B * third));
    return {A * B * C * start, spin / h};
}

} // namespace

KeyedTurn turn_at(const Keys& keys, float frame, Interpolation interpolation)
{
    const Span span = span_at(keys, frame, interpolation);
    if (interpolation == Interpolation::smooth && span.from != span.to) return smooth_turn(keys, span);
    const Eigen::AngleAxisd way = way_between(keys[span.from], keys[span.to]);
    const Eigen::AngleAxisd part(way.angle() * span.t, way.axis());
    return {Eigen::Quaterniond(part) * Turn(keys[span.from]).rotation(), way.axis() * way.angle() / span.frames};
}

} // namespace spindrift
