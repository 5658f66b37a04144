#include "spindrift/plan/navigator.h"

#include "base/determinism.h"
#include "plan/plans.h"

#include <gtest/gtest.h>

namespace spindrift {
namespace {

double distance_to_segment(const Vec2d& p, const Vec2d& a, const Vec2d& b)
{
    const Vec2d along = b - a;
    return (p - a - std::clamp((p - a).dot(along) / along.squaredNorm(), 0.0, 1.0) * along).norm();
}

// Winding number: the angles between a polygon's corners add up to a full turn inside and to zero outside.
bool inside_by_angles(const Vec2d& p, const Ring& ring)
{
    double turn = 0;
    for (size_t i = 0; i < ring.size(); ++i) {
        const Vec2d a = ring[i] - p, b = ring[(i + 1) % ring.size()] - p;
        turn += std::atan2(a.x() * b.y() - a.y() * b.x(), a.dot(b));
    }
    return std::abs(turn) > kPi;
}

// From the plan as drawn, without GEOS.
double distance_to_solids(const FloorPlan& plan, const Vec2d& p)
{
    double least = kInfinity;
    const auto add = [&](const Ring& ring, bool solid) {
        if (inside_by_angles(p, ring) == solid) least = 0;
        for (size_t i = 0; i < ring.size(); ++i)
            least = std::min(least, distance_to_segment(p, ring[i], ring[(i + 1) % ring.size()]));
    };
    for (const PlanPolygon& floor : plan.boundary) add(floor.shape.outer, false);
    for (const PlanPolygon& obstacle : plan.obstacles) add(obstacle.shape.outer, true);
    for (const PlanWall& wall : plan.walls) {
        const Vec2d along = (wall.points[1] - wall.points[0]).normalized(), side(-along.y(), along.x());
        const Vec2d half = 0.5 * wall.thickness * side;
        add({wall.points[0] - half, wall.points[1] - half, wall.points[1] + half, wall.points[0] + half}, true);
    }
    return least;
}

Vec2f random_inside(const Navigator& navigator, Random& random, float side = 20)
{
    for (;;)
        if (const Vec2f p(random.uniform(0, side), random.uniform(0, side)); navigator.inside(p)) return p;
}

TEST(Navigator, FreeSpaceHasRoomForAgents)
{
    for (uint64_t seed = 0; seed < 20; ++seed) {
        const FloorPlan plan = random_plan(seed);
        const double radius = 0.2 + 0.02 * static_cast<double>(seed);
        const Navigator navigator(plan, radius);
        Random random(seed, 1);
        for (int i = 0; i < 2000; ++i) {
            const Vec2f p(random.uniform(-1, 21), random.uniform(-1, 21));
            const double distance = distance_to_solids(plan, p.cast<double>());
            if (navigator.inside(p)) {
                EXPECT_GE(distance, radius - 1e-4) << p.transpose();
            }
            if (distance > 1.42 * radius) { // beyond the tip of any corner
                EXPECT_TRUE(navigator.inside(p)) << p.transpose();
            }
        }
    }
}

TEST(Navigator, VisibleIfAndOnlyIfNoEdgeIsBetween)
{
    size_t seen = 0, hidden = 0;
    for (uint64_t seed = 0; seed < 20; ++seed) {
        const Navigator navigator(random_plan(seed, 12), 0.2);
        Random random(seed, 2);
        for (int i = 0; i < 500; ++i) {
            const Vec2f from = random_inside(navigator, random), to = random_inside(navigator, random);
            const Vec2d a = from.cast<double>(), b = to.cast<double>();
            bool blocked = false, unclear = false;
            for (const Edge& e : navigator.edges().edges()) {
                const auto side = [](const Vec2d& p, const Vec2d& q, const Vec2d& x) {
                    return ((q - p).x() * (x - p).y() - (q - p).y() * (x - p).x()) / (q - p).norm();
                };
                const double ea = side(e.from, e.to, a), eb = side(e.from, e.to, b);
                const double ae = side(a, b, e.from), be = side(a, b, e.to);
                unclear = unclear || std::min({std::abs(ea), std::abs(eb), std::abs(ae), std::abs(be)}) < 1e-3;
                blocked = blocked || (ea * eb < 0 && ae * be < 0);
            }
            if (unclear) continue;
            EXPECT_EQ(navigator.visible(from, to), !blocked);
            EXPECT_EQ(navigator.edges().first_exit(a, b).edge < 0, !blocked);
            ++(blocked ? hidden : seen);
        }
    }
    EXPECT_GT(seen, 1000u);
    EXPECT_GT(hidden, 1000u);
}

TEST(Navigator, FindsTheClosestEdge)
{
    for (uint64_t seed = 0; seed < 10; ++seed) {
        const Navigator navigator(random_plan(seed, 12), 0.2);
        Random random(seed, 3);
        for (int i = 0; i < 300; ++i) {
            const Vec2d p(random.uniform(-5, 25), random.uniform(-5, 25));
            double least = kInfinity;
            for (const Edge& e : navigator.edges().edges())
                least = std::min(least, distance_to_segment(p, e.from, e.to));
            EXPECT_NEAR(navigator.edges().closest(p).distance, least, 1e-12);
            const Vec2f f = p.cast<float>(), free = navigator.nearest_free(f);
            EXPECT_TRUE(navigator.inside(free));
            if (navigator.inside(f)) {
                EXPECT_NEAR(navigator.clearance(f), least, 1e-5);
            } else {
                EXPECT_NEAR((free - f).norm(), least, 0.02); // just inside; more in sharp corners
            }
        }
    }
}

std::vector<std::vector<double>> floyd_warshall(const Roadmap& roadmap)
{
    const size_t n = roadmap.size();
    std::vector<std::vector<double>> d(n, std::vector<double>(n, kInfinity));
    for (uint32_t v = 0; v < n; ++v) {
        d[v][v] = 0;
        for (const auto& link : roadmap.links(v)) d[v][link.to] = (roadmap.vertex(v) - roadmap.vertex(link.to)).norm();
    }
    for (size_t k = 0; k < n; ++k)
        for (size_t i = 0; i < n; ++i)
            for (size_t j = 0; j < n; ++j) d[i][j] = std::min(d[i][j], d[i][k] + d[k][j]);
    return d;
}

TEST(Roadmap, PathsAgreeWithFloydWarshall)
{
    for (uint64_t seed = 0; seed < 12; ++seed) {
        const Navigator navigator(random_plan(seed, 6), 0.2);
        const Roadmap& roadmap = navigator.roadmap();
        const auto all = floyd_warshall(roadmap);
        Random random(seed, 4);
        // Trees with several seeds at different distances.
        std::vector<Roadmap::Seed> seeds;
        for (int i = 0; i < 3; ++i)
            seeds.push_back(
                {static_cast<uint32_t>(random.bits() % roadmap.size()), 3.0 * random.uniform(), Vec2d::Zero()});
        const Roadmap::Tree tree = roadmap.tree(seeds);
        for (uint32_t v = 0; v < roadmap.size(); ++v) {
            double expected = kInfinity;
            for (const auto& s : seeds) expected = std::min(expected, all[v][s.vertex] + s.distance);
            if (std::isinf(expected)) {
                EXPECT_TRUE(std::isinf(tree.distance[v]));
                continue;
            }
            EXPECT_NEAR(tree.distance[v], expected, 1e-4);
            // The path along the tree has the stated length.
            double walked = 0;
            uint32_t at = v;
            for (; tree.next[at] != Roadmap::kNone; at = tree.next[at])
                walked += (roadmap.vertex(at) - roadmap.vertex(tree.next[at])).norm();
            EXPECT_NEAR(walked + tree.seed(at).distance, expected, 1e-4);
        }
        // Single paths between points.
        const TriangleGrid triangles(navigator.space());
        for (int i = 0; i < 100; ++i) {
            const Vec2d a = random_inside(navigator, random).cast<double>();
            const Vec2d b = random_inside(navigator, random).cast<double>();
            const int ta = triangles.find(a), tb = triangles.find(b);
            if (ta == tb) continue;
            double expected = kInfinity;
            for (const uint32_t v : roadmap.of_triangle(ta))
                for (const uint32_t w : roadmap.of_triangle(tb))
                    if (v != Roadmap::kNone && w != Roadmap::kNone)
                        expected = std::min(expected, (roadmap.vertex(v) - a).norm() + all[v][w] +
                                                          (roadmap.vertex(w) - b).norm());
            const std::vector<uint32_t> path = roadmap.path(a, ta, b, tb);
            ASSERT_EQ(path.empty(), std::isinf(expected));
            if (path.empty()) continue;
            double length = (roadmap.vertex(path.front()) - a).norm() + (roadmap.vertex(path.back()) - b).norm();
            for (size_t k = 1; k < path.size(); ++k) length += all[path[k - 1]][path[k]];
            EXPECT_NEAR(length, expected, 1e-4);
        }
    }
}

TEST(Navigator, EveryStartReachesTheGoalOrIsReportedUnreachable)
{
    size_t arrived = 0, cut_off = 0;
    for (uint64_t seed = 0; seed < 30; ++seed) {
        const Navigator navigator(random_plan(seed, 14), 0.25);
        Random random(seed, 5);
        for (int i = 0; i < 40; ++i) {
            Vec2f p = random_inside(navigator, random);
            RouteCursor cursor;
            if (!navigator.reachable(p, 0)) {
                ++cut_off;
                EXPECT_TRUE(navigator.direction(p, 0, cursor).isZero());
                EXPECT_TRUE(std::isinf(navigator.distance(p, 0)));
                continue;
            }
            const float length = navigator.distance(p, 0);
            float walked = 0;
            while (!navigator.arrived(p, 0) && walked < 1.1f * length + 1) {
                const Vec2f direction = navigator.direction(p, 0, cursor);
                EXPECT_NEAR(direction.norm(), 1, 1e-5);
                p = navigator.keep_out(p, p + 0.05f * direction);
                walked += 0.05f;
            }
            EXPECT_TRUE(navigator.arrived(p, 0)) << "seed " << seed << ", at " << p.transpose();
            ++arrived;
        }
    }
    EXPECT_GT(arrived, 300u);
    EXPECT_GT(cut_off, 20u);
}

TEST(Navigator, PushedAgentsFindTheirPathAgain)
{
    const FloorPlan plan = camp(6);
    const Navigator navigator(plan, 0.25);
    Random random(7);
    for (int i = 0; i < 100; ++i) {
        Vec2f p = random_inside(navigator, random, 25);
        RouteCursor cursor;
        for (int step = 0; step < 4000 && !navigator.arrived(p, 0); ++step) {
            p = navigator.keep_out(p, p + 0.1f * navigator.direction(p, 0, cursor));
            if (step % 50 == 49 && step < 500) // a shove of up to 3 m
                p = navigator.keep_out(p, p + 3.0f * Vec2f(random.uniform(-1, 1), random.uniform(-1, 1)));
        }
        EXPECT_TRUE(navigator.arrived(p, 0));
    }
}

TEST(Navigator, TheSubGoalIsTheFarthestVisibleOnThePath)
{
    const Navigator navigator(camp(6), 0.25);
    const Roadmap& roadmap = navigator.roadmap();
    Random random(8);
    const TriangleGrid triangles(navigator.space());
    const Roadmap::Tree& tree = navigator.paths_to(0);
    size_t checked = 0, farthest = 0;
    for (int i = 0; i < 500; ++i) {
        const Vec2f p = random_inside(navigator, random, 25);
        RouteCursor cursor;
        const Vec2f direction = navigator.direction(p, 0, cursor);
        if (cursor.vertex == Roadmap::kNone) continue; // sees the goal itself
        // The whole path from here, and its last visible vertex.
        uint32_t first = Roadmap::kNone;
        double least = kInfinity;
        for (const uint32_t v : roadmap.of_triangle(triangles.find(p.cast<double>()))) {
            if (v == Roadmap::kNone) continue;
            const double length = (roadmap.vertex(v) - p.cast<double>()).norm() + static_cast<double>(tree.distance[v]);
            if (length < least) least = length, first = v;
        }
        uint32_t last_visible = first;
        for (uint32_t v = first; v != Roadmap::kNone; v = tree.next[v])
            if (navigator.visible(p, roadmap.vertex(v).cast<float>())) last_visible = v;
        ++checked;
        if (last_visible == cursor.vertex) ++farthest;
        if (tree.next[cursor.vertex] != Roadmap::kNone) {
            const Vec2f to_vertex = (roadmap.vertex(cursor.vertex) - p.cast<double>()).cast<float>().normalized();
            EXPECT_NEAR(direction.dot(to_vertex), 1, 1e-4);
        }
    }
    EXPECT_GT(checked, 300u);
    // A vertex visible only behind several hidden ones is not searched for.
    EXPECT_GT(static_cast<double>(farthest) / static_cast<double>(checked), 0.95);
}

TEST(Navigator, NoAgentPassesAWallAtAnySpeed)
{
    // Two rooms separated by a wall of 1 cm, and corners of all kinds.
    FloorPlan plan = random_plan(3, 10);
    plan.walls.push_back({"wall", "wall", {{-1, 11}, {21, 9.5}}, 0.01});
    const Navigator navigator(plan, 0.05);
    ASSERT_GT(navigator.space().part_count(), 1);
    Random random(9);
    for (int i = 0; i < 200; ++i) {
        Vec2f p = random_inside(navigator, random);
        const int part = navigator.part(p);
        for (int step = 0; step < 200; ++step) {
            const float reach = std::pow(10.0f, random.uniform(-4, 4)), angle = random.uniform(0, 6.2831853f);
            const Vec2f to = p + reach * Vec2f(std::cos(angle), std::sin(angle));
            const Vec2f q = navigator.keep_out(p, to);
            ASSERT_TRUE(navigator.inside(q));
            ASSERT_EQ(navigator.part(q), part);
            ASSERT_LE((q - p).norm(), reach * 1.001f + 0.01f);
            if (navigator.visible(p, to) && navigator.inside(to) && navigator.clearance(to) > 1e-3f) {
                EXPECT_EQ(q, to); // free paths are not changed
            }
            p = q;
        }
    }
    // NaN does not move an agent.
    const Vec2f p = random_inside(navigator, random);
    EXPECT_EQ(navigator.keep_out(p, Vec2f(std::nanf(""), 0)), p);
    EXPECT_TRUE(navigator.inside(navigator.keep_out(Vec2f(std::nanf(""), 0), p)));
    EXPECT_TRUE(navigator.inside(navigator.keep_out(Vec2f(1e30f, -1e30f), p)));
}

TEST(Navigator, IsFreeAroundIsConservative)
{
    for (const uint64_t seed : {1, 2, 3}) {
        const Navigator navigator(random_plan(seed, 12), 0.2);
        Random random(seed);
        size_t free = 0, open = 0;
        for (int k = 0; k < 20000; ++k) {
            const Vec2f x(random.uniform(-2, 22), random.uniform(-2, 22));
            const float distance = random.uniform(0, 1.5f), clearance = navigator.clearance(x);
            const bool says_so = navigator.is_free_around(x, distance);
            free += says_so, open += clearance > distance;
            if (says_so) {
                EXPECT_GT(clearance, distance) << x.transpose();
            }
        }
        EXPECT_GT(free, open / 2) << "and usually true";
    }
}

TEST(Navigator, SlidesAlongWalls)
{
    const Navigator navigator(empty_hall(10, 10), 0.25);
    const Vec2f slid = navigator.keep_out({5, 1}, {7, -1}); // at 45 degrees into the lower wall
    EXPECT_NEAR(slid.x(), 7, 0.01);
    EXPECT_NEAR(slid.y(), 0.25, 0.01);
    const Vec2f corner = navigator.keep_out({5, 1}, {50, -30});
    EXPECT_NEAR(corner.x(), 9.75, 0.01);
    EXPECT_NEAR(corner.y(), 0.25, 0.01);
}

TEST(Navigator, TargetPointsAreReached)
{
    const Navigator navigator(camp(8), 0.25);
    Random random(10);
    for (int i = 0; i < 60; ++i) {
        Vec2f p = random_inside(navigator, random, 33);
        const Vec2f target = random_inside(navigator, random, 33);
        ASSERT_TRUE(navigator.reachable(p, target));
        PointRoute route;
        float walked = 0;
        while ((p - target).norm() > 0.1f && walked < 100) {
            p = navigator.keep_out(p, p + 0.1f * navigator.direction(p, target, route));
            walked += 0.1f;
        }
        EXPECT_LT((p - target).norm(), 0.11f);
    }
    // A target in a tent is approached as closely as possible.
    PointRoute route;
    EXPECT_NEAR(navigator.direction({0.5f, 0.5f}, {2.5f, 2.5f}, route).norm(), 1, 1e-5);
}

TEST(Navigator, SameAnswersOnAnyNumberOfThreads)
{
    FloorPlan plan = camp(10);
    for (int g = 0; g < 8; ++g) add_goal(plan, fmt::format("goal {}", g), box_polygon({4.0 * g, 0}, {4.0 * g + 1, 1}));
    const auto answers = [&](int threads) {
        return with_threads(threads, [&] {
            const Navigator navigator(plan, 0.25);
            std::vector<Vec2f> result(4000);
            parallel_for(result.size(), [&](size_t i) {
                Random random(11, i);
                Vec2f p = random_inside(navigator, random, 41);
                RouteCursor cursor;
                for (int step = 0; step < 20; ++step)
                    p = navigator.keep_out(p, p + 0.3f * navigator.direction(p, static_cast<GoalId>(i % 9), cursor));
                PointRoute route;
                result[i] = p + navigator.direction(p, {1, 1}, route);
            });
            return result;
        });
    };
    EXPECT_TRUE(same_bits(answers(1), answers(3)));
}

TEST(Navigator, SuggestsNamesForMissingGoals)
{
    const Navigator navigator(camp(2), 0.25);
    EXPECT_EQ(navigator.goal("gate"), 0u);
    try {
        navigator.goal("gale");
        ADD_FAILURE();
    } catch (const std::exception& e) {
        EXPECT_NE(std::string(e.what()).find("did you mean 'gate'"), std::string::npos);
    }
}

} // namespace
} // namespace spindrift
