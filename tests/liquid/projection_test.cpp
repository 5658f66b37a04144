#include "spindrift/liquid/projection.h"

#include "base/determinism.h"
#include "field/dense.h"
#include "liquid/scenes.h"
#include "spindrift/liquid/free_surface.h"

#include <gtest/gtest.h>

namespace spindrift {
namespace {

constexpr float kVoxel = 0.05f;

// A tank of 24 cells with liquid below a wavy surface and a ball in it.
struct Tank {
    Solids solids;
    Topology topology = Topology::covering(Vec3i(-16, -16, -16), Vec3i(16, 16, 16));
    SolidCells cells;
    Field<float> phi;
    MacField velocity, known;
    Projection projection;

    explicit Tank(std::vector<ColliderParams> colliders, float frame = 0)
        : solids(closed_domain(kVoxel * Vec3f::Constant(-12.3f), kVoxel * Vec3f::Constant(11.8f)), shapes_of(colliders),
                 kFps)
    {
        solids.set_frame(frame);
        cells.update(topology, solids, kVoxel);
        phi.reset(topology, kSurfaceBand);
        for_each_value(phi, [&](const Vec3i& c, float& d) {
            const Vec3f x = c.cast<float>() + Vec3f::Constant(0.5f);
            d = std::clamp(x.y() - 3.3f - 1.5f * std::sin(0.5f * x.x()), -kSurfaceBand, kSurfaceBand);
        });
        velocity.reset(topology, 0), known.reset(topology, 0);
        projection.prepare(topology, phi, solids, cells, kVoxel);
    }
    Tank(const Tank&) = delete;

