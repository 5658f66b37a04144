#include "plan/plans.h"
#include "spindrift/plan/free_space.h"
#include "spindrift/plan/triangulation.h"

#include <gtest/gtest.h>
#include <set>

namespace spindrift {
namespace {

using Rings = std::vector<std::vector<GridPoint>>;

__extension__ using Wide = __int128;

Wide area2(const std::vector<GridPoint>& ring)
{
    Wide sum = 0;
    for (size_t i = 0; i < ring.size(); ++i) {
        const GridPoint &a = ring[i], &b = ring[(i + 1) % ring.size()];
        sum += static_cast<Wide>(a.x) * b.y - static_cast<Wide>(a.y) * b.x;
    }
    return sum;
}

// Checks exactly all properties of a constrained Delaunay triangulation of rings (outer ones counter-clockwise, holes
// clockwise).
void expect_triangulation_of(const Rings& rings)
{
    const std::optional<Triangulation> made = triangulate(rings);
    ASSERT_TRUE(made);
    const Triangulation& result = *made;
    const auto at = [&](int p) { return result.points[p]; };
    // Areas add up, and all triangles are counter-clockwise.
    Wide whole = 0, sum = 0;
    for (const auto& ring : rings) whole += area2(ring);
    std::set<std::pair<GridPoint, GridPoint>> walls;
    for (size_t t = 0; t < result.triangles.size(); ++t) {
        const auto& triangle = result.triangles[t];
        const auto [a, b, c] = triangle.corner;
        const int64_t area = signed_area2(at(a), at(b), at(c));
        ASSERT_GT(area, 0);
        sum += area;
        for (size_t i = 0; i < 3; ++i) {
            const int p = triangle.corner[(i + 1) % 3], q = triangle.corner[(i + 2) % 3];
            const int u = triangle.neighbour[i];
            if (u == Triangulation::kWall) {
                EXPECT_TRUE(walls.emplace(at(p), at(q)).second);
                continue;
            }
            // Neighbours agree about their edge, and neither has its far corner in the other's circumcircle.
            const auto& other = result.triangles[u];
            int j = 0;
            while (j < 3 && other.neighbour[j] != static_cast<int>(t)) ++j;
            ASSERT_LT(j, 3);
            EXPECT_EQ(other.corner[static_cast<size_t>(j + 1) % 3], q);
            EXPECT_EQ(other.corner[static_cast<size_t>(j + 2) % 3], p);
            EXPECT_FALSE(in_circle(at(a), at(b), at(c), at(other.corner[j])));
        }
    }
    EXPECT_TRUE(whole == sum);
    // The walls are exactly the edges of the rings: each edge is a chain of walls.
    size_t used = 0;
    for (const auto& ring : rings)
        for (size_t i = 0; i < ring.size(); ++i) {
            GridPoint from = ring[i];
            const GridPoint to = ring[(i + 1) % ring.size()];
            while (from != to) {
                auto wall = walls.lower_bound({from, {-2 * kGridReach, -2 * kGridReach}});
                const auto leads_to = [&](const GridPoint& p) {
                    const bool forward = (p.x - from.x) * (to.x - from.x) + (p.y - from.y) * (to.y - from.y) > 0;
                    return forward && signed_area2(from, to, p) == 0;
                };
                while (wall != walls.end() && wall->first == from && !leads_to(wall->second)) ++wall;
                ASSERT_TRUE(wall != walls.end() && wall->first == from) << "an edge is missing";
                from = wall->second;
                ++used;
            }
        }
    EXPECT_EQ(used, walls.size());
}

TEST(Triangulation, ASquareWithTouchingHoles)
{
    // Holes that touch each other and the outline at corners; other libraries' triangulators refuse this input.
    const Rings rings = {{{0, 0}, {100, 0}, {100, 80}, {100, 100}, {0, 100}},
                         {{10, 10}, {10, 30}, {30, 30}, {30, 10}},
                         {{30, 30}, {30, 50}, {50, 50}, {50, 30}},
                         {{50, 50}, {50, 70}, {70, 70}, {70, 50}},
                         {{70, 70}, {80, 90}, {100, 80}}};
    expect_triangulation_of(rings);
}

TEST(Triangulation, PointsOnOtherEdgesAndOnOneCircle)
{
    const Rings rings = {{{-20, -20}, {0, -20}, {20, -20}, {20, 20}, {0, 20}, {-20, 20}, {-20, 0}},
                         {{-10, 0}, {-6, 8}, {0, 10}, {6, 8}, {8, 6}, {10, 0}, {8, -6}, {0, -10}, {-8, -6}}};
    expect_triangulation_of(rings);
    EXPECT_TRUE(triangulate({})->triangles.empty());
    EXPECT_TRUE(triangulate({{{0, 0}, {5, 5}}})->triangles.empty());
    EXPECT_FALSE(triangulate({{{0, 0}, {9, 9}, {0, 9}, {9, 0}}}));
}

TEST(Triangulation, LongNeedlesAndTheWholeRange)
{
    const int64_t far = kGridReach;
    const Rings needles = {{{-far, -far}, {far, -far}, {far, far}, {-far, far}},
                           {{-far + 1, -far + 1}, {far - 2, far - 1}, {far - 1, far - 1}},
                           {{-far + 1, -far + 3}, {-far + 1, far - 1}, {far - 4, far - 1}}};
    expect_triangulation_of(needles);
    // A comb of 500 teeth, each a thousand times as long as wide.
    Rings comb(1);
    for (int64_t i = 0; i < 500; ++i)
        for (const GridPoint p : {GridPoint{40 * i, 20000}, {40 * i, 0}, {40 * i + 20, 0}, {40 * i + 20, 20000}})
            comb[0].push_back(p);
    comb[0].push_back({20000, 20010});
    comb[0].push_back({0, 20010});
    expect_triangulation_of(comb);
}

TEST(Triangulation, ConstraintsMayCrossEdgesToTheOuterSquare)
{
    // Plans in which a constraint crosses edges to the outer square.
    for (const uint64_t seed : {1369u, 1499u}) {
        Random random(seed, 77);
        const FloorPlan plan = random_plan(seed, 3 + static_cast<int>(random.bits() % 40));
        const FreeSpace space(plan, 0.02 + 0.4 * static_cast<double>(random.uniform()));
        EXPECT_GT(space.triangulation().triangles.size(), 10u);
    }
}

TEST(Triangulation, RandomPlansAreTriangulatedExactly)
{
    for (uint64_t seed = 0; seed < 60; ++seed) {
        const FreeSpace space(random_plan(seed, 4 + static_cast<int>(seed % 20)),
                              0.1 + 0.005 * static_cast<double>(seed));
        Rings rings;
        const auto add = [&](const Ring& ring) {
            rings.emplace_back();
            for (const Vec2d& p : ring) {
                const Vec2d q = (p - Vec2d(10, 10)) / space.quantum();
                rings.back().push_back({std::llround(q.x()), std::llround(q.y())});
            }
        };
        for (const Polygon& polygon : space.region().polygons()) {
            add(polygon.outer);
            for (const Ring& hole : polygon.holes) add(hole);
        }
        SCOPED_TRACE(seed);
        expect_triangulation_of(rings);
        // The free space is the same in metres, up to rounding to its grid.
        double area = 0;
        for (const auto& triangle : space.triangulation().triangles) {
            const Vec2d a = space.point(triangle.corner[0]), b = space.point(triangle.corner[1]),
                        c = space.point(triangle.corner[2]);
            area += 0.5 * ((b - a).x() * (c - a).y() - (b - a).y() * (c - a).x());
        }
        EXPECT_NEAR(area, space.region().area(), 1e-5 * area);
    }
}

} // namespace
} // namespace spindrift
