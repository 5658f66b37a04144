// The roadmap of [Narain 2011, section 4.3.1]: its vertices are the midpoints of edges between two triangles of the
// free space, and vertices on the same triangle are connected.
//
// Differences from [Narain 2011], which precomputes the paths between all pairs of vertices:
// - A goal has a tree of shortest paths, as large as the roadmap. A goal is an area, so its tree starts from every
//   triangle that overlaps it.
// - Paths to single points are found by A* search with landmarks [Goldberg 2005] when the point is not visible. These
//   are exact too.
// - A path starts at the best vertex of the agent's triangle, which is visible, not at the nearest vertex, which may be
//   behind a wall.
#pragma once

#include "spindrift/plan/free_space.h"

#include <array>
#include <cstdint>
#include <memory>
#include <span>

namespace spindrift {

class Roadmap {
  public:
    static constexpr uint32_t kNone = 0xffffffff;

    explicit Roadmap(const FreeSpace& space);
    ~Roadmap();
    Roadmap(Roadmap&&) noexcept;

    size_t size() const { return vertices_.size(); }
    const Vec2d& vertex(uint32_t v) const { return vertices_[v]; }
    // The vertices on a triangle's edges; kNone at walls.
    const std::array<uint32_t, 3>& of_triangle(int t) const { return of_triangle_[t]; }
    struct Link {
        uint32_t to;
        float length;
    };
    std::span<const Link> links(uint32_t v) const { return {links_.data() + start_[v], links_.data() + start_[v + 1]}; }

    // A vertex with a path to the goal over no other vertex: its length, and where it enters the goal.
    struct Seed {
        uint32_t vertex;
        double distance;
        Vec2d entry;
    };
    // Shortest paths to a goal from all vertices.
    struct Tree {
        std::vector<float> distance; // infinite where there is no path
        std::vector<uint32_t> next;  // next vertex on the path; kNone at seeds
        std::vector<Seed> seeds;     // vertices whose direct path is the shortest, in order
        const Seed& seed(uint32_t vertex) const;
    };
    Tree tree(std::vector<Seed> seeds) const;

    // The vertices of the shortest path between two points in different triangles. Empty if there is none.
    std::vector<uint32_t> path(const Vec2d& from, int from_triangle, const Vec2d& to, int to_triangle) const;

  private:
    struct Landmarks;
    const Landmarks& landmarks() const;
    uint32_t in_largest_part() const;

    std::vector<Vec2d> vertices_;
    std::vector<std::array<uint32_t, 3>> of_triangle_;
    std::vector<uint32_t> start_;
    std::vector<Link> links_;
    std::unique_ptr<Landmarks> landmarks_; // created by the first search
};

} // namespace spindrift