    float open(const Vec3i& cell, int axis) const
    {
        return cells.open(topology.find(tile_of_cell(cell)), axis)[offset_of_cell(cell)];
    }
    // Volume that flows out of a cell, through its open faces and with the solids that cover the rest.
    double outflow(const Vec3i& cell) const
    {
        double sum = 0;
        for (int a = 0; a < 3; ++a)
            for (int side = 0; side < 2; ++side) {
                const Vec3i face = cell + Vec3i(side * Vec3i::Unit(a));
                Vec3f place = face.cast<float>() + Vec3f::Constant(0.5f);
                place[a] -= 0.5f;
                const double share = open(face, a), solid = solids.velocity(kVoxel * place)[a];
                sum += (side ? 1 : -1) * (share * velocity.u[a].at(face) + (1 - share) * solid);
            }
        return sum;
    }
    // The 2-norm over liquid cells that are not entirely in a solid.
    double divergence() const
    {
        double sum = 0;
        for (int t = 0; t < topology.tile_count(); ++t)
            for (int o = 0; o < kTileCells; ++o) {
                const Vec3i cell = topology.first_cell(t) + cell_in_tile(o);
                bool opened = false;
                for (int a = 0; a < 3; ++a) opened |= open(cell, a) > 0 || open(cell + Vec3i(Vec3i::Unit(a)), a) > 0;
                if (phi.tile(t)[o] < 0 && opened) sum += std::pow(outflow(cell), 2);
            }
        return std::sqrt(sum);
    }
};

ColliderParams ball()
{
    ColliderParams c;
    c.shape = ShapeParams::Kind::sphere, c.center = kVoxel * Vec3f(1.2f, -4, 0.4f), c.radius = 4.1f * kVoxel;
    return c;
}

void set_random(MacField& velocity)
{
    Random random(3);
    for (auto& u : velocity.u)
        for (float& value : u.values()) value = random.uniform(-1, 1);
}

TEST(Projection, RandomVelocityBecomesDivergenceFree)
{
    Tank tank({ball()});
    set_random(tank.velocity);
    for (const double tolerance : {1e-3, 1e-6}) {
        set_random(tank.velocity);
        const double before = tank.divergence();
        const PoissonResult result = tank.projection.make_divergence_free(tank.velocity, tank.known, tolerance);
        EXPECT_TRUE(result.converged);
        EXPECT_GT(before, 50);
        EXPECT_LT(tank.divergence(), 1.2 * tolerance * before + 1e-5);
    }
}

TEST(Projection, FirstAirLayerConservesVolume)
{
    Tank tank({ball()});
    for_each_value(tank.velocity.u[0],
                   [](const Vec3i& c, float& u) { u = std::sin(0.3f * static_cast<float>(c.x())); });
    for_each_value(tank.velocity.u[1],
                   [](const Vec3i& c, float& u) { u = std::cos(0.2f * static_cast<float>(c.z())); });
    tank.projection.make_divergence_free(tank.velocity, tank.known, 1e-6);
    const double inside = tank.divergence();
    extrapolate(tank.velocity, tank.known, 1);
    // The total gain of the cells above the surface that have an outlet.
    const auto gained = [&] {
        double sum = 0;
        int cells = 0;
        for_each_cell(Vec3i(-10, 0, -10), Vec3i(10, 8, 10), [&](const Vec3i& c) {
            const Vec3i above = c + Vec3i(0, 1, 0), below = c - Vec3i(0, 1, 0);
            if (tank.phi.at(c) < 0 || !(tank.phi.at(below) < 0)) return;
            for (int a = 0; a < 3; a += 2)
                for (const int side : {-1, 1})
                    if (tank.phi.at(above + Vec3i(side * Vec3i::Unit(a))) < 0) return; // beside a crest
            sum += std::abs(tank.outflow(c)), ++cells;
        });
        EXPECT_GT(cells, 200);
        return sum;
    };
    const double before = gained();
    tank.projection.close_surface(tank.velocity);
    EXPECT_GT(before, 5);
    EXPECT_LT(gained(), 1e-4 * before);
    EXPECT_NEAR(tank.divergence(), inside, 1e-6);
}

TEST(Projection, ProjectingAgainChangesNothing)
{
    Tank tank({ball()});
    set_random(tank.velocity);
    tank.projection.make_divergence_free(tank.velocity, tank.known, 1e-6);
    MacField once;
    once.copy_from(tank.velocity);
    tank.projection.make_divergence_free(tank.velocity, tank.known, 1e-3);
    for (int a = 0; a < 3; ++a)
        for (size_t i = 0; i < once.u[a].values().size(); ++i)
            ASSERT_NEAR(tank.velocity.u[a].values()[i], once.u[a].values()[i], 2e-4f);
}

TEST(Projection, FloorBalancesGravityUnderAFlatSurface)
{
    Tank tank({});
    for_each_value(tank.phi, [&](const Vec3i& c, float& d) {
        d = std::clamp(static_cast<float>(c.y()) + 0.5f - 3.3f, -kSurfaceBand, kSurfaceBand);
    });
    tank.projection.prepare(tank.topology, tank.phi, tank.solids, tank.cells, kVoxel);
    for (float& u : tank.velocity.u[1].values()) u = -9.81f * 0.01f;
    tank.projection.make_divergence_free(tank.velocity, tank.known, 1e-6);
    for (int a = 0; a < 3; ++a)
        for_each_value(tank.velocity.u[a], [&](const Vec3i& c, float& u) {
            // Open faces of liquid cells.
            const bool wet = tank.phi.at(c) < 0 || tank.phi.at(c - Vec3i(Vec3i::Unit(a))) < 0;
            if (wet && tank.open(c, a) > 0) {
                ASSERT_NEAR(u, 0, 1e-5f) << c.transpose() << " axis " << a;
            }
        });
}

TEST(Projection, MovingSolidDisplacesItsVolume)
{
    ColliderParams moving = ball();
    moving.translate = {{0, 0, 0, 0}, {24, 0, 1, 0}}; // up, at 1 m/s
    Tank tank({moving});
    const double before = tank.divergence();
    EXPECT_GT(before, 1);
    tank.projection.make_divergence_free(tank.velocity, tank.known, 1e-6);
    EXPECT_LT(tank.divergence(), 1e-5 * before + 1e-5);
    EXPECT_GT(tank.velocity.u[1].at(Vec3i(1, 1, 0)), 0.2f) << "above the ball";
    EXPECT_GT(tank.velocity.u[1].at(Vec3i(1, -9, 0)), 0.2f) << "below it";
    EXPECT_LT(tank.velocity.u[1].at(Vec3i(6, -4, 0)), 0) << "beside it";
}

TEST(Projection, OpenWetFacesAreKnownAndClosedFacesAreNot)
{
    Tank tank({ball()});
    for (auto& k : tank.known.u)
        for (float& value : k.values()) value = 1;
    tank.projection.make_divergence_free(tank.velocity, tank.known, 1e-3);
    const auto wet = [&](const Vec3i& c, int a) {
        return tank.phi.at(c) < 0 || tank.phi.at(c - Vec3i(Vec3i::Unit(a))) < 0;
    };
    for (int a = 0; a < 3; ++a)
        for_each_value(tank.known.u[a], [&](const Vec3i& c, float& k) {
            ASSERT_EQ(k, tank.open(c, a) > 0 ? (wet(c, a) ? 1 : -1) : 0) << "where particles are, provisionally";
        });

    tank.known.reset(tank.topology, 0);
    tank.projection.make_divergence_free(tank.velocity, tank.known, 1e-3);
    for (int a = 0; a < 3; ++a)
        for_each_value(tank.known.u[a], [&](const Vec3i& c, float& k) {
            ASSERT_EQ(k, wet(c, a) && tank.open(c, a) > 0 ? 1 : 0) << c.transpose();
        });
}

TEST(Projection, SpreadingMovesCrowdedParticlesApart)
{
    Tank tank({ball()});
    Field<float> crowding(tank.topology, 0);
    const Vec3i crowded(-6, -5, -6);
    value_at(crowding, crowded) = 0.25f;
    const float dt = 0.02f;
    tank.projection.spread(crowding, kVoxel, dt, tank.velocity);
    // The outflow of the crowded cell within the step is a quarter of its excess, within the accuracy of the solve.
    EXPECT_NEAR(tank.outflow(crowded) * static_cast<double>(dt / kVoxel), 0.25, 0.04);
}

} // namespace
} // namespace spindrift
