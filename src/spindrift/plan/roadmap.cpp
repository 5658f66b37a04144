#include "spindrift/plan/roadmap.h"

#include "spindrift/base/scratch.h"

#include <algorithm>
#include <mutex>
#include <queue>

namespace spindrift {

// Distances of all vertices from a few landmarks far apart. The difference of two vertices' distances from the same
// landmark is a lower bound of their distance, nearly exact for landmarks behind one of them.
struct Roadmap::Landmarks {
    static constexpr size_t kCount = 8;
    using Distances = Eigen::Array<float, kCount, 1>;
    std::once_flag once;
    std::vector<Distances> of_vertex;
    // For unreachable vertices: a large finite distance, so that differences are zero.
    static constexpr float kNowhere = 1e30f;

    void measure(const Roadmap& roadmap)
    {
        of_vertex.assign(roadmap.size(), Distances::Constant(kNowhere));
        // Each landmark is the vertex farthest from the previous ones; the first is far from a vertex of the largest
        // part.
        uint32_t next = roadmap.in_largest_part();
        std::vector<float> nearest(roadmap.size(), kInfinity);
        for (size_t k = 0; k < kCount + 1; ++k) {
            const Tree tree = roadmap.tree({{next, 0, Vec2d::Zero()}});
            float farthest = -1;
            for (uint32_t v = 0; v < roadmap.size(); ++v) {
                if (std::isinf(tree.distance[v])) continue;
                if (k > 0) of_vertex[v][static_cast<Eigen::Index>(k - 1)] = tree.distance[v];
                nearest[v] = k > 0 ? std::min(nearest[v], tree.distance[v]) : kInfinity;
                const float far = k > 0 ? nearest[v] : tree.distance[v];
                if (far > farthest) farthest = far, next = v;
            }
        }
    }
};

Roadmap::~Roadmap() = default;
Roadmap::Roadmap(Roadmap&&) noexcept = default;

Roadmap::Roadmap(const FreeSpace& space) : landmarks_(std::make_unique<Landmarks>())
{
    const auto& triangles = space.triangulation().triangles;
    of_triangle_.assign(triangles.size(), {kNone, kNone, kNone});
    for (size_t t = 0; t < triangles.size(); ++t)
        for (size_t i = 0; i < 3; ++i) {
            const int u = triangles[t].neighbour[i];
            if (u == Triangulation::kWall || static_cast<size_t>(u) < t)
                continue; // each vertex once, from the first triangle
            const auto& back = triangles[u].neighbour;
            const size_t j = std::find(back.begin(), back.end(), static_cast<int>(t)) - back.begin();
            const auto v = static_cast<uint32_t>(vertices_.size());
            of_triangle_[t][i] = of_triangle_[u][j] = v;
            vertices_.push_back(
                0.5 * (space.point(triangles[t].corner[(i + 1) % 3]) + space.point(triangles[t].corner[(i + 2) % 3])));
        }
    const auto for_each_link = [&](const auto& body) {
        for (const auto& on : of_triangle_)
            for (const uint32_t a : on)
                for (const uint32_t b : on)
                    if (a != kNone && b != kNone && a != b) body(a, b);
    };
    start_.assign(vertices_.size() + 1, 0);
    for_each_link([&](uint32_t a, uint32_t) { ++start_[a + 1]; });
    for (size_t v = 1; v < start_.size(); ++v) start_[v] += start_[v - 1];
    links_.resize(start_.back());
    std::vector<uint32_t> next(start_.begin(), start_.end() - 1);
    for_each_link([&](uint32_t a, uint32_t b) {
        links_[next[a]++] = {b, static_cast<float>((vertices_[a] - vertices_[b]).norm())};
    });
}

namespace {

// Order of the queue: by distance, then by vertex.
struct Waiting {
    double distance;
    uint32_t vertex;
    bool operator>(const Waiting& o) const
    {
        return distance != o.distance ? distance > o.distance : vertex > o.vertex;
    }
};
using NearestFirst = std::priority_queue<Waiting, std::vector<Waiting>, std::greater<>>;

} // namespace

const Roadmap::Seed& Roadmap::Tree::seed(uint32_t vertex) const
{
    return *std::lower_bound(seeds.begin(), seeds.end(), vertex,
                             [](const Seed& s, uint32_t v) { return s.vertex < v; });
}

Roadmap::Tree Roadmap::tree(std::vector<Seed> seeds) const
{
    std::sort(seeds.begin(), seeds.end(), [](const Seed& a, const Seed& b) {
        return a.vertex != b.vertex ? a.vertex < b.vertex : a.distance < b.distance;
    });
    Tree tree;
    tree.next.assign(size(), kNone);
    std::vector<double> distance(size(), std::numeric_limits<double>::infinity());
    NearestFirst queue;
    for (const Seed& seed : seeds)
        if (seed.distance < distance[seed.vertex]) {
            distance[seed.vertex] = seed.distance;
            queue.push({seed.distance, seed.vertex});
        }
    while (!queue.empty()) {
        const Waiting v = queue.top();
        queue.pop();
        if (v.distance > distance[v.vertex]) continue;
        for (const Link& link : links(v.vertex)) {
            const double through = v.distance + link.length;
            if (through >= distance[link.to]) continue;
            distance[link.to] = through;
            tree.next[link.to] = v.vertex;
            queue.push({through, link.to});
        }
    }
    for (const Seed& seed : seeds)
        if (tree.next[seed.vertex] == kNone && (tree.seeds.empty() || tree.seeds.back().vertex != seed.vertex))
            tree.seeds.push_back(seed);
    tree.distance.assign(distance.begin(), distance.end());
    return tree;
}

uint32_t Roadmap::in_largest_part() const
{
    std::vector<bool> seen(size(), false);
    std::vector<uint32_t> part;
    size_t most = 0;
    uint32_t result = 0;
    for (uint32_t start = 0; start < size(); ++start) {
        if (seen[start]) continue;
        part = {start};
        seen[start] = true;
        for (size_t i = 0; i < part.size(); ++i)
            for (const Link& link : links(part[i]))
                if (!seen[link.to]) seen[link.to] = true, part.push_back(link.to);
        if (part.size() > most) most = part.size(), result = start;
    }
    return result;
}

const Roadmap::Landmarks& Roadmap::landmarks() const
{
    std::call_once(landmarks_->once, [&] { landmarks_->measure(*this); });
    return *landmarks_;
}

std::vector<uint32_t> Roadmap::path(const Vec2d& from, int from_triangle, const Vec2d& to, int to_triangle) const
{
    // A* from the goal, so that the path comes out in walking order. Marks of earlier searches on the same thread have
    // other numbers, so that nothing has to be cleared.
    struct Mark {
        uint64_t search = 0;
        double distance = 0, left = 0;
        uint32_t next = kNone;
    };
    struct Searches {
        std::vector<Mark> marks;
        uint64_t count = 0;
    };
    auto& searches = thread_scratch<Searches>();
    std::vector<Mark>& marks = searches.marks;
    const uint64_t search = ++searches.count;
    if (marks.size() < size()) marks.resize(size());

    // Lower bound of the distance from a vertex.
    const std::vector<Landmarks::Distances>& far = landmarks().of_vertex;
    Landmarks::Distances from_distances = Landmarks::Distances::Constant(Landmarks::kNowhere);
    for (const uint32_t v : of_triangle(from_triangle))
        if (v != kNone) from_distances = from_distances.min(far[v] + static_cast<float>((vertices_[v] - from).norm()));
    const auto left = [&](uint32_t v) {
        constexpr float rounding = 1e-3f;
        const float by_landmarks = (far[v] - from_distances).abs().maxCoeff() - rounding;
        return std::max((vertices_[v] - from).norm(), static_cast<double>(by_landmarks));
    };
    NearestFirst queue;
    const auto offer = [&](uint32_t v, double distance, uint32_t next) {
        if (marks[v].search == search && distance >= marks[v].distance) return;
        const bool seen = marks[v].search == search;
        marks[v] = {search, distance, seen ? marks[v].left : left(v), next};
        queue.push({distance + marks[v].left, v});
    };
    for (const uint32_t v : of_triangle(to_triangle))
        if (v != kNone) offer(v, (vertices_[v] - to).norm(), kNone);
    const auto& ends = of_triangle(from_triangle);
    uint32_t best_end = kNone;
    double best = std::numeric_limits<double>::infinity();
    while (!queue.empty()) {
        const Waiting v = queue.top();
        queue.pop();
        if (v.distance >= best) break; // the remaining vertices cannot be on a shorter path
        const double distance = marks[v.vertex].distance;
        if (v.distance > distance + marks[v.vertex].left) continue;
        if (std::find(ends.begin(), ends.end(), v.vertex) != ends.end()) {
            const double length = distance + (vertices_[v.vertex] - from).norm();
            if (length < best) best = length, best_end = v.vertex;
            continue;
        }
        for (const Link& link : links(v.vertex)) offer(link.to, distance + link.length, v.vertex);
    }
    std::vector<uint32_t> vertices;
    for (uint32_t v = best_end; v != kNone; v = marks[v].next) vertices.push_back(v);
    return vertices;
}

} // namespace spindrift
