#include "spindrift/crowd/separation.h"

#include "crowd/circle.h"
#include "spindrift/base/random.h"

#include <gtest/gtest.h>

using namespace spindrift;

namespace {

struct Floor {
    CrowdGrid grid{Vec2f(-4, -4), 2, 4, 4};
    Continuum continuum{grid, 4, 0.2f};
    AgentCells cells;
    Agents agents;
    Separation separation;

    explicit Floor(int per_cell = 2) : cells(grid, per_cell) {}
    Separation::Report run(const SeparationRules& rules, const CrowdWalls* walls = nullptr)
    {
        cells.sort(agents);
        return separation.run(agents, cells, continuum, walls, rules, 0.1f);
    }
    size_t of(int goal) const
    {
        return static_cast<size_t>(std::find(agents.goal.begin(), agents.goal.end(), goal) - agents.goal.begin());
    }
    float distance(int a, int b) const { return (agents.x[of(a)] - agents.x[of(b)]).norm(); }
};

} // namespace

TEST(Separation, OneIterationAgreesWithAllPairs)
{
    for (const bool alike : {true, false}) {
        Floor floor;
        Random random(3);
        for (int n = 0; n < 120; ++n) {
            const Vec2f x(random.uniform(-2.2f, 2.2f), random.uniform(-2.2f, 2.2f));
            const Driver driver = !alike && n % 11 == 0 ? Driver::scripted : Driver::crowd;
            add_agent(floor.agents, x, alike ? 0.2f : random.uniform(0.1f, 0.35f), 1, n, driver);
            if (!alike) floor.agents.priority.back() = random.uniform(0.2f, 5);
        }
        floor.cells.sort(floor.agents);
        const Agents before = floor.agents;
        floor.run({1.25f, 1, 1, 0});
        double moved = 0;
        for (size_t i = 0; i < before.size(); ++i) {
            Eigen::Vector2d push = Eigen::Vector2d::Zero();
            for (size_t j = 0; j < before.size(); ++j) {
                const Eigen::Vector2d apart = (before.x[i] - before.x[j]).cast<double>();
                const double reach = 1.25 * static_cast<double>(before.radius[i] + before.radius[j]);
                if (i == j || apart.norm() >= reach) continue;
                const auto weight = [&](size_t k) {
                    return before.driver[k] == Driver::scripted ? 1e30 : static_cast<double>(before.priority[k]);
                };
                push += weight(j) / (weight(i) + weight(j)) * (reach - apart.norm()) * apart.normalized();
            }
            push *= 0.7;
            if (push.norm() > static_cast<double>(before.radius[i]))
                push *= static_cast<double>(before.radius[i]) / push.norm();
            if (before.driver[i] == Driver::scripted) push.setZero();
            const Eigen::Vector2d found = (floor.agents.x[i] - before.x[i]).cast<double>();
            EXPECT_LT((found - push).norm(), 1e-5) << i;
            EXPECT_LT((floor.agents.v[i].cast<double>() - push / 0.1).norm(), 1e-4);
            moved += push.norm();
        }
        EXPECT_GT(moved, 3);
    }
}

TEST(Separation, PairsAreSeparatedAndPriorityDecidesWhoMoves)
{
    Floor floor;
    add_agent(floor.agents, Vec2f(0.1f, 0.1f), 0.2f, 1, 0);
    add_agent(floor.agents, Vec2f(0.3f, 0.1f), 0.2f, 1, 1);
    floor.agents.priority = {3, 1};
    const Separation::Report report = floor.run({1.25f, 2, 50});
    EXPECT_EQ(report.too_close, 0u);
    EXPECT_GE(floor.distance(0, 1), 0.4f);
    const float first = 0.1f - floor.agents.x[floor.of(0)].x(), second = floor.agents.x[floor.of(1)].x() - 0.3f;
    EXPECT_NEAR(second / first, 3, 1e-3f);
}

TEST(Separation, AgentsInOnePlaceSeparate)
{
    Floor floor;
    for (int n = 0; n < 6; ++n) add_agent(floor.agents, Vec2f(0.5f, 0.5f), 0.2f, 1, n);
    EXPECT_EQ(floor.run({1.25f, 2, 200}).too_close, 0u);
    for (int a = 0; a < 6; ++a)
        for (int b = 0; b < a; ++b) EXPECT_GE(floor.distance(a, b), 0.399f) << a << " " << b;
}

namespace {
// A wall at x = 1.
class Fence : public CrowdWalls {
  public:
    void keep_out(std::span<const Vec2f> from, std::span<Vec2f> to, std::span<const float> radius) const override
    {
        for (size_t i = 0; i < from.size(); ++i) to[i].x() = std::min(to[i].x(), 1 - radius[i]);
    }
};
} // namespace

TEST(Separation, NoAgentIsPushedThroughAWallOrOutOfTheDomain)
{
    Floor floor;
    std::vector<float> fraction(16, 1);
    fraction[2] = fraction[6] = fraction[10] = fraction[14] = 0.5f; // the wall is in the third column
    floor.continuum.set_free_area(fraction);
    Random random(5);
    for (int n = 0; n < 150; ++n)
        add_agent(floor.agents, Vec2f(random.uniform(-0.5f, 0.8f), random.uniform(-4, -2)), 0.2f, 1, n);
    const Fence fence;
    floor.run({1.25f, 2, 30}, &fence);
    float leftmost = 0;
    for (const Vec2f& x : floor.agents.x) {
        EXPECT_LE(x.x(), 0.8001f);
        EXPECT_GE(x.y(), -4);
        leftmost = std::min(leftmost, x.x());
    }
    EXPECT_LT(leftmost, -1);
}

TEST(AgentCells, SortingKeepsTheArraysConsistentAndFindsNeighbours)
{
    const CrowdGrid grid{Vec2f(-1, 2), 1.5f, 30, 20};
    AgentCells cells(grid, 3);
    Agents agents;
    Random random(8);
    for (int n = 0; n < 40000; ++n) {
        const Vec2f x = grid.origin + grid.size().cwiseProduct(Vec2f(random.uniform(), random.uniform()));
        add_agent(agents, x, 0.1f, x.x() + 100 * x.y(), n);
        agents.id.back() = n;
    }
    const std::vector<Vec2f> places = agents.x;
    cells.sort(agents);
    std::vector<bool> seen(agents.size(), false);
    size_t found = 0;
    for (int r = 0; r < cells.rows(); ++r)
        for (int c = 0; c < cells.columns(); ++c) {
            const auto [begin, end] = cells.range(r, c, c);
            for (size_t i = begin; i < end; ++i, ++found) {
                EXPECT_EQ(cells.row(agents.x[i].y()), r);
                EXPECT_EQ(cells.column(agents.x[i].x()), c);
                if (i > begin) {
                    EXPECT_LT(agents.id[i - 1], agents.id[i]);
                }
                const auto id = static_cast<size_t>(agents.id[i]);
                EXPECT_EQ(agents.x[i], places[id]);
                EXPECT_EQ(agents.speed[i], places[id].x() + 100 * places[id].y());
                EXPECT_EQ(agents.goal[i], agents.id[i]);
                seen[id] = true;
            }
        }
    EXPECT_EQ(found, agents.size());
    EXPECT_EQ(std::count(seen.begin(), seen.end(), false), 0);
    AgentCells restored(grid, 3);
    restored.restore(cells.sorted_cells());
    for (int r = 0; r < cells.rows(); ++r)
        for (int c = 0; c < cells.columns(); ++c) EXPECT_EQ(restored.range(r, c, c), cells.range(r, c, c));
}
