#include "spindrift/plan/free_space.h"

#include "io/temp_folder.h"
#include "plan/plans.h"
#include "spindrift/plan/area_fraction.h"
#include "spindrift/plan/polygon_sampler.h"

#include <gtest/gtest.h>

namespace spindrift {
namespace {

double free_area(const FloorPlan& plan, double radius) { return FreeSpace(plan, radius).region().area(); }

TEST(FreeSpace, OfASquareHallWithASquareObstacle)
{
    FloorPlan plan = empty_hall(10, 10);
    EXPECT_NEAR(free_area(plan, 0.5), 81, 1e-3);
    plan.obstacles.push_back(obstacle(box_polygon({4, 4}, {6, 6})));
    const FreeSpace space(plan, 0.5);
    EXPECT_NEAR(space.walkable().area(), 96, 1e-6);
    // A square of 3 m with corners cut off just outside the circles around those of the obstacle.
    const double cut = 0.5 * (std::sqrt(2.0) - 1.02);
    EXPECT_NEAR(space.region().area(), 81 - (9 - 4 * cut * cut), 1e-3);
    EXPECT_EQ(space.part_count(), 1);
    EXPECT_TRUE(space.warnings().empty());
}

TEST(FreeSpace, WallsCutItIntoParts)
{
    FloorPlan plan = empty_hall(10, 10);
    plan.walls.push_back({"wall", "wall", {{5, -1}, {5, 11}}, 0.2});
    EXPECT_EQ(FreeSpace(plan, 0.25).part_count(), 2);
    // A door of 0.6 m is passable for agents of 0.5 m but not of 0.7 m.
    plan.walls[0].points[1] = {5, 9.4};
    EXPECT_EQ(FreeSpace(plan, 0.25).part_count(), 1);
    EXPECT_EQ(FreeSpace(plan, 0.35).part_count(), 2);
    // A closed wall is closed at its first corner too.
    FloorPlan room = empty_hall(10, 10);
    room.walls.push_back({"room", "room", {{3, 3}, {7, 3}, {7, 7}, {3, 7}, {3, 3}}, 0.2});
    EXPECT_EQ(FreeSpace(room, 0.01).part_count(), 2);
    EXPECT_NEAR(FreeSpace(room, 0.01).walkable().area(), 100 - (4.2 * 4.2 - 3.8 * 3.8), 1e-6);
}

std::string warnings_of(const FloorPlan& plan)
{
    std::string all;
    const FreeSpace space(plan, 0.25);
    for (const std::string& warning : space.warnings()) all += warning + "\n";
    return all;
}

TEST(FreeSpace, RepairsDefectsAndWarns)
{
    FloorPlan eight = empty_hall(10, 10);
    eight.obstacles.push_back(obstacle({{{2, 2}, {6, 6}, {6, 2}, {2, 6}}, {}}, "plan.svg:7: obstacle 'bow tie'"));
    EXPECT_TRUE(
        contains(warnings_of(eight), "plan.svg:7: obstacle 'bow tie' was repaired: self-intersection at (4, 4)"));
    EXPECT_NEAR(FreeSpace(eight, 0.25).walkable().area(), 100 - 8, 1e-6); // both halves
    // A star drawn in one stroke: its centre, enclosed twice, is inside.
    FloorPlan star = empty_hall(10, 10);
    star.obstacles.push_back(obstacle({}));
    for (int i = 0; i < 5; ++i)
        star.obstacles[0].shape.outer.emplace_back(5 + 3 * std::cos(0.8 * kPi * i), 5 + 3 * std::sin(0.8 * kPi * i));
    EXPECT_NEAR(FreeSpace(star, 0.25).walkable().area(), 100 - 1.12257 * 9, 1e-3);

    FloorPlan nested = empty_hall(10, 10);
    nested.obstacles.push_back(obstacle(box_polygon({2, 2}, {6, 6}), "outer"));
    nested.obstacles.push_back(obstacle(box_polygon({3, 3}, {4, 4}), "inner"));
    EXPECT_EQ(warnings_of(nested), "inner lies within outer and has no effect\n");
    FloorPlan touching = empty_hall(10, 10);
    touching.obstacles.push_back(obstacle(box_polygon({2, 2}, {4, 4}), "one"));
    touching.obstacles.push_back(obstacle(box_polygon({4, 4}, {6, 6}), "two"));
    EXPECT_EQ(warnings_of(touching), "one and two touch or overlap and were joined\n");
    EXPECT_NEAR(FreeSpace(touching, 0.25).walkable().area(), 92, 1e-6);
    FloorPlan flat = empty_hall(10, 10);
    flat.obstacles.push_back(obstacle({{{2, 2}, {4, 4}, {6, 6}}, {}}, "flat"));
    flat.obstacles.push_back(obstacle(box_polygon({20, 2}, {21, 3}), "far"));
    flat.walls.push_back({"dot", "dot", {{1, 1}, {1, 1}}, 0.2});
    EXPECT_TRUE(contains(warnings_of(flat), "flat has no area and was ignored"));
    EXPECT_TRUE(contains(warnings_of(flat), "far lies outside the floor and has no effect"));
    EXPECT_TRUE(contains(warnings_of(flat), "dot has no length and was ignored"));
}

TEST(FreeSpace, RefusesWhatCannotBeRepaired)
{
    const auto message = [](const FloorPlan& plan, double radius) {
        return error_of(ExitCode::bad_input, [&] { FreeSpace(plan, radius); });
    };
    EXPECT_TRUE(contains(message(FloorPlan(), 0.25), "has no floor"));
    EXPECT_TRUE(contains(message(empty_hall(1, 0.4), 0.25), "no room for an agent of 0.5 m across"));
    EXPECT_TRUE(contains(message(empty_hall(1, 1), 0), "radius"));
    EXPECT_TRUE(contains(message(empty_hall(1, 1), std::nan("")), "radius"));
    FloorPlan full = empty_hall(10, 10);
    full.obstacles.push_back(obstacle(box_polygon({-1, -1}, {11, 11})));
    EXPECT_TRUE(contains(message(full, 0.25), "cover the whole floor"));
    FloorPlan infinite = empty_hall(10, 10);
    infinite.obstacles.push_back(obstacle(box_polygon({1, 1}, {kInfinity, 2}), "endless"));
    EXPECT_TRUE(contains(message(infinite, 0.25), "endless: the point"));
    infinite.obstacles[0].shape.outer[0].x() = std::nan("");
    EXPECT_TRUE(contains(message(infinite, 0.25), "endless: the point"));
}

TEST(FreeSpace, HugeAndTinyPlansWork)
{
    FloorPlan huge = empty_hall(60000, 60000);
    huge.obstacles.push_back(obstacle(box_polygon({20000, 20000}, {20010, 20010})));
    EXPECT_NEAR(free_area(huge, 0.25), 59999.5 * 59999.5 - 110.25, 20);
    FloorPlan shifted; // far from the origin
    shifted.boundary.push_back({"floor", "floor", box_polygon({5e6, -5e6}, {5e6 + 10, -5e6 + 10})});
    EXPECT_NEAR(free_area(shifted, 0.5), 81, 1e-3);
    EXPECT_NEAR(free_area(empty_hall(0.1, 0.1), 0.01), 0.08 * 0.08, 1e-5);
}

TEST(AreaFraction, AgreesWithMonteCarloSampling)
{
    for (uint64_t seed = 0; seed < 10; ++seed) {
        const FreeSpace space(random_plan(seed, 12), 0.2);
        const PlaneGrid grid{{-1.3, 2.1}, 1.7, 14, 9}; // the grid and the plan overlap partly
        const std::vector<float> shares = area_fractions(space.walkable().polygons(), grid);
        ASSERT_EQ(shares.size(), 14u * 9u);
        const std::vector<Polygon> polygons = space.walkable().polygons();
        Random random(seed, 1);
        for (int cell = 0; cell < 14 * 9; cell += 5) {
            constexpr int darts = 2000;
            int hits = 0;
            for (int i = 0; i < darts; ++i) {
                const double across = random.uniform(), up = random.uniform();
                const Vec2d p = grid.low + grid.cell * Vec2d(cell % 14 + across, cell / 14 + up);
                bool inside = false;
                const auto cross_ring = [&](const Ring& ring) {
                    for (size_t k = 0; k < ring.size(); ++k) {
                        const Vec2d &a = ring[k], &b = ring[(k + 1) % ring.size()];
                        if ((a.y() > p.y()) == (b.y() > p.y())) continue;
                        if (a.x() + (p.y() - a.y()) / (b.y() - a.y()) * (b.x() - a.x()) > p.x()) inside = !inside;
                    }
                };
                for (const Polygon& polygon : polygons) {
                    cross_ring(polygon.outer);
                    for (const Ring& hole : polygon.holes) cross_ring(hole);
                }
                hits += inside ? 1 : 0;
            }
            EXPECT_NEAR(shares[cell], static_cast<double>(hits) / darts, 0.05) << cell;
        }
    }
}

TEST(PolygonSampler, SamplesUniformly)
{
    const FreeSpace space(random_plan(5, 12), 0.2);
    const PlaneGrid grid{{0, 0}, 2, 10, 10};
    const std::vector<Polygon> polygons = space.region().polygons();
    const std::vector<float> shares = area_fractions(polygons, grid);
    const PolygonSampler sampler(polygons);
    EXPECT_NEAR(sampler.area(), space.region().area(), 1e-3);
    std::vector<double> counts(shares.size(), 0.0);
    Random random(6);
    constexpr int samples = 200000;
    for (int i = 0; i < samples; ++i) {
        const double choice = random.uniform(), u = random.uniform(), v = random.uniform();
        const Vec2d p = sampler.at(choice, u, v);
        counts[static_cast<size_t>(p.y() / 2) * 10 + static_cast<size_t>(p.x() / 2)] += 1.0 / samples;
    }
    for (size_t c = 0; c < counts.size(); ++c)
        EXPECT_NEAR(counts[c], static_cast<double>(shares[c]) * 4 / sampler.area(), 0.002) << c;
    EXPECT_TRUE(PolygonSampler({}).empty());
}

TEST(AreaFraction, SumIsTheWholeArea)
{
    for (uint64_t seed = 0; seed < 20; ++seed) {
        const FreeSpace space(random_plan(seed, 12), 0.2);
        const PlaneGrid grid{{-0.5, -0.5}, 0.31 + 0.1 * static_cast<double>(seed), 68, 68};
        double sum = 0;
        for (const float share : area_fractions(space.walkable().polygons(), grid)) sum += static_cast<double>(share);
        EXPECT_NEAR(sum * grid.cell * grid.cell, space.walkable().area(), 1e-3);
    }
}

} // namespace
} // namespace spindrift
