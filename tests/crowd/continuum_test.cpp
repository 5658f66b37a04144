#include "spindrift/crowd/continuum.h"

#include "crowd/circle.h"
#include "spindrift/base/random.h"

#include <gtest/gtest.h>
#include <numeric>

using namespace spindrift;

namespace {

constexpr float kDt = 0.05f;
constexpr double kTolerance = 1e-5;

// Four agents in each cell fill it.
struct Room {
    CrowdGrid grid;
    Continuum continuum;
    Agents agents;

    Room(int nx, int ny, float cell = 2) : grid{Vec2f(-3, 5), cell, nx, ny}, continuum(grid, 4 / (cell * cell), 0.2f) {}
    void add(const Vec2f& x, const Vec2f& preferred, Driver driver = Driver::crowd, float radius = 0.2f)
    {
        add_agent(agents, x, radius, 1, 0, driver);
        agents.preferred.back() = preferred;
    }
    void fill_cell(int i, int j, const Vec2f& preferred)
    {
        for (const float dx : {0.25f, 0.75f})
            for (const float dy : {0.25f, 0.75f})
                add(grid.origin + grid.cell * Vec2f(static_cast<float>(i) + dx, static_cast<float>(j) + dy), preferred);
    }
    void splat()
    {
        AgentCells cells(grid, 2);
        cells.sort(agents);
        continuum.splat(agents, cells);
    }
    ContinuumReport project() { return continuum.project(kDt, kTolerance, 2000); }
    Vec2f center(int i, int j) const
    {
        return grid.origin + grid.cell * Vec2f(static_cast<float>(i) + 0.5f, static_cast<float>(j) + 0.5f);
    }
};

double total(const std::vector<float>& field)
{
    return std::accumulate(field.begin(), field.end(), 0.0,
                           [](double a, float b) { return a + static_cast<double>(b); });
}

// Agents everywhere who all walk to the centre.
Room gathering(int cells, int count, uint64_t seed, bool mirrored = false)
{
    Room room(cells, cells);
    Random random(seed);
    const Vec2f size = room.grid.size(), middle = room.grid.origin + 0.5f * size;
    const auto add = [&](const Vec2f& x) { room.add(x, (middle - x).normalized()); };
    for (int n = 0; n < count; ++n) {
        const Vec2f x =
            room.grid.origin + size.cwiseProduct(Vec2f(random.uniform(0.2f, 0.8f), random.uniform(0.2f, 0.8f)));
        add(x);
        if (mirrored) add({2 * middle.x() - x.x(), x.y()});
    }
    room.splat();
    return room;
}

} // namespace

TEST(Continuum, ASparseCrowdKeepsItsVelocity)
{
    Room room(10, 8);
    const Vec2f velocity(0.8f, -0.6f);
    for (int i = 2; i < 7; ++i)
        for (int j = 2; j < 6; ++j) room.add(room.center(i, j), velocity);
    room.splat();
    const ContinuumReport report = room.project();
    EXPECT_EQ(report.pressed, 0u);
    EXPECT_EQ(report.outer.iterations, 0);
    for (size_t i = 0; i < room.agents.size(); ++i) {
        const Continuum::Sample s = room.continuum.sample(room.agents.x[i]);
        EXPECT_LT((s.velocity - velocity).norm(), 1e-6f);
        EXPECT_NEAR(s.fullness, 0.25f, 1e-5f);
    }
}

TEST(Continuum, FullCellsAndWallsAreExactlyAtTheirCapacity)
{
    Room room(8, 5);
    std::vector<float> fraction(40, 1);
    for (int j = 0; j < 5; ++j)
        for (int i = 6; i < 8; ++i) fraction[j * 8 + i] = 0;
    room.continuum.set_free_area(fraction);
    for (int j = 0; j < 5; ++j)
        for (int i = 0; i < 6; ++i) room.fill_cell(i, j, Vec2f::Zero());
    room.splat();
    const auto density = room.continuum.density(), capacity = room.continuum.capacity();
    for (size_t c = 0; c < 40; ++c) EXPECT_NEAR(density[c], capacity[c], 1e-5f) << c;
    EXPECT_NEAR(capacity[5], 0.875f, 1e-6f);
    EXPECT_NEAR(capacity[6], 0.125f, 1e-6f);
    EXPECT_TRUE(room.continuum.near_obstacle(room.center(5, 2)));
    EXPECT_FALSE(room.continuum.near_obstacle(room.center(4, 2)));
}

