// Constrained Delaunay triangulation of polygons on a grid of integers, where every decision is exact: no input makes
// it loop or go wrong, however thin or touching the polygons are. Points are inserted along a space-filling curve and
// edges flipped until they are Delaunay; then each constraint flips what crosses it (S. W. Sloan, A fast algorithm for
// generating constrained Delaunay triangulations, 1993).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace spindrift {

struct GridPoint {
    int64_t x, y;
    bool operator==(const GridPoint&) const = default;
    bool operator<(const GridPoint& o) const { return x != o.x ? x < o.x : y < o.y; }
};

// Coordinates must be at most this, or products would not fit into 128 bits.
constexpr int64_t kGridReach = int64_t(1) << 28;

// Twice the signed area of a triangle; positive if counter-clockwise.
inline int64_t signed_area2(const GridPoint& a, const GridPoint& b, const GridPoint& c)
{
    return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
}
// Whether d lies within the circle through the counter-clockwise a, b, c.
bool in_circle(const GridPoint& a, const GridPoint& b, const GridPoint& c, const GridPoint& d);

struct Triangulation {
    static constexpr int kWall = -1;
    struct Triangle {
        std::array<int, 3> corner;    // counter-clockwise
        std::array<int, 3> neighbour; // across the edge opposite each corner, or kWall
    };
    std::vector<GridPoint> points;
    std::vector<Triangle> triangles;
};

// The inside of closed rings, even-odd. Edges may touch at points, and one that two rings share is none. Nothing if two
// edges cross.
std::optional<Triangulation> triangulate(const std::vector<std::vector<GridPoint>>& rings);

} // namespace spindrift
