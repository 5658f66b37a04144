#include "spindrift/mesh/charts.h"

#include "spindrift/base/parallel.h"
#include "spindrift/mesh/links.h"

#include <Eigen/Geometry>
#include <optional>
#include <utility>

namespace spindrift {

namespace {

using Vec2d = Eigen::Vector2d;

constexpr size_t kTrianglesPerCut = 4096;
// Charts first grow within a narrower cone, which squeezes less; small ones then join neighbours whose cone admits
// them.
constexpr double kGrowingCosine = 0.7;
// Charts reach this far from their first triangle, in units of the edge of a square as large as the mesh: long ones
// waste space. Charts smaller than this share of such a chart join others.
constexpr double kReach = 0.3, kSmallShare = 0.1;

double cross(const Vec2d& a, const Vec2d& b) { return a.x() * b.y() - a.y() * b.x(); }

// An edge on the outline of a chart, in its plane.
struct OutlineEdge {
    Vec2d from, to;
    int first, second; // vertices
    Vec2d low() const { return from.cwiseMin(to); }
    Vec2d high() const { return from.cwiseMax(to); }

    // True if they touch anywhere but at a common vertex.
    bool touches(const OutlineEdge& other) const
    {
        if (first == other.first || first == other.second || second == other.first || second == other.second)
            return false;
        const auto apart = [](const OutlineEdge& a, const OutlineEdge& b) {
            const Vec2d way = a.to - a.from;
            const double one = cross(way, b.from - a.from), two = cross(way, b.to - a.from);
            return (one > 0 && two > 0) || (one < 0 && two < 0);
        };
        return (low().array() <= other.high().array()).all() && (other.low().array() <= high().array()).all() &&
               !apart(*this, other) && !apart(other, *this);
    }
};

// The edge after each one of an outline, with the chart on the left. Where the outline passes through a vertex more
// than once, that is the other side of the same part. None if parts overlap at a vertex.
std::optional<std::vector<int>> next_edges(const std::vector<OutlineEdge>& edges)
{
    struct End {
        int vertex;
        double angle;
        bool leaves;
        int edge;
    };
    std::vector<End> ends;
    for (int i = 0; i < static_cast<int>(edges.size()); ++i) {
        const Vec2d way = edges[i].to - edges[i].from;
        ends.push_back({edges[i].first, std::atan2(way.y(), way.x()), true, i});
        ends.push_back({edges[i].second, std::atan2(-way.y(), -way.x()), false, i});
    }
    std::ranges::sort(ends, {}, [](const End& e) { return std::make_tuple(e.vertex, e.angle, e.leaves, e.edge); });
    std::vector<int> next(edges.size(), -1);
    for (size_t i = 0, end = 0; i < ends.size(); i = end) {
        for (end = i + 1; end < ends.size() && ends[end].vertex == ends[i].vertex;) ++end;
        for (size_t j = i; j < end; ++j) { // counter-clockwise, in and out must alternate
            const End &at = ends[j], &after = ends[j + 1 < end ? j + 1 : i];
            if (after.leaves == at.leaves || (after.angle == at.angle && end > i + 2)) return {};
            if (at.leaves) next[after.edge] = at.edge;
        }
    }
    return next;
}

// The number of loops of an outline that have the chart inside: more than one means that it covers itself.
int outer_loops(const std::vector<OutlineEdge>& edges, std::vector<int> next)
{
    int count = 0;
    for (int first = 0; first < static_cast<int>(edges.size()); ++first) {
        double area = 0;
        for (int e = first; next[e] >= 0; e = std::exchange(next[e], -1))
            area += cross(edges[e].from - edges[first].from, edges[e].to - edges[first].from);
        count += area > 0;
    }
    return count;
}

class Cutting {
  public:
    explicit Cutting(const Mesh& mesh);

    void grow_all();
    void join_small();
    void divide_crossing();
    Charts result() &&;

