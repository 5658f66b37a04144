#include "spindrift/mesh/distance.h"

#include "spindrift/mesh/triangle_distance.h"

#include <Eigen/Geometry>
#include <array>
#include <cstring>
#include <numeric>
#include <span>

namespace spindrift {

#pragma GCC diagnostic ignored "-Wpsabi" // see mesh/triangle_distance.h

using namespace lanes;

namespace {

// A tree over 2^31 triangles has at most 11 levels, and each level leaves at most seven children on the stack.
constexpr int kStackSize = 96;

} // namespace

// --------------------------------------------------------------------------------------------------- building the tree

struct MeshDistance::Builder {
    MeshDistance& tree;
    const Mesh& mesh;
    std::vector<Vec3f> centers;
    std::vector<int> order;

    Builder(MeshDistance& into, const Mesh& from) : tree(into), mesh(from), order(from.triangles.size())
    {
        std::iota(order.begin(), order.end(), 0);
        centers.reserve(order.size());
        for (int t : order) centers.push_back((corner(t, 0) + corner(t, 1) + corner(t, 2)) / 3);
    }

    const Vec3f& corner(int triangle, int k) const { return mesh.positions[mesh.triangles[triangle][k]]; }

    Box3f bounds(std::span<const int> part) const
    {
        Box3f box;
        for (int t : part)
            for (int k = 0; k < 3; ++k) box.add(corner(t, k));
        return box;
    }

    // Splits a part in two along the longest axis of its centroids. The first half is a whole number of full leaves.
    std::span<int> cut(std::span<int>& part) const
    {
        Box3f box;
        for (int t : part) box.add(centers[t]);
        int axis = 0;
        box.size().maxCoeff(&axis);
        const size_t half = (part.size() + 2 * kLanes - 1) / (2 * kLanes) * kLanes;
        const auto before = [&](int s, int t) {
            const float a = centers[s][axis], b = centers[t][axis];
            return a < b || (a == b && s < t);
        };
        std::nth_element(part.begin(), part.begin() + static_cast<long>(half), part.end(), before);
        const std::span<int> rest = part.subspan(half);
        part = part.first(half);
        return rest;
    }

    // Writes the node of a part and its subtree; returns the node's index.
    int add_node(std::span<int> part)
    {
        std::array<std::span<int>, kLanes> parts;
        size_t count = 1;
        parts[0] = part;
        while (count < kLanes) {
            auto& largest = *std::max_element(parts.begin(), parts.begin() + count,
                                              [](auto& s, auto& t) { return s.size() < t.size(); });
            if (largest.size() <= kLanes) break;
            parts[count++] = cut(largest);
        }
        const size_t index = tree.nodes_.size();
        tree.nodes_.emplace_back();
        for (size_t lane = 0; lane < kLanes; ++lane) {
            const std::span<int> child = lane < count ? parts[lane] : std::span<int>();
            const Box3f box = bounds(child);
            const int child_index = child.size() > kLanes ? add_node(child) : ~add_leaf(child);
            Node& node = tree.nodes_[index];
            for (int axis = 0; axis < 3; ++axis) {
                node.low[axis][lane] = box.min[axis];
                node.high[axis][lane] = box.max[axis];
            }
            node.child[lane] = child_index;
        }
        return static_cast<int>(index);
    }

