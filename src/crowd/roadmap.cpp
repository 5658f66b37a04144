#include "crowd/roadmap.h"

#include <algorithm>
#include <queue>

namespace spindrift {

Roadmap::Roadmap(const FreeSpace& space)
{
    const auto& triangles = space.triangulation().triangles;
    of_triangle_.assign(triangles.size(), {kNone, kNone, kNone});
    for (size_t t = 0; t < triangles.size(); ++t)
        for (size_t i = 0; i < 3; ++i) {
            const int u = triangles[t].neighbour[i];
            if (u == Triangulation::kWall || static_cast<size_t>(u) < t) continue; // a vertex once, by the first
            const auto& back = triangles[static_cast<size_t>(u)].neighbour;
            const auto j = static_cast<size_t>(std::find(back.begin(), back.end(), static_cast<int>(t)) - back.begin());
            const auto v = static_cast<uint32_t>(vertices_.size());
            of_triangle_[t][i] = of_triangle_[static_cast<size_t>(u)][j] = v;
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

// In the order of a queue: nearest first, and of the equally near the first one.
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

std::vector<uint32_t> Roadmap::path(const Vec2d& from, int from_triangle, const Vec2d& to, int to_triangle) const
{
    // A* from the goal, so that the path comes out in the order in which it is walked. Marks of earlier searches on the
    // same thread are told apart by their number: nothing has to be cleared.
    struct Mark {
        uint64_t search = 0;
        double distance = 0;
        uint32_t next = kNone;
    };
    thread_local std::vector<Mark> marks;
    thread_local uint64_t search = 0;
    ++search;
    if (marks.size() < size()) marks.resize(size());

    NearestFirst queue;
    const auto offer = [&](uint32_t v, double distance, uint32_t next) {
        if (marks[v].search == search && distance >= marks[v].distance) return;
        marks[v] = {search, distance, next};
        queue.push({distance + (vertices_[v] - from).norm(), v});
    };
    for (const uint32_t v : of_triangle(to_triangle))
        if (v != kNone) offer(v, (vertices_[v] - to).norm(), kNone);
    const auto& ends = of_triangle(from_triangle);
    uint32_t best_end = kNone;
    double best = std::numeric_limits<double>::infinity();
    while (!queue.empty()) {
        const Waiting v = queue.top();
        queue.pop();
        if (v.distance >= best) break; // no vertex that is left can be on a shorter path
        const double distance = marks[v.vertex].distance;
        if (v.distance > distance + (vertices_[v.vertex] - from).norm()) continue;
        if (std::find(ends.begin(), ends.end(), v.vertex) != ends.end()) {
            best = v.distance, best_end = v.vertex;
            continue;
        }
        for (const Link& link : links(v.vertex)) offer(link.to, distance + link.length, v.vertex);
    }
    std::vector<uint32_t> vertices;
    for (uint32_t v = best_end; v != kNone; v = marks[v].next) vertices.push_back(v);
    return vertices;
}

} // namespace spindrift
