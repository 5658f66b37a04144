// Queries on the edges of the free space: visibility, first edge on a path, closest edge. A uniform grid with about as
// many cells as edges. Empty cells store the distance to the next edge in cells, so that a walk crosses empty space in
// large steps.
#pragma once

#include "spindrift/mesh/polygon.h"

#include <cstdint>
#include <span>

namespace spindrift {

struct Edge {
    Vec2d from, to; // the free space is on the left
    int triangle;   // that the edge belongs to
    Vec2d along() const { return to - from; }
};

class EdgeGrid {
  public:
    explicit EdgeGrid(std::vector<Edge> edges);
    const std::vector<Edge>& edges() const { return edges_; }

    // Whether the segment between two free points stays in the free space. Ends within `tolerance` of an edge count as
    // on it.
    bool visible(const Vec2d& a, const Vec2d& b, double tolerance) const;

    struct Hit {
        int edge = -1;
        double share = 1; // of the path from a to b
    };
    // Where the path from a to b first leaves the free space.
    Hit first_exit(const Vec2d& a, const Vec2d& b) const;

    struct Closest {
        int edge = -1;
        double distance = std::numeric_limits<double>::infinity();
        Vec2d point = Vec2d::Zero();
    };
    Closest closest(const Vec2d& p, double within = std::numeric_limits<double>::infinity()) const;
    // Whether an edge may be closer to p than a cell. Conservative: never false if there is one.
    bool edges_near(const Vec2d& p) const;

  private:
    int column(double x) const { return clamped((x - low_.x()) * inverse_cell_, columns_); }
    int row(double y) const { return clamped((y - low_.y()) * inverse_cell_, rows_); }
    static int clamped(double x, int count)
    {
        return x > 0 ? static_cast<int>(std::min(x, static_cast<double>(count - 1))) : 0;
    }
    size_t index(int x, int y) const { return static_cast<size_t>(y) * columns_ + x; }
    // A copy of each edge in its cells, so that a cell's edges are contiguous in memory.
    struct InCell {
        Vec2d from, along;
        int edge;
    };
    std::span<const InCell> edges_of(size_t cell) const
    {
        return {in_cells_.data() + start_[cell], in_cells_.data() + start_[cell + 1]};
    }
    void fill_cells();
    void measure_empty_space();
    template <class Visit> void walk(const Vec2d& a, const Vec2d& b, const Visit& visit) const;

    std::vector<Edge> edges_;
    Vec2d low_;
    double cell_, inverse_cell_;
    int columns_, rows_;
    std::vector<uint32_t> start_;
    std::vector<InCell> in_cells_;
    std::vector<uint8_t> empty_; // radius in cells, counted from this one, within which all cells are empty
};

} // namespace spindrift