    int add_leaf(std::span<const int> part)
    {
        if (part.empty()) return 0; // never reached: its box is empty
        Leaf& leaf = tree.leaves_.emplace_back();
        for (size_t lane = 0; lane < kLanes; ++lane) {
            const bool used = lane < part.size();
            const int t = part[used ? lane : 0];
            leaf.triangle[lane] = t;
            for (int axis = 0; axis < 3; ++axis) {
                leaf.a[axis][lane] = corner(t, 0)[axis];
                leaf.b[axis][lane] = corner(t, used ? 1 : 0)[axis];
                leaf.c[axis][lane] = corner(t, used ? 2 : 0)[axis];
            }
        }
        return static_cast<int>(tree.leaves_.size()) - 1;
    }
};

MeshDistance::MeshDistance(const Mesh& mesh, bool closed) : closed_(closed)
{
    if (mesh.triangles.empty()) return;
    Builder builder(*this, mesh);
    bounds_ = builder.bounds(builder.order);
    inside_out_ = volume_of(mesh) < 0;
    builder.add_node(builder.order);
}

// ------------------------------------------------------------------------------------------------------------ distance

// Squared distance if it is below limit2, otherwise limit2.
MeshDistance::Found MeshDistance::find_nearest(const Vec3f& x, float limit2) const
{
    int found = -1;
    struct Waiting {
        float distance2;
        int child;
    };
    Waiting stack[kStackSize];
    int waiting = 0;
    stack[waiting++] = {0.0f, 0};
    const Vec3Lanes p = {all(x[0]), all(x[1]), all(x[2])};
    while (waiting > 0) {
        const Waiting next = stack[--waiting];
        if (next.distance2 >= limit2) continue;
        if (next.child < 0) {
            const Leaf& leaf = leaves_[~next.child];
            const float here = smallest(triangle_distance2(p, load(leaf.a), load(leaf.b), load(leaf.c)));
            if (here < limit2) limit2 = here, found = ~next.child;
            continue;
        }
        const Node& node = nodes_[next.child];
        const Lanes d2 = box_distance2(p, load(node.low), load(node.high));
        // Push the nearest child last, so that it is visited first and prunes most of the others.
        const int bottom = waiting;
        for (int i = 0; i < kLanes; ++i) {
            if (!(d2[i] < limit2)) continue;
            int slot = waiting++;
            for (; slot > bottom && stack[slot - 1].distance2 < d2[i]; --slot) stack[slot] = stack[slot - 1];
            stack[slot] = {d2[i], node.child[i]};
        }
    }
    return {limit2, found};
}

MeshDistance::Nearest MeshDistance::nearest(const Vec3f& x) const
{
    const Leaf& leaf = leaves_[find_nearest(x, kInfinity).leaf];
    const Lanes d2 = triangle_distance2({all(x[0]), all(x[1]), all(x[2])}, load(leaf.a), load(leaf.b), load(leaf.c));
    int lane = 0;
    for (int i = 1; i < kLanes; ++i)
        if (d2[i] < d2[lane]) lane = i;
    const auto corner = [&](const float(&values)[3][kLanes]) {
        return Vec3f(values[0][lane], values[1][lane], values[2][lane]);
    };
    return {leaf.triangle[lane], nearest_on_triangle(x, corner(leaf.a), corner(leaf.b), corner(leaf.c))};
}

// ---------------------------------------------------------------------------------------------------------------- sign

namespace {

// Side of the directed line a -> b on which the origin lies, in the plane: 1 left, -1 right. A point on the line is
// perturbed by (e, e^2) with infinitesimal e; 0 only for an edge of zero length. The ends are ordered canonically, so
// that the two triangles of an edge get exactly opposite answers.
int side_of(double au, double av, double bu, double bv)
{
    const bool swap = au > bu || (au == bu && av > bv);
    if (swap) std::swap(au, bu), std::swap(av, bv);
    double side = au * bv - av * bu;
    if (side == 0) side = av - bv;
    if (side == 0) side = bu - au;
    const int sign = (side > 0) - (side < 0);
    return swap ? -sign : sign;
}

// Axis-aligned ray from a point.
struct Ray {
    int axis, u, v;
    bool forward;
    Vec3f from;

    // Nonzero in the lanes whose box the ray may meet.
    auto reaches(const Vec3Lanes& low, const Vec3Lanes& high) const
    {
        const auto beside = (low[u] <= from[u]) & (high[u] >= from[u]) & (low[v] <= from[v]) & (high[v] >= from[v]);
        return beside & (forward ? high[axis] >= from[axis] : low[axis] <= from[axis]);
    }

