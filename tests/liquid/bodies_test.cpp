// Rigid bodies in the liquid.
#include "liquid/scenes.h"

#include "field/dense.h"

#include <gtest/gtest.h>

namespace spindrift {
namespace {

// ------------------------------------------------------------------------------------------------------- one
// projection

constexpr float kDensity = 1000;
const Vec3f kGravity(0, -9.81f, 0);

// A closed tank with cells of 5 cm, full to the lid, released from rest: liquid and bodies have fallen freely for `dt`,
// and one pressure solve has corrected their velocities.
struct Released {
    static constexpr float kVoxel = 0.05f, kStep = 0.01f;
    DomainParams domain;
    std::vector<BodyParams> params;
    Bodies bodies;
    Solids solids;
    Topology topology;
    SolidCells cells;
    Field<float> phi;
    MacField before, velocity, known;
    Projection projection;
    PoissonResult result;
    std::vector<Vec6d> momentum_before;

    Released(int half_cells, std::vector<BodyParams> body_params)
        : domain(closed_domain(Vec3f::Constant(-kVoxel * static_cast<float>(half_cells)),
                               Vec3f::Constant(kVoxel * static_cast<float>(half_cells)))),
          params(std::move(body_params)), bodies(params, body_shapes_of(params), domain, {}), solids(domain, {}, kFps),
          topology(Topology::covering(Vec3i::Constant(-half_cells - 1), Vec3i::Constant(half_cells + 1)))
    {
        bodies.start(0);
        solids.set_bodies(&bodies.solids());
        solids.set_frame(0);
        cells.update(topology, solids, kVoxel);
        phi.reset(topology, -1);
        velocity.reset(topology, 0), known.reset(topology, 1);
        for (float& u : velocity.u[1].values()) u = kStep * kGravity.y();
        before.copy_from(velocity);
        bodies.accelerate(kGravity, kStep);
        for (size_t b = 0; b < bodies.size(); ++b) momentum_before.push_back(bodies.momentum(b));
        projection.prepare(topology, phi, solids, cells, kVoxel);
        projection.couple(bodies, kDensity);
        result = projection.make_divergence_free(velocity, known, 1e-6);
    }

