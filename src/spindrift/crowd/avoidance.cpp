#include "spindrift/crowd/avoidance.h"

namespace spindrift {

namespace {

constexpr float kParallel = 1e-5f; // smaller sines count as zero

float cross(const Vec2f& a, const Vec2f& b) { return a.x() * b.y() - a.y() * b.x(); }
Vec2f perpendicular(const Vec2f& a) { return {-a.y(), a.x()}; }

// Objective: the point nearest to `target`, or the farthest in its direction.
struct Wish {
    Vec2f target;
    bool direction = false;
};

// The best point on the boundary of plane `n`, in the disc and in the planes before it. False if there is none.
bool best_on_boundary(std::span<const HalfPlane> planes, size_t n, const Wish& wish, float max_speed, Vec2f& best)
{
    const Vec2f along = perpendicular(planes[n].normal), point = planes[n].point;
    const float middle = -point.dot(along);
    const float inside = middle * middle + max_speed * max_speed - point.squaredNorm();
    if (inside < 0) return false;
    float low = middle - std::sqrt(inside), high = middle + std::sqrt(inside);
    for (size_t k = 0; k < n; ++k) {
        const float slope = along.dot(planes[k].normal), depth = planes[k].depth(point);
        if (std::abs(slope) <= kParallel) {
            if (depth > 0) return false;
            continue;
        }
        (slope > 0 ? low : high) = slope > 0 ? std::max(low, depth / slope) : std::min(high, depth / slope);
        if (low > high) return false;
    }
    const float t = wish.direction ? (wish.target.dot(along) > 0 ? high : low) : along.dot(wish.target - point);
    best = point + std::clamp(t, low, high) * along;
    return true;
}

// Incremental linear programming [Seidel 1991]: the best point either satisfies the next plane or moves to its
// boundary. Returns the first infeasible plane, or the number of planes.
size_t best_in_planes(std::span<const HalfPlane> planes, const Wish& wish, float max_speed, Vec2f& best)
{
    best = wish.target;
    if (wish.direction)
        best *= max_speed;
    else if (best.norm() > max_speed)
        best *= max_speed / best.norm();
    for (size_t n = 0; n < planes.size(); ++n)
        if (planes[n].depth(best) > 0 && !best_on_boundary(planes, n, wish, max_speed, best)) return n;
    return planes.size();
}

} // namespace

HalfPlane allowed_velocities(const Avoider& self, const AvoidanceNeighbour& other, float horizon, float dt)
{
    const Vec2f apart = other.x - self.x, relative = self.v - other.v;
    const float reach = self.radius + other.radius, distance2 = apart.squaredNorm();
    const bool touching = distance2 <= reach * reach;
    // Forbidden relative velocities: a cone, truncated by the disc of velocities with which they just touch in this
    // time.
    const float time = touching ? dt : horizon;
    const Vec2f from_disc = relative - apart / time;
    const float ahead = from_disc.dot(apart), length = from_disc.norm();
    Vec2f normal;
    float change; // of the relative velocity along the normal, to the nearest allowed one
    if (touching || (ahead < 0 && ahead * ahead > reach * reach * length * length)) {
        // Two agents at the same place with the same velocity have no direction: choose one by their order.
        normal = length > 1e-9f ? Vec2f(from_disc / length)
                                : Vec2f(distance2 > 0 ? Vec2f(-apart.normalized()) : Vec2f(1, 0));
        change = reach / time - length;
    } else {
        const float tangent = std::sqrt(distance2 - reach * reach);
        const float side = cross(apart, from_disc) > 0 ? 1.0f : -1.0f;
        const Vec2f leg = (apart * tangent + side * reach * perpendicular(apart)) / distance2;
        normal = side * perpendicular(leg);
        change = -relative.dot(normal);
    }
    return {self.v + other.share * change * normal, normal};
}

Vec2f nearest_velocity(std::span<const HalfPlane> planes, const Vec2f& preferred, float max_speed)
{
    Vec2f best;
    const size_t failed = best_in_planes(planes, {preferred}, max_speed, best);
    // Infeasible: minimize the largest distance to the planes. Points equally far outside two planes lie on a line,
    // which bounds a half-plane of points that are not farther outside the other plane.
    float depth = 0;
    std::vector<HalfPlane> equal;
    for (size_t n = failed; n < planes.size(); ++n) {
        if (planes[n].depth(best) <= depth) continue;
        equal.clear();
        for (size_t k = 0; k < n; ++k) {
            const Vec2f &a = planes[n].normal, &b = planes[k].normal;
            const float sine = cross(a, b);
            Vec2f point;
            if (std::abs(sine) <= kParallel) {
                if (a.dot(b) > 0) continue; // parallel: the deeper of the two decides
                point = 0.5f * (planes[n].point + planes[k].point);
            } else {
                const Vec2f along = perpendicular(a);
                point = planes[n].point + planes[k].depth(planes[n].point) / along.dot(b) * along;
            }
            equal.push_back({point, (b - a).normalized()});
        }
        const Vec2f before = best;
        if (best_in_planes(equal, {planes[n].normal, true}, max_speed, best) < equal.size())
            best = before; // only by rounding
        depth = planes[n].depth(best);
    }
    return best;
}

Vec2f avoiding_velocity(const Avoider& self, std::span<const AvoidanceNeighbour> others, float horizon, float dt)
{
    std::vector<HalfPlane> planes;
    planes.reserve(others.size());
    for (const AvoidanceNeighbour& other : others) planes.push_back(allowed_velocities(self, other, horizon, dt));
    return nearest_velocity(planes, self.preferred, self.max_speed);
}

} // namespace spindrift
