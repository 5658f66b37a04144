#include "spindrift/mesh/faults.h"

#include "spindrift/base/parallel.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

namespace spindrift {

namespace {

constexpr size_t kMostToIntersect = 300'000; // pairs of more triangles take seconds

bool has_corners(const Vec3i& t) { return t[0] != t[1] && t[1] != t[2] && t[2] != t[0]; }

std::string text_of(const Vec3f& x) { return fmt::format("({:.5g}, {:.5g}, {:.5g})", x.x(), x.y(), x.z()); }

// An edge of a triangle; sorted by its ends, whichever way it runs.
struct DirectedEdge {
    int low, high, triangle;
    bool up; // from low to high
    bool same(const DirectedEdge& o) const { return low == o.low && high == o.high; }
    bool operator<(const DirectedEdge& o) const
    {
        return std::tie(low, high, triangle, up) < std::tie(o.low, o.high, o.triangle, o.up);
    }
};

// Six times the volume of a tetrahedron: positive if d sees the triangle a, b, c clockwise.
double volume(const Vec3d& a, const Vec3d& b, const Vec3d& c, const Vec3d& d)
{
    return (a - d).dot((b - d).cross(c - d));
}

// Whether a segment passes through the inside of a triangle.
bool crosses(const Vec3d& from, const Vec3d& to, const Vec3d (&t)[3])
{
    const double start = volume(t[0], t[1], t[2], from), end = volume(t[0], t[1], t[2], to);
    if (!(start * end < 0)) return false;
    const double a = volume(from, to, t[0], t[1]), b = volume(from, to, t[1], t[2]), c = volume(from, to, t[2], t[0]);
    return (a > 0 && b > 0 && c > 0) || (a < 0 && b < 0 && c < 0);
}

// Of the triangles in order of their lowest x: finds the first pair, in the order of the mesh, that meets.
class Intersections {
  public:
    explicit Intersections(const Mesh& mesh)
        : mesh_(mesh), shift_(1e-7 * static_cast<double>(bounds_of(mesh).size().maxCoeff()) * Vec3d(0.31, 0.59, 0.75)),
          boxes_(mesh.triangles.size()), order_(mesh.triangles.size())
    {
        for (size_t t = 0; t < boxes_.size(); ++t)
            for (int k = 0; k < 3; ++k) boxes_[t].add(mesh.positions[mesh.triangles[t][k]]);
        std::iota(order_.begin(), order_.end(), 0);
        std::sort(order_.begin(), order_.end(),
                  [&](int a, int b) { return std::pair(boxes_[a].min.x(), a) < std::pair(boxes_[b].min.x(), b); });
    }
    std::pair<int, int> first() const
    {
        const std::pair none(static_cast<int>(order_.size()), 0);
        return parallel_reduce(
            order_.size(), none, [&](size_t i) { return first_with(i, none); },
            [](const auto& a, const auto& b) { return std::min(a, b); }, 256);
    }

  private:
    std::pair<int, int> first_with(size_t place, std::pair<int, int> found) const
    {
        const Box3f& box = boxes_[order_[place]];
        for (size_t k = place + 1; k < order_.size() && boxes_[order_[k]].min.x() <= box.max.x(); ++k) {
            const Box3f& other = boxes_[order_[k]];
            const bool apart = other.min.y() > box.max.y() || other.max.y() < box.min.y() ||
                               other.min.z() > box.max.z() || other.max.z() < box.min.z();
            if (!apart && meet(order_[place], order_[k]))
                found = std::min(found, std::minmax({order_[place], order_[k]}));
        }
        return found;
    }
    bool meet(int s, int t) const
    {
        const Vec3i &a = mesh_.triangles[s], &b = mesh_.triangles[t];
        for (int i = 0; i < 3; ++i)
            for (int k = 0; k < 3; ++k)
                if (a[i] == b[k]) return false; // neighbours
        // Moved a little, edges no longer meet edges exactly. Parts that only touch are apart if moved one of both
        // ways.
        return meet(a, b, shift_) && meet(a, b, -shift_);
    }
    bool meet(const Vec3i& a, const Vec3i& b, const Vec3d& shift) const
    {
        Vec3d at[2][3];
        for (int k = 0; k < 3; ++k)
            at[0][k] = mesh_.positions[a[k]].cast<double>(), at[1][k] = mesh_.positions[b[k]].cast<double>() + shift;
        for (int k = 0; k < 3; ++k)
            if (crosses(at[0][k], at[0][(k + 1) % 3], at[1]) || crosses(at[1][k], at[1][(k + 1) % 3], at[0]))
                return true;
        return false;
    }