    // Calls f(face centre [m], axis, open part, s below, s above, whether it is a wall).
    template <class F> void for_each_face(const F& f) const
    {
        for (int t = 0; t < topology.tile_count(); ++t)
            for (int a = 0; a < 3; ++a)
                for (int c = 0; c < kTileCells; ++c) {
                    const Vec3i cell = topology.first_cell(t) + cell_in_tile(c);
                    const Vec3f x = (topology.first_cell(t).cast<float>() + face_in_tile(c, a)) * kVoxel;
                    f(x, a, cells.open(t, a)[c], projection.s().at(cell - Vec3i(Vec3i::Unit(a))),
                      projection.s().at(cell), t, c);
                }
    }
    double acceleration() const { return bodies.motion(0)[1] / static_cast<double>(kStep); }
};

TEST(LiquidBodies, PressureConservesMomentumIncludingTheWalls)
{
    BodyParams turned = box_body(Vec3f(0.07f, -0.03f, 0.11f), Vec3f(0.31f, 0.22f, 0.42f), 300);
    turned.rotation = Vec3f(20, 30, 40);
    const Released tank(14, {turned, ball_body(Vec3f(-0.3f, 0.2f, -0.25f), 0.17f, 3000)});
    ASSERT_TRUE(tank.result.converged);

    // Momentum that pressure gave liquid and bodies, about the middle of the tank.
    const double cell_mass = kDensity * std::pow(static_cast<double>(Released::kVoxel), 3);
    Vec6d liquid = Vec6d::Zero(), walls = Vec6d::Zero();
    double most = 0;
    const double wall = 14 * static_cast<double>(Released::kVoxel);
    tank.for_each_face([&](const Vec3f& x, int a, float open, double below, double above, int t, int c) {
        const double change = tank.velocity.u[a].tile(t)[c] - tank.before.u[a].tile(t)[c];
        const Vec6d at = lever(x.cast<double>(), a);
        if (open > 0) liquid += cell_mass * open * change * at;
        // Pressure on the inside of a wall; s is zero outside.
        if (std::abs(std::abs(x[a]) - wall) < 1e-4) walls += cell_mass * (below - above) * at;
        most = std::max(most, std::abs(cell_mass * open * change));
    });
    Vec6d bodies = Vec6d::Zero();
    for (size_t b = 0; b < 2; ++b) {
        const Vec6d change = tank.bodies.momentum(b) - tank.momentum_before[b];
        bodies.head<3>() += change.head<3>();
        bodies.tail<3>() += change.tail<3>() + tank.bodies.center(b).cross(Vec3d(change.head<3>()));
    }
    EXPECT_GT(bodies.head<3>().norm(), 0.5);
    EXPECT_GT(bodies.tail<3>().norm(), 0.1);
    const Vec6d left = liquid + bodies + walls;
    EXPECT_LT(left.head<3>().norm(), 1e-4 * walls.head<3>().norm()) << left.transpose();
    EXPECT_LT(left.tail<3>().norm(), 1e-4 * walls.head<3>().norm()) << left.transpose();
}

TEST(LiquidBodies, BallHasTheAddedMassOfHalfItsVolume)
{
    // In unbounded liquid: (m - m_l) g = (m + m_l / 2) a. Walls at five radii change this little.
    const float radius = 0.3f;
    for (const float density : {1.0f, 100.0f, 500.0f, 2000.0f, 1e6f}) {
        const Released tank(30, {ball_body(Vec3f(0.013f, 0.02f, -0.009f), radius, density)});
        ASSERT_TRUE(tank.result.converged) << density;
        const double expected = -9.81 * (density - 1000.0) / (density + 500.0);
        EXPECT_NEAR(tank.acceleration(), expected, 0.01 * std::abs(expected)) << density;
        EXPECT_LE(tank.result.iterations, 20) << density;
        std::printf("ball of density %g: %.3f m/s2, %.3f in liquid without end; %d iterations\n", density,
                    tank.acceleration(), expected, tank.result.iterations);
    }
}

TEST(LiquidBodies, HingedBodyOnlyTurnsAboutItsAxle)
{
    // A light plank on an axle at its end, in liquid at rest under gravity: buoyancy turns it up, the axle stays.
    BodyParams plank = box_body(Vec3f(0.2f, 0, 0), Vec3f(0.4f, 0.12f, 0.2f), 200);
    plank.hinge.anchor = Vec3f(0, 0, 0);
    const Released tank(14, {plank});
    const Vec6d v = tank.bodies.motion(0);
    EXPECT_GT(v[5], 0.01);
    EXPECT_LT(tank.bodies.solids()[0].velocity(Vec3f(0, 0, 0)).norm(), 1e-6 * std::abs(v[5]) + 1e-7);
    EXPECT_NEAR(v[1], 0.2 * v[5], 1e-6);
}

TEST(LiquidBodies, BodySharesAndOpenSharesOfFacesSumToOne)
{
    // Two bodies touch next to a wall.
    const Released tank(
        8, {box_body(Vec3f(-0.25f, 0, 0), Vec3f(0.3f, 0.33f, 0.31f), 500), ball_body(Vec3f(0.05f, 0, 0), 0.15f, 500)});
    const RigidShares& shares = tank.cells.shares();
    size_t cut = 0;
    tank.for_each_face([&](const Vec3f& x, int a, float open, double, double, int t, int c) {
        float sum = open;
        for (size_t b = 0; b < 2; ++b)
            if (const RigidShares::Tile* share = shares.find(b, t)) sum += share->face[a][c];
        const bool inside = x.cwiseAbs().maxCoeff() < 8 * Released::kVoxel - 1e-4f;
        ASSERT_NEAR(sum, inside ? 1 : 0, 1e-5) << x.transpose();
        cut += inside && open > 0 && open < 1;
    });
    EXPECT_GT(cut, 100u);
}

// ---------------------------------------------------------------------------------------------------------- whole
// shots

// A tank with water 60 cm deep.
LiquidParams tank(std::vector<BodyParams> bodies, float voxel = 0.06f)
{
    LiquidParams p;
    p.voxel = voxel;
    p.domain = closed_domain(Vec3f(0, 0, 0), Vec3f(1.2f, 1.2f, 1.2f));
    p.sources = {pool_source(0.6f)};
    p.bodies = std::move(bodies);
    return p;
}

TEST(LiquidBodies, FloatAtTheirDraught)
{
    for (const float density : {250.0f, 500.0f, 750.0f}) {
        const Vec3f size(0.5f, 0.3f, 0.5f); // flat enough to be stable; a cube of half the water's density would not be
        const float draught = size.y() * density / kDensity;
        LiquidParams p =
            tank({box_body(Vec3f(0.61f, 0.62f - draught + 0.5f * size.y(), 0.59f), size, density)}, 0.045f);
        p.flip = 0.9f;
        const auto liquid = started_liquid(p);
        double height = 0, mean_level = 0;
        constexpr int kFirst = 48, kLast = 96;
        for (int frame = 0; frame < kLast; ++frame) {
            liquid->advance();
            if (frame < kFirst) continue;
            height += liquid->bodies().center(0).y() / (kLast - kFirst);
            // Water fills the tank beside the box up to this height.
            const double volume = static_cast<double>(liquid->particles().size()) * liquid->particle_volume();
            const double area = static_cast<double>(size.x() * size.z());
            const double bottom = liquid->bodies().center(0).y() - 0.5 * static_cast<double>(size.y());
            mean_level += (volume - bottom * area) / (1.44 - area) / (kLast - kFirst);
        }
        const double found = mean_level - height + 0.5 * static_cast<double>(size.y());
        EXPECT_NEAR(found / draught, 1, 0.03) << density;
        const Vec3d up = liquid->bodies().place(0).orientation * Vec3d::UnitY();
        EXPECT_GT(up.y(), 0.999) << density;
        std::printf("density %g: draught %.4f m of %.4f (%.2f%%)\n", density, found, draught,
                    100 * (found / draught - 1));
    }
}

TEST(LiquidBodies, NoLiquidEntersBodies)
{
    BodyParams box = box_body(Vec3f(0.5f, 0.95f, 0.6f), Vec3f(0.3f, 0.3f, 0.3f), 700);
    box.rotation = Vec3f(30, 0, 20), box.velocity = Vec3f(0.5f, -3, 0), box.spin = Vec3f(0, 300, 400);
    const auto liquid = started_liquid(tank({box, ball_body(Vec3f(0.8f, 0.2f, 0.5f), 0.15f, 2000)}));
    const size_t count = liquid->particles().size();
    for (int frame = 0; frame < 24; ++frame) {
        liquid->advance();
        float deepest = 0;
        for (const Vec3f& x : liquid->particles().P)
            for (const RigidSolid& body : liquid->bodies().solids()) deepest = std::max(deepest, -body.distance(x));
        EXPECT_LT(deepest, 0.1f * 0.06f) << "frame " << frame;
    }
    EXPECT_EQ(liquid->particles().size(), count);
    EXPECT_GT(liquid->bodies().center(1).y(), 0.14) << "on the floor, not in it";
}

TEST(LiquidBodies, ExtremeDensitiesAreStable)
{
    LiquidParams p =
        tank({ball_body(Vec3f(0.3f, 0.3f, 0.3f), 0.12f, 1), ball_body(Vec3f(0.9f, 0.3f, 0.9f), 0.12f, 1e6f),
              box_body(Vec3f(0.3f, 0.8f, 0.9f), Vec3f(0.3f, 0.1f, 0.3f), 1)});
    const auto liquid = started_liquid(p);
    float fastest = 0;
    for (int frame = 0; frame < 36; ++frame) {
        liquid->advance();
        fastest = std::max(fastest, liquid->bodies().speed());
    }
    EXPECT_LT(fastest, 12) << "a few times what gravity gives in such a tank";
    EXPECT_GT(liquid->bodies().center(0).y(), 0.6) << "lighter than all: it lies on the water";
    EXPECT_NEAR(liquid->bodies().center(1).y(), 0.12, 0.01) << "heavier than all: it lies on the floor";
    EXPECT_LT(kinetic_energy(liquid->particles()), 1.0);
}

TEST(LiquidBodies, FallFreelyWhereThereIsNoLiquid)
{
    LiquidParams p = tank({ball_body(Vec3f(0.6f, 1, 0.6f), 0.1f, 500)});
    p.sources = {box_source(Vec3f(0, 0, 0), Vec3f(0.1f, 0.1f, 0.1f))};
    p.sources[0].mode = SourceParams::Mode::flow, p.sources[0].first_frame = 100;
    const auto liquid = started_liquid(p);
    for (int frame = 0; frame < 6; ++frame) liquid->advance();
    EXPECT_EQ(liquid->particles().size(), 0u);
    EXPECT_NEAR(liquid->bodies().center(0).y(), 1 - 0.5 * 9.81 * 0.0625, 0.06); // within the steps of a frame
}

TEST(LiquidBodies, LostBodyDoesNotShortenTheStep)
{
    LiquidParams p = tank({ball_body(Vec3f(0.6f, 3, 0.6f), 0.1f, 500)});
    p.domain.y_max = DomainParams::Side::open;
    p.bodies[0].velocity = Vec3f(0, 500, 0);
    const auto liquid = started_liquid(p);
    EXPECT_LT(liquid->advance().substeps, 5);
    EXPECT_GT(liquid->bodies().center(0).y(), 20);
}

TEST(LiquidBodies, FloatInHoneyToo)
{
    LiquidParams p = tank({box_body(Vec3f(0.6f, 0.75f, 0.6f), Vec3f(0.4f, 0.2f, 0.4f), 500)});
    p.viscosity = 5, p.surface_tension = 0.05f;
    const auto liquid = started_liquid(p);
    double height = 0;
    for (int frame = 0; frame < 72; ++frame) {
        liquid->advance();
        if (frame >= 48) height += liquid->bodies().center(0).y() / 24;
    }
    EXPECT_NEAR(height, 0.61, 0.02); // the level of half submersion
    EXPECT_LT(liquid->bodies().speed(), 0.3);
}

TEST(LiquidBodies, BitIdenticalForAnyNumberOfThreads)
{
    LiquidParams p = tank({box_body(Vec3f(0.5f, 0.7f, 0.6f), Vec3f(0.3f, 0.2f, 0.3f), 400),
                           box_body(Vec3f(0.6f, 0.95f, 0.65f), Vec3f(0.3f, 0.2f, 0.3f), 400),
                           ball_body(Vec3f(0.8f, 0.2f, 0.5f), 0.15f, 2000)},
                          0.05f);
    p.bodies[1].spin = Vec3f(100, 0, 50);
    same_for_any_threads(p, 8);
}

TEST(LiquidBodies, ResumeFromStateIsBitIdentical)
{
    LiquidParams p = tank({box_body(Vec3f(0.5f, 0.7f, 0.6f), Vec3f(0.3f, 0.2f, 0.3f), 400),
                           box_body(Vec3f(0.6f, 0.95f, 0.65f), Vec3f(0.3f, 0.2f, 0.3f), 400)});
    const auto straight = started_liquid(p);
    for (int frame = 0; frame < 6; ++frame) straight->advance();
    const auto resumed = make_liquid(p);
    resumed->restore(straight->state());
    for (int frame = 0; frame < 6; ++frame) straight->advance(), resumed->advance();
    EXPECT_TRUE(same_bits(straight->particles(), resumed->particles()));
    for (size_t b = 0; b < 2; ++b) {
        EXPECT_EQ(straight->bodies().center(b), resumed->bodies().center(b));
        EXPECT_EQ(straight->bodies().motion(b), resumed->bodies().motion(b));
    }
}

} // namespace
} // namespace spindrift
