#include "spindrift/liquid/viscosity.h"

#include "field/dense.h"
#include "liquid/scenes.h"

#include <Eigen/Geometry>
#include <gtest/gtest.h>

namespace spindrift {
namespace {

Vec3f face_at(const Vec3i& cell, int axis)
{
    Vec3f x = cell.cast<float>().array() + 0.5f;
    x[axis] -= 0.5f;
    return x;
}

template <class Velocity> void set_velocity(MacField& u, const Velocity& velocity)
{
    for (int a = 0; a < 3; ++a)
        for_each_value(u.u[a], [&](const Vec3i& cell, float& v) { v = velocity(face_at(cell, a))[a]; });
}

// Rigid motion of a free blob: viscosity must not change it.
TEST(Viscosity, DoesNotChangeRigidMotion)
{
    const Topology topology = Topology::covering({-24, -24, -24}, {24, 24, 24});
    Field<float> phi(topology, kSurfaceBand);
    for_each_value(phi, [](const Vec3i& c, float& v) {
        const Vec3f x = c.cast<float>().array() + 0.5f;
        v = std::clamp(Vec3f(x.x() / 18, x.y() / 12, x.z() / 9).norm() * 12 - 12, -kSurfaceBand, kSurfaceBand);
    });
    DomainParams nowhere;
    const Solids solids(nowhere, {}, kFps);
    SolidCells cells;
    cells.update(topology, solids, 1);
    Viscosity viscosity;
    for (const float stiffness : {0.1f, 10.0f, 1e4f}) {
        viscosity.prepare(topology, phi, solids, cells, {stiffness, nullptr}, 1, 1);
        MacField u;
        u.reset(topology, 0);
        const Vec3f spin(0.3f, -0.5f, 0.7f), flight(2, 1, -3);
        set_velocity(u, [&](const Vec3f& x) { return Vec3f(flight + spin.cross(x)); });
        MacField before;
        before.copy_from(u);
        viscosity.apply(u, 1e-4);
        float worst = 0;
        for (int a = 0; a < 3; ++a)
            for_each_value(u.u[a],
                           [&](const Vec3i& c, float& v) { worst = std::max(worst, std::abs(v - before.u[a].at(c))); });
        EXPECT_LT(worst, 2e-4f) << "stiffness " << stiffness; // the fastest face moves at 16
    }
}

// Liquid of a given thickness between two plates, long enough that its free ends do not matter.
TEST(Viscosity, PlanePoiseuilleFlowHasTheExactProfile)
{
    constexpr int width = 16, length = 96;
    for (const float offset : {0.0f, 0.3f}) { // plates between cells, and through them
        const Topology topology = Topology::covering({-8, -8, -8}, {width + 8, length + 8, 16});
        Field<float> phi(topology, kSurfaceBand);
        for_each_value(phi, [](const Vec3i& c, float& v) {
            const bool inside = c.y() >= 0 && c.y() < length && c.z() >= 0 && c.z() < 8;
            v = inside ? -0.5f : 0.5f;
        });
        DomainParams d = closed_domain(Vec3f(offset, -1000, -1000), Vec3f(width + offset, 1000, 1000));
        const Solids solids(d, {}, kFps);
        SolidCells cells;
        cells.update(topology, solids, 1);
        Viscosity viscosity;
        const float nu = 1, dt = 20, g = 1e-3f;
        viscosity.prepare(topology, phi, solids, cells, {nu, nullptr}, 1, dt);
        MacField u;
        u.reset(topology, 0);
        for (int step = 0; step < 30; ++step) {
            for (float& v : u.u[1].values()) v += dt * g;
            viscosity.apply(u, 1e-5);
        }
        const float top = g * width * width / (8 * nu);
        float worst = 0;
        for (int x = 0; x < width; ++x) {
            const float s = static_cast<float>(x) + 0.5f - offset;
            if (s < 0) continue;
            const float exact = g / (2 * nu) * s * (width - s);
            worst = std::max(worst, std::abs(u.u[1].at({x, length / 2, 4}) - exact) / top);
        }
        std::printf("Poiseuille flow, plates %.1f off the grid: worst error %.2f%% of the largest velocity\n",
                    static_cast<double>(offset), 100 * static_cast<double>(worst));
        EXPECT_LT(worst, offset == 0 ? 0.02f : 0.05f);
    }
}

// The same with particles, after it has fallen for a while.
TEST(Viscosity, PlanePoiseuilleFlowOfParticlesHasTheExactProfile)
{
    LiquidParams p;
    p.voxel = 0.01f, p.transfer = Transfer::apic, p.viscosity = 100;
    p.domain = closed_domain(Vec3f(0, -1, -1), Vec3f(0.16f, 2, 1));
    p.domain.y_min = p.domain.y_max = p.domain.z_min = p.domain.z_max = DomainParams::Side::open;
    p.sources = {box_source(Vec3f(0, 0, 0), Vec3f(0.16f, 0.8f, 0.08f))};
    const auto liquid = started_liquid(p);
    for (int frame = 0; frame < 6; ++frame) liquid->advance();
    const float nu = p.viscosity / p.density, top = 9.81f * 0.16f * 0.16f / (8 * nu);
    double error = 0, count = 0;
    const Particles& all = liquid->particles();
    for (size_t i = 0; i < all.size(); ++i) {
        if (std::abs(all.P[i].y() - 0.33f) > 0.1f) continue;
        const float x = all.P[i].x(), exact = -9.81f / (2 * nu) * x * (0.16f - x);
        error += static_cast<double>(std::abs(all.v[i].y() - exact) / top), count += 1;
    }
    std::printf("Poiseuille flow of a liquid: mean error %.2f%% of the largest velocity\n", 100 * error / count);
    EXPECT_LT(error / count, 0.02);
}

Eigen::Vector3d angular_momentum(const Particles& particles)
{
    Eigen::Vector3d center = Eigen::Vector3d::Zero(), sum = center;
    for (const Vec3f& x : particles.P) center += x.cast<double>() / static_cast<double>(particles.size());
    for (size_t i = 0; i < particles.size(); ++i)
        sum += (particles.P[i].cast<double>() - center).cross(particles.v[i].cast<double>());
    return sum;
}

// The share of its angular momentum that a ball keeps over one turn, without gravity.
double kept_after_one_turn(Transfer transfer, float viscosity, float cfl)
{
    LiquidParams p;
    p.voxel = 1.0f / 16, p.transfer = transfer, p.flip = 1, p.viscosity = viscosity, p.cfl = cfl;
    p.gravity = Vec3f::Zero();
    SourceParams ball;
    ball.shape = ShapeParams::Kind::sphere, ball.center = Vec3f(0, 0, 0), ball.radius = 0.5f;
    p.sources = {ball};
    const auto liquid = started_liquid(p);
    Liquid::State state = liquid->state();
    const Vec3f spin(0, 0, 2 * static_cast<float>(kPi)); // one turn per second
    for (size_t i = 0; i < state.particles.size(); ++i) state.particles.v[i] = spin.cross(state.particles.P[i]);
    if (transfer == Transfer::apic) {
        const Vec3f rows[3] = {Vec3f(0, -spin.z(), 0), Vec3f(spin.z(), 0, 0), Vec3f::Zero()};
        for (int a = 0; a < 3; ++a)
            for (Vec3f& row : state.particles.attribute<Vec3f>(kAffine[a])) row = rows[a];
    }
    state.speed = 3.2f;
    liquid->restore(state);
    const double before = angular_momentum(liquid->particles()).z();
    for (int frame = 0; frame < 24; ++frame) liquid->advance();
    return angular_momentum(liquid->particles()).z() / before;
}

TEST(Viscosity, RotatingBallConservesAngularMomentum)
{
    // Longer steps lose more, with any transfer: a step rotates the ball, and the projection after it the velocity.
    const double kept = kept_after_one_turn(Transfer::flip, 1e4f, 0.1f);
    std::printf("a turning ball at 1e4 Pa s keeps %.2f%% of its angular momentum in a turn\n", 100 * kept);
    EXPECT_NEAR(kept, 1, 0.01);
}

TEST(Viscosity, AnyViscosityIsStable)
{
    for (const Transfer transfer : {Transfer::flip, Transfer::apic})
        for (const float viscosity : {0.001f, 0.1f, 10.0f, 1000.0f, 1e4f}) {
            LiquidParams p = dam_break(20);
            p.viscosity = viscosity, p.transfer = transfer;
            const auto liquid = started_liquid(p);
            const double start = 9.81 * mean_height(liquid->particles());
            double most = 0;
            for (int frame = 0; frame < 24; ++frame) {
                liquid->advance();
                const double energy = kinetic_energy(liquid->particles()) + 9.81 * mean_height(liquid->particles());
                ASSERT_TRUE(std::isfinite(energy));
                most = std::max(most, energy / start);
            }
            EXPECT_LT(most, 1.02) << viscosity;
        }
}

// The pressure that carries honey is found before viscosity acts: otherwise gravity would look like shear at the walls.
TEST(Viscosity, StillHoneyStaysStill)
{
    LiquidParams p;
    p.voxel = 1.0f / 24, p.viscosity = 100;
    p.domain = closed_domain(Vec3f(0, 0, 0), Vec3f(1, 1, 1));
    p.sources = {pool_source(0.5f)};
    const auto liquid = started_liquid(p);
    double most = 0;
    for (int frame = 0; frame < 24; ++frame) {
        liquid->advance();
        most = std::max(most, kinetic_energy(liquid->particles()) / 9.81);
    }
    std::printf("still honey: kinetic energy up to %.1e of its fall by the box's height\n", most);
    EXPECT_LT(most, 1e-6);
}

TEST(Viscosity, SourcesMayHaveDifferentViscosities)
{
    LiquidParams p;
    p.voxel = 1.0f / 24, p.transfer = Transfer::apic;
    p.domain = closed_domain(Vec3f(0, 0, 0), Vec3f(2, 1, 0.5f));
    p.sources = {box_source(Vec3f(0.2f, 0, 0.1f), Vec3f(0.6f, 0.4f, 0.4f)),
                 box_source(Vec3f(1.4f, 0, 0.1f), Vec3f(1.8f, 0.4f, 0.4f))};
    p.sources[0].viscosity = 2000.0f, p.sources[1].viscosity = 1.0f;
    const auto liquid = started_liquid(p);
    for (int frame = 0; frame < 8; ++frame) liquid->advance();
    const auto& viscosity = *liquid->particles().find<float>(kViscosityAttribute);
    const auto mean_height_of = [&](float wanted) {
        double sum = 0, count = 0;
        for (size_t i = 0; i < viscosity.size(); ++i)
            if (viscosity[i] == wanted) sum += static_cast<double>(liquid->particles().P[i].y()), count += 1;
        return sum / count;
    };
    std::printf("blocks 0.4 m high after 1/3 s: mean height %.3f m at 2000 Pa s, %.3f m at 1 Pa s\n",
                mean_height_of(2000), mean_height_of(1));
    EXPECT_GT(mean_height_of(2000), 0.16);
    EXPECT_LT(mean_height_of(1), 0.13);
}

TEST(Viscosity, BitIdenticalForAnyNumberOfThreads)
{
    LiquidParams p = dam_break(20);
    p.viscosity = 1000;
    same_for_any_threads(p, 4);
}

} // namespace
} // namespace spindrift
