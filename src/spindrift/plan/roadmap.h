// The roadmap of document 000, 4.3.1: its vertices are the midpoints of the edges between two triangles of the free
// space, and two of them are connected if they lie on the same triangle.
//
// The document precomputes the paths between all pairs of vertices. Here a goal has a tree of shortest paths to it,
// whose size is that of the roadmap, and single points are searched for, led by the distances to a few landmarks (A. V.
// Goldberg and C. Harrelson, Computing the shortest path: A* search meets graph theory, 2005): exact as well, for what
// is asked.
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
    // The vertices on a triangle's edges; kNone where there is a wall.
    const std::array<uint32_t, 3>& of_triangle(int t) const { return of_triangle_[static_cast<size_t>(t)]; }
    struct Link {
        uint32_t to;
        float length;
    };
    std::span<const Link> links(uint32_t v) const { return {links_.data() + start_[v], links_.data() + start_[v + 1]}; }

    // A vertex with a way to the goal that leads over no other: how long it is, and where in the goal it ends.
    struct Seed {
        uint32_t vertex;
        double distance;
        Vec2d entry;
    };
    // Shortest paths from everywhere to a goal.
    struct Tree {
        std::vector<float> distance; // infinite where there is no way
        std::vector<uint32_t> next;  // vertex on the way; kNone at seeds
        std::vector<Seed> seeds;     // those whose own way is the shortest, by vertex
        const Seed& seed(uint32_t vertex) const;
    };
    Tree tree(std::vector<Seed> seeds) const;

    // The vertices of the shortest path from a point to another, each given with its triangle, which differ. Empty if
    // there is none.
    std::vector<uint32_t> path(const Vec2d& from, int from_triangle, const Vec2d& to, int to_triangle) const;

  private:
    struct Landmarks;
    const Landmarks& landmarks() const;
    uint32_t in_largest_part() const;

    std::vector<Vec2d> vertices_;
    std::vector<std::array<uint32_t, 3>> of_triangle_;
    std::vector<uint32_t> start_;
    std::vector<Link> links_;
    std::unique_ptr<Landmarks> landmarks_; // made when the first path is searched
};

} // namespace spindrift