    // +1 where the ray leaves through the triangle, -1 where it enters, 0 where it misses.
    int crossing(const Vec3d& a, const Vec3d& b, const Vec3d& c) const
    {
        const int side = side_of(a[u], a[v], b[u], b[v]);
        if (side == 0 || side_of(b[u], b[v], c[u], c[v]) != side || side_of(c[u], c[v], a[u], a[v]) != side) return 0;
        // Corners are relative to the ray's start: the triangle is ahead if its plane crosses the axis on the ray's
        // side of 0.
        const double height = a.dot((b - a).cross(c - a)) * side; // > 0: the plane crosses at a positive coordinate
        if (forward ? height <= 0 : height >= 0) return 0;
        return forward ? side : -side;
    }
};

} // namespace

template <class Reaches, class Visit> void MeshDistance::visit_leaves(const Reaches& reaches, const Visit& visit) const
{
    int stack[kStackSize];
    int waiting = 0;
    stack[waiting++] = 0;
    while (waiting > 0) {
        const int next = stack[--waiting];
        if (next < 0) {
            if (!visit(leaves_[~next])) return;
            continue;
        }
        const Node& node = nodes_[next];
        const auto reached = reaches(load(node.low), load(node.high));
        for (int i = 0; i < kLanes; ++i)
            if (reached[i]) stack[waiting++] = node.child[i];
    }
}

bool MeshDistance::inside(const Vec3f& x) const
{
    if (!bounds_.contains(x)) return false;
    // The shortest way out of the bounds crosses the fewest triangles.
    Eigen::Matrix<float, 6, 1> ways;
    ways << x - bounds_.min, bounds_.max - x;
    int way = 0;
    ways.minCoeff(&way);
    const Ray ray = {way % 3, (way + 1) % 3, (way + 2) % 3, way >= 3, x};

    int winding = 0;
    const auto reaches = [&](const Vec3Lanes& low, const Vec3Lanes& high) { return ray.reaches(low, high); };
    visit_leaves(reaches, [&](const Leaf& leaf) {
        const Vec3Lanes a = load(leaf.a), b = load(leaf.b), c = load(leaf.c);
        const auto reached = ray.reaches(a.min(b).min(c), a.max(b).max(c));
        const auto corner = [&](const float(&values)[3][kLanes], int i) -> Vec3d {
            return Vec3f(values[0][i], values[1][i], values[2][i]).cast<double>() - x.cast<double>();
        };
        for (int i = 0; i < kLanes; ++i)
            if (reached[i]) winding += ray.crossing(corner(leaf.a, i), corner(leaf.b, i), corner(leaf.c, i));
        return true;
    });
    return inside_out_ ? winding < 0 : winding > 0;
}

float MeshDistance::distance(const Vec3f& x, float max_distance) const
{
    if (nodes_.empty()) return max_distance;
    const float d = std::min(std::sqrt(find_nearest(x, max_distance * max_distance).distance2), max_distance);
    return closed_ && inside(x) ? -d : d;
}

// ------------------------------------------------------------------------------------------------------------ crossing

namespace {

// Nonzero in the lanes whose box the segment from `from` along `way` may meet.
auto line_reaches(const Vec3f& from, const Vec3f& way, const Vec3Lanes& low, const Vec3Lanes& high)
{
    Lanes enter = all(0), leave = all(1);
    auto beside = enter <= leave;
    for (int a = 0; a < 3; ++a) {
        if (std::abs(way[a]) < kTiny) {
            beside &= (low[a] <= from[a]) & (high[a] >= from[a]);
            continue;
        }
        const Lanes one = (low[a] - from[a]) / way[a], other = (high[a] - from[a]) / way[a];
        enter = max_of(enter, min_of(one, other)), leave = min_of(leave, max_of(one, other));
    }
    // Tolerance for rounding.
    return beside & (enter <= leave + 1e-5f);
}

// The same for triangles [Moller 1997].
auto line_meets(const Vec3f& from, const Vec3f& way, const Vec3Lanes& a, const Vec3Lanes& b, const Vec3Lanes& c)
{
    constexpr float kLarger = 1e-4f; // enlargement, relative to the triangle
    const Vec3Lanes ab = b - a, ac = c - a, d = {all(way.x()), all(way.y()), all(way.z())};
    const Vec3Lanes start = Vec3Lanes{all(from.x()), all(from.y()), all(from.z())} - a;
    const Vec3Lanes p = d.cross(ac), q = start.cross(ab);
    const Lanes det = ab.dot(p), size = max_of(det, -det), sign = det < 0.0f ? all(-1) : all(1);
    const Lanes u = sign * start.dot(p), v = sign * d.dot(q), t = sign * ac.dot(q), slack = kLarger * size;
    return (size > kTiny) & (u >= -slack) & (v >= -slack) & (u + v <= size + slack) & (t >= 0.0f) & (t <= size);
}

} // namespace

bool MeshDistance::meets(const Vec3f& from, const Vec3f& to) const
{
    if (nodes_.empty()) return false;
    const Vec3f way = to - from;
    bool found = false;
    const auto reaches = [&](const Vec3Lanes& low, const Vec3Lanes& high) {
        return line_reaches(from, way, low, high);
    };
    visit_leaves(reaches, [&](const Leaf& leaf) {
        const auto met = line_meets(from, way, load(leaf.a), load(leaf.b), load(leaf.c));
        for (int i = 0; i < kLanes; ++i) found |= met[i] != 0;
        return !found;
    });
    return found;
}

} // namespace spindrift