TEST(Continuum, AColumnPushingAgainstAWallStops)
{
    Room room(12, 4);
    for (int j = 0; j < 4; ++j)
        for (int i = 4; i < 12; ++i) room.fill_cell(i, j, Vec2f(1, 0));
    room.splat();
    const ContinuumReport report = room.project();
    EXPECT_TRUE(report.inner.converged && report.outer.converged);
    for (int i = 6; i < 12; ++i) {
        const Vec2f v = room.continuum.sample(room.center(i, 1)).velocity;
        EXPECT_LT(v.norm(), 0.01f) << i;
    }
    // Cells that are not full yet still fill up.
    EXPECT_GT(room.continuum.sample(room.center(3, 1) + Vec2f(1, 0)).velocity.x(), 0.9f);
    // The same crowd walking away is not held back.
    for (Vec2f& v : room.agents.preferred) v.x() = -1;
    room.splat();
    room.project();
    for (int i = 4; i < 11; ++i) EXPECT_NEAR(room.continuum.sample(room.center(i, 1)).velocity.x(), -1, 1e-3f) << i;
}

TEST(Continuum, DensityAndPressureAreComplementaryAndMassIsConserved)
{
    for (uint64_t seed = 0; seed < 4; ++seed) {
        Room room = gathering(24, 700, seed);
        const ContinuumReport report = room.project();
        EXPECT_TRUE(report.inner.converged && report.outer.converged);
        EXPECT_LE(report.outer.complementarity, kTolerance);
        const auto now = room.continuum.density(), next = room.continuum.next_density(kDt);
        const auto capacity = room.continuum.capacity(), pressure = room.continuum.pressure();
        EXPECT_GT(*std::max_element(now.begin(), now.end()), 1.05f); // some cells were too dense before
        EXPECT_NEAR(total(now), 700 / 4.0, 1e-2);
        EXPECT_NEAR(total(next), total(now), 1e-2);
        EXPECT_GT(report.pressed, 20u);
        for (size_t c = 0; c < next.size(); ++c) {
            EXPECT_LE(next[c], capacity[c] + 1e-4f);
            EXPECT_GE(pressure[c], 0);
            if (pressure[c] > 0) {
                EXPECT_GE(next[c], capacity[c] - 1e-4f);
            }
        }
    }
}

TEST(Continuum, MirroredCrowdsHaveMirroredFlows)
{
    Room room = gathering(20, 250, 5, true);
    room.project();
    const float middle = room.grid.origin.x() + 0.5f * room.grid.size().x();
    float largest = 0;
    for (int i = 0; i < 20; ++i)
        for (int j = 0; j < 20; ++j) {
            const Vec2f x = room.center(i, j), mirrored(2 * middle - x.x(), x.y());
            const Vec2f a = room.continuum.sample(x).velocity, b = room.continuum.sample(mirrored).velocity;
            EXPECT_NEAR(a.x(), -b.x(), 3e-3f);
            EXPECT_NEAR(a.y(), b.y(), 3e-3f);
            largest = std::max(largest, a.norm());
        }
    EXPECT_GT(largest, 0.5f);
}

TEST(Continuum, OtherAgentsReduceTheCapacityByTheirArea)
{
    Room room(6, 6);
    const double free = total(room.continuum.capacity());
    room.add(Vec2f(2.3f, 9.1f), Vec2f::Zero(), Driver::scripted);
    room.add(Vec2f(4.3f, 11.1f), Vec2f::Zero(), Driver::avoiding, 0.4f);
    room.splat();
    EXPECT_NEAR(free - total(room.continuum.capacity()), 0.25 * (1 + 4), 1e-5);
    EXPECT_EQ(total(room.continuum.density()), 0);
}

TEST(Continuum, AnOverfullRoomStaysFinite)
{
    Room room(9, 7);
    for (int j = 0; j < 7; ++j)
        for (int i = 0; i < 9; ++i)
            for (int twice = 0; twice < 2; ++twice) room.fill_cell(i, j, Vec2f(1, 0.5f));
    room.splat();
    const ContinuumReport report = room.project();
    EXPECT_LE(report.outer.iterations, 2000);
    for (size_t i = 0; i < room.agents.size(); ++i) {
        const Vec2f v = room.continuum.sample(room.agents.x[i]).velocity;
        EXPECT_LT(v.norm(), 0.1f); // uniformly too full: there is nowhere to go
    }
    for (const float p : room.continuum.pressure()) EXPECT_TRUE(std::isfinite(p));
}