    const Mesh& mesh_;
    const Vec3d shift_;
    std::vector<Box3f> boxes_;
    std::vector<int> order_;
};

// The first triangle of a part that is turned the other way round than the whole, and not within the bounds of a part
// that is not.
std::optional<int> inside_out_part(const Mesh& mesh)
{
    std::vector<int> parent(mesh.positions.size()); // of each vertex, towards one of its part
    std::iota(parent.begin(), parent.end(), 0);
    const auto root = [&](int v) {
        while (parent[v] != v) v = parent[v] = parent[parent[v]];
        return v;
    };
    for (const Vec3i& t : mesh.triangles) parent[root(t[1])] = parent[root(t[2])] = root(t[0]);
    struct Part {
        double volume = 0; // six times
        Box3f box;
        int triangle = -1;
    };
    std::map<int, Part> parts;
    const Vec3d origin = bounds_of(mesh).center().cast<double>();
    for (size_t i = 0; i < mesh.triangles.size(); ++i) {
        const Vec3i& t = mesh.triangles[i];
        Part& part = parts[root(t[0])];
        if (part.triangle < 0) part.triangle = static_cast<int>(i);
        Vec3d corner[3];
        for (int k = 0; k < 3; ++k) {
            part.box.add(mesh.positions[t[k]]);
            corner[k] = mesh.positions[t[k]].cast<double>() - origin;
        }
        part.volume += corner[0].dot(corner[1].cross(corner[2]));
    }
    double whole = 0;
    for (const auto& [vertex, part] : parts) whole += part.volume;
    const auto turned = [&](const Part& part) { return part.volume * whole < 0; };
    std::optional<int> first;
    for (const auto& [vertex, part] : parts) {
        const Box3f& box = part.box;
        const auto holds = [&](const auto& other) {
            return !turned(other.second) && other.second.box.contains(box.min) && other.second.box.contains(box.max);
        };
        if (turned(part) && (!first || part.triangle < *first) && std::none_of(parts.begin(), parts.end(), holds))
            first = part.triangle;
    }
    return first;
}

} // namespace

Mesh with_joined_vertices(const Mesh& mesh)
{
    const auto before = [](const Vec3f& a, const Vec3f& b) {
        return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
    };
    std::map<Vec3f, int, decltype(before)> index_of(before);
    Mesh result;
    std::vector<int> index;
    for (size_t i = 0; i < mesh.positions.size(); ++i) {
        const auto [found, is_new] = index_of.try_emplace(mesh.positions[i], static_cast<int>(result.positions.size()));
        if (is_new) {
            result.positions.push_back(mesh.positions[i]);
            if (!mesh.velocities.empty()) result.velocities.push_back(mesh.velocities[i]);
        }
        index.push_back(found->second);
    }
    for (const Vec3i& t : mesh.triangles) result.triangles.push_back(t.unaryExpr([&](int i) { return index[i]; }));
    return result;
}

std::optional<std::string> open_edge(const Mesh& mesh)
{
    std::vector<DirectedEdge> edges;
    for (size_t t = 0; t < mesh.triangles.size(); ++t) {
        const Vec3i& corners = mesh.triangles[t];
        for (int k = 0; k < 3 && has_corners(corners); ++k) {
            const int from = corners[k], to = corners[(k + 1) % 3];
            edges.push_back({std::min(from, to), std::max(from, to), static_cast<int>(t), from < to});
        }
    }
    std::sort(edges.begin(), edges.end());
    const DirectedEdge* fault = nullptr; // of the lowest triangle
    size_t sharing = 0;
    for (size_t i = 0, next = 0; i < edges.size(); i = next) {
        for (next = i + 1; next < edges.size() && edges[next].same(edges[i]);) ++next;
        if (next == i + 2 && edges[i].up != edges[i + 1].up) continue;
        if (!fault || edges[i].triangle < fault->triangle) fault = &edges[i], sharing = next - i;
    }
    if (!fault) return {};
    const std::string edge = fmt::format("triangle {} has an edge from {} to {} that ", fault->triangle,
                                         text_of(mesh.positions[fault->up ? fault->low : fault->high]),
                                         text_of(mesh.positions[fault->up ? fault->high : fault->low]));
    if (sharing == 1) return edge + "no other triangle has";
    if (sharing == 2) return edge + fmt::format("triangle {} has in the same direction", fault[1].triangle);
    return edge + fmt::format("{} triangles have", sharing);
}

std::vector<std::string> oddities(const Mesh& mesh)
{
    std::vector<std::string> found;
    if (volume_of(mesh) < 0) found.push_back("is inside out, and is used the other way round");
    if (const std::optional<int> triangle = inside_out_part(mesh))
        found.push_back(
            fmt::format("has a part that is inside out, with triangle {}; it does not count, because it is no "
                        "cavity in another part",
                        *triangle));
    size_t flat = 0, first = 0;
    for (size_t t = mesh.triangles.size(); t-- > 0;) {
        Vec3d corner[3];
        for (int k = 0; k < 3; ++k) corner[k] = mesh.positions[mesh.triangles[t][k]].cast<double>();
        if ((corner[1] - corner[0]).cross(corner[2] - corner[0]).squaredNorm() == 0) ++flat, first = t;
    }
    if (flat > 0)
        found.push_back(fmt::format("has {} triangle{} without area, the first is {}; they do not count", flat,
                                    flat == 1 ? "" : "s", first));
    if (mesh.triangles.size() > kMostToIntersect) return found;
    const auto [one, other] = Intersections(mesh).first();
    if (one < static_cast<int>(mesh.triangles.size()))
        found.push_back(fmt::format(
            "passes through itself, first in triangles {} and {}; parts that overlap are united", one, other));
    return found;
}

} // namespace spindrift
