// Constrained Delaunay triangulation of polygons on an integer grid with exact predicates: terminates and is correct
// for any input, however thin or touching the polygons are. Points are inserted along a space-filling curve and edges
// flipped until they are Delaunay; then each constraint flips the edges that cross it [Sloan 1993].
//
// GEOS's own triangulation is not used: it rejects plans whose holes touch, takes seconds for large ones, and rounds.
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

// Largest coordinate for which products fit into 128 bits.
constexpr int64_t kGridReach = int64_t(1) << 28;

// Twice the signed area of a triangle; positive if counter-clockwise.
inline int64_t signed_area2(const GridPoint& a, const GridPoint& b, const GridPoint& c)
{
    return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
}
// Whether d lies inside the circle through the counter-clockwise a, b, c.
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

// Triangulates the inside of closed rings by the even-odd rule. Edges may touch at points; an edge shared by two rings
// cancels out. Returns nothing if two edges cross.
std::optional<Triangulation> triangulate(const std::vector<std::vector<GridPoint>>& rings);

} // namespace spindrift