TEST(Continuum, AWarmStartSavesIterations)
{
    Room room = gathering(40, 2000, 9);
    const ContinuumReport cold = room.project(), warm = room.project();
    EXPECT_GT(cold.inner.iterations, 5);
    EXPECT_LE(warm.inner.iterations, cold.inner.iterations / 2);
    EXPECT_LE(warm.outer.iterations, cold.outer.iterations / 2);
}

namespace {

// Random weights over three orders of magnitude, and a random set of free cells.
struct RandomPressure {
    PaddedGrid grid;
    PressureMatrix matrix;
    std::vector<uint8_t> free;

    RandomPressure(int nx, int ny, uint64_t seed) : grid{nx, ny}, free(grid.size(), 0)
    {
        matrix.reset(grid);
        Random random(seed);
        for (int j = 0; j < ny; ++j)
            for (int i = 0; i < nx; ++i) {
                const size_t c = grid.index(i, j);
                const auto weight = [&] { return std::pow(10.0, static_cast<double>(random.uniform(-2, 1))); };
                matrix.weight_x()[c] = i > 0 ? weight() : 0;
                matrix.weight_y()[c] = j > 0 ? weight() : 0;
                free[c] = random.uniform() < 0.7f;
            }
        matrix.prepare(1e-3);
    }
    std::vector<double> random_vector(uint64_t seed) const
    {
        std::vector<double> x(grid.size(), 0);
        Random random(seed);
        for (size_t c = 0; c < x.size(); ++c)
            if (free[c]) x[c] = static_cast<double>(random.uniform(-1, 1));
        return x;
    }
};

} // namespace

TEST(PressureMatrix, ThePreconditionerIsSymmetricPositiveAndKeepsFixedCells)
{
    for (const auto& [nx, ny] : {std::pair(32, 32), std::pair(13, 27), std::pair(1, 9), std::pair(1, 1)}) {
        RandomPressure p(nx, ny, 3);
        const auto r = p.random_vector(1), s = p.random_vector(2);
        std::vector<double> zr(r.size(), 0), zs(r.size(), 0);
        p.matrix.precondition(r, p.free, true, zr), p.matrix.precondition(s, p.free, false, zs);
        const double sr = std::inner_product(s.begin(), s.end(), zr.begin(), 0.0);
        const double rs = std::inner_product(r.begin(), r.end(), zs.begin(), 0.0);
        const double rr = std::inner_product(r.begin(), r.end(), zr.begin(), 0.0);
        EXPECT_NEAR(sr, rs, 1e-9 * (1 + std::abs(rr))) << nx << " " << ny;
        EXPECT_GE(rr, 0) << nx << " " << ny;
        for (size_t c = 0; c < r.size(); ++c)
            if (!p.free[c]) {
                EXPECT_EQ(zr[c], 0);
            }
    }
}

TEST(PressureMatrix, IterationsGrowSlowerThanTheGrid)
{
    // A full square in the centre of an empty one, pushed together.
    for (const int n : {32, 128, 256}) {
        PaddedGrid grid{n, n};
        PressureMatrix matrix;
        matrix.reset(grid);
        std::vector<double> b(grid.size(), 0), x(grid.size(), 0);
        for (int j = 1; j < n; ++j)
            for (int i = 1; i < n; ++i) {
                const size_t c = grid.index(i, j);
                matrix.weight_x()[c] = matrix.weight_y()[c] = 1;
                b[c] = std::abs(i - n / 2) < n / 4 && std::abs(j - n / 2) < n / 4 ? 1 : -1;
            }
        matrix.prepare(1e-6);
        BoundedQpSolver<double> solver;
        const QpResult result = solver.solve(matrix, b, {}, x, {1e-3, 1000});
        EXPECT_TRUE(result.converged) << n;
        EXPECT_LT(result.iterations, 30 + n / 3) << n; // the border of the region with pressure has to be found
    }
}