  private:
    Vec3d center(int t) const
    {
        const Vec3i& c = mesh_.triangles[t];
        return (mesh_.positions[c[0]].cast<double>() + mesh_.positions[c[1]].cast<double>() +
                mesh_.positions[c[2]].cast<double>()) /
               3;
    }
    bool faces(int t, const Vec3d& axis, double cosine) const
    {
        return areas_[t] == 0 || normals_[t].dot(axis) >= cosine;
    }
    template <class May> std::vector<int> flood(int seed, const May& may);
    double area_of(const std::vector<int>& triangles) const
    {
        double sum = 0;
        for (const int t : triangles) sum += areas_[t];
        return sum;
    }
    void grow(int seed);
    int neighbour_for(int chart) const;
    bool crosses(const std::vector<int>& triangles, const Vec3d& axis, int chart) const;
    void divide(const std::vector<int>& triangles, const Vec3d& axis);
    void keep_filled();
    std::vector<OutlineEdge> outline(const std::vector<int>& triangles, const Vec3d& axis, int chart) const;

    const Mesh& mesh_;
    std::vector<Vec3d> normals_;
    std::vector<double> areas_;
    std::vector<int> across_; // triangles at the edges of each, or -1
    std::vector<int> chart_;  // of each triangle, or -1
    std::vector<int> seen_;   // the last flood that reached each triangle
    int floods_ = 0;
    double square_ = 0; // edge of a square as large as the mesh
    Charts charts_;
};

Cutting::Cutting(const Mesh& mesh)
    : mesh_(mesh), normals_(mesh.triangles.size()), areas_(mesh.triangles.size()),
      across_(3 * mesh.triangles.size(), -1), chart_(mesh.triangles.size(), -1), seen_(mesh.triangles.size(), 0)
{
    const MeshLinks links(mesh);
    parallel_for(
        mesh.triangles.size(),
        [&](size_t i) {
            const auto t = static_cast<int>(i);
            const Vec3i& c = mesh.triangles[i];
            const Vec3d a = mesh.positions[c[0]].cast<double>();
            const Vec3d normal =
                (mesh.positions[c[1]].cast<double>() - a).cross(mesh.positions[c[2]].cast<double>() - a);
            areas_[i] = 0.5 * normal.norm();
            normals_[i] = areas_[i] > 0 ? Vec3d(normal / (2 * areas_[i])) : Vec3d::Zero();
            for (int k = 0; k < 3; ++k) { // where three meet at an edge, two are neighbours
                const int other = links.across(mesh, t, k);
                if (other < 0) continue;
                int back = 0;
                while (mesh.triangles[other][back] != c[(k + 1) % 3] || mesh.triangles[other][(back + 1) % 3] != c[k])
                    ++back;
                if (links.across(mesh, other, back) == t) across_[3 * i + static_cast<size_t>(k)] = other;
            }
        },
        kTrianglesPerCut);
    square_ = std::sqrt(parallel_sum(areas_.size(), [&](size_t t) { return areas_[t]; }));
}

// The connected triangles around a seed that are in no chart and may be in this one, the nearest first.
template <class May> std::vector<int> Cutting::flood(int seed, const May& may)
{
    std::vector<int> reached = {seed};
    seen_[seed] = ++floods_;
    for (size_t next = 0; next < reached.size(); ++next)
        for (int k = 0; k < 3; ++k) {
            const int t = across_[3 * reached[next] + k];
            if (t < 0 || seen_[t] == floods_ || !may(t)) continue;
            seen_[t] = floods_;
            reached.push_back(t);
        }
    return reached;
}

void Cutting::grow(int seed)
{
    Vec3d axis = areas_[seed] > 0 ? normals_[seed] : Vec3d::UnitY();
    const Vec3d start = center(seed);
    const auto flooded = [&] {
        const ChartPlane plane(axis);
        return flood(seed, [&](int t) {
            if (chart_[t] >= 0 || !faces(t, axis, kGrowingCosine)) return false;
            const Vec3d way = center(t) - start;
            return std::max(std::abs(plane.u.dot(way)), std::abs(plane.v.dot(way))) <= kReach * square_;
        });
    };
    // Once around the normal of the seed, and once around the mean normal of what that gave.
    Vec3d mean = Vec3d::Zero();
    for (const int t : flooded()) mean += areas_[t] * normals_[t];
    mean.normalize();
    if (faces(seed, mean, kGrowingCosine)) axis = mean.norm() > 0 ? mean : axis;
    std::vector<int> triangles = flooded();
    const auto chart = static_cast<int>(charts_.axes.size());
    for (const int t : triangles) chart_[t] = chart;
    charts_.axes.push_back(axis), charts_.triangles.push_back(std::move(triangles));
}

void Cutting::grow_all()
{
    for (const bool degenerate : {false, true}) // triangles without area join the charts around them
        for (size_t t = 0; t < chart_.size(); ++t)
            if (chart_[t] < 0 && (degenerate || areas_[t] > 0)) grow(static_cast<int>(t));
}

// The neighbour with the longest common border whose cone holds all triangles of a chart; -1 if there is none.
int Cutting::neighbour_for(int chart) const
{
    std::vector<std::pair<int, double>> borders;
    for (const int t : charts_.triangles[chart])
        for (int k = 0; k < 3; ++k) {
            const int across = across_[3 * t + k];
            if (across < 0 || chart_[across] == chart) continue;
            const Vec3i& c = mesh_.triangles[t];
            const double length = (mesh_.positions[c[k]] - mesh_.positions[c[(k + 1) % 3]]).cast<double>().norm();
            borders.emplace_back(chart_[across], length);
        }
    std::sort(borders.begin(), borders.end());
    int best = -1;
    double longest = -1;
    for (size_t i = 0, end = 0; i < borders.size(); i = end) {
        double length = 0;
        for (end = i; end < borders.size() && borders[end].first == borders[i].first; ++end)
            length += borders[end].second;
        const int other = borders[i].first;
        const bool fits = std::ranges::all_of(
            charts_.triangles[chart], [&](int t) { return faces(t, charts_.axes[other], Charts::kLeastCosine); });
        if (fits && length > longest) best = other, longest = length;
    }
    return best;
}

void Cutting::join_small()
{
    const double small = kSmallShare * 4 * kReach * kReach * square_ * square_;
    std::vector<std::pair<double, int>> order;
    for (size_t c = 0; c < charts_.axes.size(); ++c)
        if (const double area = area_of(charts_.triangles[c]); area < small)
            order.emplace_back(area, static_cast<int>(c));
    std::sort(order.begin(), order.end());
    for (const auto& [area, chart] : order) {
        const int to = neighbour_for(chart);
        if (to < 0) continue;
        auto &from = charts_.triangles[chart], &into = charts_.triangles[to];
        for (const int t : from) chart_[t] = to;
        into.insert(into.end(), from.begin(), from.end());
        from.clear();
    }
    keep_filled();
}

// Removes charts whose triangles went to others.
void Cutting::keep_filled()
{
    Charts kept;
    for (size_t c = 0; c < charts_.axes.size(); ++c) {
        if (charts_.triangles[c].empty()) continue;
        for (const int t : charts_.triangles[c]) chart_[t] = static_cast<int>(kept.axes.size());
        kept.axes.push_back(charts_.axes[c]), kept.triangles.push_back(std::move(charts_.triangles[c]));
    }
    charts_ = std::move(kept);
}

// The edges that a chart shares with no other of its triangles.
std::vector<OutlineEdge> Cutting::outline(const std::vector<int>& triangles, const Vec3d& axis, int chart) const
{
    const ChartPlane plane(axis);
    std::vector<OutlineEdge> edges;
    for (const int t : triangles)
        for (int k = 0; k < 3; ++k) {
            const int across = across_[3 * t + k];
            if (across >= 0 && chart_[across] == chart) continue;
            const int a = mesh_.triangles[t][k], b = mesh_.triangles[t][(k + 1) % 3];
            if (a != b) edges.push_back({plane(mesh_.positions[a]), plane(mesh_.positions[b]), a, b});
        }
    return edges;
}

// True unless it is certain that the chart covers no place twice. Seen along the axis all its triangles have the same
// orientation, so that the outline winds around each place as often as triangles cover it: once at most, if it does not
// touch itself and has one outer loop.
bool Cutting::crosses(const std::vector<int>& triangles, const Vec3d& axis, int chart) const
{
    std::vector<OutlineEdge> edges = outline(triangles, axis, chart);
    if (edges.empty()) return false;
    const auto next = next_edges(edges);
    if (!next || outer_loops(edges, *next) > 1) return true;
    // A sweep along the longer side.
    Vec2d low = edges.front().low(), high = edges.front().high();
    for (const OutlineEdge& e : edges) low = low.cwiseMin(e.low()), high = high.cwiseMax(e.high());
    const int along = high.x() - low.x() > high.y() - low.y() ? 0 : 1;
    std::sort(edges.begin(), edges.end(), [&](const OutlineEdge& a, const OutlineEdge& b) {
        return std::make_tuple(a.low()[along], a.first, a.second) < std::make_tuple(b.low()[along], b.first, b.second);
    });
    std::vector<OutlineEdge> passing;
    for (const OutlineEdge& e : edges) {
        std::erase_if(passing, [&](const OutlineEdge& p) { return p.high()[along] < e.low()[along]; });
        for (const OutlineEdge& p : passing)
            if (e.touches(p)) return true;
        passing.push_back(e);
    }
    return false;
}

// Into the half that is nearest to one end, and the parts of the rest, and these again.
void Cutting::divide(const std::vector<int>& triangles, const Vec3d& axis)
{
    const auto chart = static_cast<int>(charts_.axes.size());
    for (const int t : triangles) chart_[t] = chart;
    if (!crosses(triangles, axis, chart)) {
        charts_.axes.push_back(axis), charts_.triangles.push_back(triangles);
        return;
    }
    const auto inside = [&](int t) { return chart_[t] == chart; };
    const int end = flood(triangles.front(), inside).back();
    std::vector<int> half = flood(end, inside), rest(half.begin() + static_cast<long>(half.size() / 2), half.end());
    half.resize(half.size() / 2);
    constexpr int kNone = -1, kRest = -2;
    for (const int t : half) chart_[t] = kNone;
    for (const int t : rest) chart_[t] = kRest;
    std::vector<std::vector<int>> parts = {std::move(half)};
    for (const int t : rest) {
        if (chart_[t] != kRest) continue;
        parts.push_back(flood(t, [&](int other) { return chart_[other] == kRest; }));
        for (const int other : parts.back()) chart_[other] = kNone;
    }
    for (const std::vector<int>& part : parts) divide(part, axis);
}

void Cutting::divide_crossing()
{
    const size_t count = charts_.axes.size();
    std::vector<uint8_t> crossing(count);
    parallel_for(count,
                 [&](size_t c) { crossing[c] = crosses(charts_.triangles[c], charts_.axes[c], static_cast<int>(c)); });
    for (size_t c = 0; c < count; ++c) {
        if (!crossing[c]) continue;
        const std::vector<int> triangles = std::move(charts_.triangles[c]);
        charts_.triangles[c].clear();
        divide(triangles, Vec3d(charts_.axes[c]));
    }
    keep_filled();
}

Charts Cutting::result() &&
{
    charts_.outlines.resize(charts_.axes.size());
    for (size_t c = 0; c < charts_.axes.size(); ++c)
        for (const OutlineEdge& e : outline(charts_.triangles[c], charts_.axes[c], static_cast<int>(c)))
            charts_.outlines[c].push_back({e.first, e.second});
    return std::move(charts_);
}

} // namespace

Charts cut_into_charts(const Mesh& mesh)
{
    Cutting cutting(mesh);
    cutting.grow_all();
    cutting.join_small();
    cutting.divide_crossing();
    return std::move(cutting).result();
}

} // namespace spindrift
