#include "spindrift/turbulence/energy.h"

#include "spindrift/turbulence/cascade.h"
#include "turbulence/flows.h"

namespace spindrift {
namespace {

constexpr float kVoxel = 0.1f, kEddy = 0.4f;

// dE/dt = l S^2 sqrt(E) - E^(3/2) / l in small fourth-order steps.
double integrate(double energy, double strain, double eddy, double time)
{
    const auto rate = [&](double e) { return eddy * strain * strain * std::sqrt(e) - e * std::sqrt(e) / eddy; };
    constexpr int steps = 2000;
    const double dt = time / steps;
    for (int i = 0; i < steps; ++i) {
        const double a = rate(energy), b = rate(energy + 0.5 * dt * a), c = rate(energy + 0.5 * dt * b),
                     d = rate(energy + dt * c);
        energy += dt / 6 * (a + 2 * b + 2 * c + d);
    }
    return energy;
}

TEST(TurbulentEnergy, DecaysByTheCascade)
{
    FormulaFlow f(Vec3i(0, 0, 0), Vec3i(32, 16, 16), kVoxel);
    f.set_velocity([](const Vec3f&) { return Vec3f(0, 0, 0); });
    for (const int steps : {1, 7}) { // exact for any step
        TurbulentEnergy energy(2.0f);
        for (int s = 0; s < steps; ++s) energy.step(f.flow(), kEddy, 1.4f / static_cast<float>(steps));
        const double q = std::sqrt(2.0), exact = q / (1 + q * 1.4 / (2 * static_cast<double>(kEddy)));
        for (const float e : energy.energy().values()) ASSERT_NEAR(e, exact * exact, 2e-5 * exact * exact);
    }
}

TEST(TurbulentEnergy, IsAdvectedByTheFlow)
{
    FormulaFlow f(Vec3i(0, 0, 0), Vec3i(64, 32, 32), kVoxel);
    f.set_velocity([](const Vec3f&) { return Vec3f(0.9f, 0.35f, -0.2f); });
    TurbulentEnergy energy(1e-6f);
    const auto excess = [&](bool weighted) {
        Vec3d sum = Vec3d::Zero();
        double all = 0;
        for_each_value(const_cast<Field<float>&>(energy.energy()), [&](const Vec3i& cell, float& e) {
            sum += static_cast<double>(e) * f.center(cell).cast<double>(), all += static_cast<double>(e);
        });
        return weighted ? Vec3d(sum / all) : Vec3d(all, 0, 0);
    };
    Field<float> blob(f.topology, 0);
    for_each_value(blob, [&](const Vec3i& cell, float& e) {
        e = 1e-6f + 0.05f * std::exp(-(f.center(cell) - Vec3f(1.6f, 1.3f, 1.8f)).squaredNorm() / (2 * 0.3f * 0.3f));
    });
    energy.restore(f.topology.codes(), {blob.values().begin(), blob.values().end()},
                   std::vector<float>(f.topology.cell_count(), 1));
    const Vec3d before = excess(true);
    for (int s = 0; s < 10; ++s) energy.step(f.flow(), kEddy, 0.15f);
    const Vec3d moved = excess(true) - before;
    EXPECT_LT((moved - 1.5 * Vec3d(0.9, 0.35, -0.2)).norm(), 0.2 * static_cast<double>(kVoxel)) << moved.transpose();
}

TEST(TurbulentEnergy, ReachesTheBalanceOfProductionAndCascade)
{
    FormulaFlow f(Vec3i(0, 0, 0), Vec3i(128, 64, 16), kVoxel);
    constexpr float shear = 3;
    f.set_velocity([](const Vec3f& x) { return Vec3f(shear * (x.y() - 3.25f), 0, 0); });
    const double strain = shear / std::sqrt(2.0), eddy = static_cast<double>(kEddy);
    TurbulentEnergy energy(1e-4f);
    double time = 0;
    for (int s = 0; s < 70; ++s) {
        energy.step(f.flow(), kEddy, 0.05f), time += 0.05;
        const double here = static_cast<double>(energy.energy().at(Vec3i(64, 32, 8)));
        ASSERT_NEAR(here / integrate(1e-4, strain, eddy, time), 1, 0.03) << s; // before the balance is reached
    }
    EXPECT_NEAR(energy.energy().at(Vec3i(64, 32, 8)), eddy * eddy * strain * strain,
                0.03 * eddy * eddy * strain * strain);
}

TEST(TurbulentEnergy, StaysPositiveAndFiniteAtExtremes)
{
    FormulaFlow f(Vec3i(0, 0, 0), Vec3i(24, 24, 24), kVoxel);
    f.set_solids([](const Vec3f& x) { return (x - Vec3f(1, 1, 1)).norm() - 0.5f; });
    Random random(3);
    for (const float speed : {0.0f, 1.0f, 1e4f, 1e9f, 1e15f})
        for (const float dt : {0.0f, 1e-6f, 1.0f, 1e6f}) {
            f.set_velocity([&](const Vec3f&) {
                return Vec3f(speed * random.uniform(-1, 1), speed * random.uniform(-1, 1),
                             speed * random.uniform(-1, 1));
            });
            TurbulentEnergy energy(1e-4f);
            for (int s = 0; s < 3; ++s) {
                energy.step(f.flow(), kEddy, dt);
                for (const float e : energy.energy().values())
                    ASSERT_TRUE(std::isfinite(e) && e > 0) << e << " at " << speed << " m/s, " << dt << " s";
            }
        }
}

TEST(TurbulentEnergy, IsKeptInRemainingTiles)
{
    FormulaFlow all(Vec3i(0, 0, 0), Vec3i(32, 8, 8), kVoxel), fewer(Vec3i(8, 0, 0), Vec3i(24, 8, 8), kVoxel);
    TurbulentEnergy energy(1e-3f);
    all.set_velocity([](const Vec3f& x) { return Vec3f(0, 0, 4 * std::sin(3 * x.x())); });
    for (int s = 0; s < 20; ++s) energy.step(all.flow(), kEddy, 0.05f);
    const float before = energy.energy().at(Vec3i(16, 4, 4)), gone = energy.energy().at(Vec3i(4, 4, 4));
    energy.step(fewer.flow(), kEddy, 0);
    EXPECT_FLOAT_EQ(energy.energy().at(Vec3i(16, 4, 4)), before);
    energy.step(all.flow(), kEddy, 0);
    EXPECT_FLOAT_EQ(energy.energy().at(Vec3i(16, 4, 4)), before);
    EXPECT_GT(gone, 0.01f);
    EXPECT_FLOAT_EQ(energy.energy().at(Vec3i(4, 4, 4)), 1e-3f); // a new tile
}

TEST(Diffusion, MatchesTheHeatEquation)
{
    // cos(pi x / L) in a line of tiles with closed ends decays as exp(-k^2 t).
    const Topology topology = Topology::covering(Vec3i(-32, 0, 0), Vec3i(32, 8, 8));
    Diffusion diffusion;
    diffusion.set_topology(topology);
    for (int axis = 0; axis < 3; ++axis) {
        const Vec3i size = axis == 0 ? Vec3i(64, 8, 8) : axis == 1 ? Vec3i(8, 64, 8) : Vec3i(8, 8, 64);
        const Topology line = Topology::covering(Vec3i::Zero(), size);
        diffusion.set_topology(line);
        const double k = kPi / 64, time = 400;
        double errors[2];
        for (int run = 0; run < 2; ++run) {
            const int steps = 8 << run;
            Field<float> value(line, 0), ones(line, 1);
            for_each_value(
                value, [&](const Vec3i& c, float& v) { v = 2 + static_cast<float>(std::cos(k * (c[axis] + 0.5))); });
            for (int s = 0; s < steps; ++s) diffusion.step(value, ones, static_cast<float>(time / steps));
            errors[run] = 0;
            for_each_value(value, [&](const Vec3i& c, float& v) {
                const double exact = 2 + std::cos(k * (c[axis] + 0.5)) * std::exp(-k * k * time);
                errors[run] = std::max(errors[run], std::abs(static_cast<double>(v) - exact));
            });
        }
        EXPECT_LT(errors[0], 0.03) << axis;
        EXPECT_NEAR(errors[0] / errors[1], 2, 0.2) << axis; // first order in time
    }
}

TEST(Diffusion, ConservesTheTotalAndStopsAtWalls)
{
    const RandomField random(Vec3i(-3, -3, -3), Vec3i(3, 3, 3), 0.6f, 0, 17);
    Field<float> value(random.topology, 0), coefficient(random.topology, 0);
    Random numbers(4);
    for_each_value(coefficient, [&](const Vec3i& c, float& k) {
        k = c.x() == 3 || numbers.uniform() < 0.1f ? 0 : std::exp(numbers.uniform(-10, 10));
    });
    for_each_value(value, [&](const Vec3i& c, float& v) { v = c.x() < 3 ? 1 + random.dense.get(c) : 0; });
    const double before = total(value);
    Diffusion diffusion;
    diffusion.set_topology(random.topology);
    for (const float step : {0.1f, 10.0f, 1e6f, 1e20f}) {
        diffusion.step(value, coefficient, step);
        EXPECT_NEAR(total(value) / before, 1, 1e-5) << step;
        for_each_value(value, [&](const Vec3i& c, float& v) {
            ASSERT_TRUE(std::isfinite(v) && v >= 0);
            if (c.x() >= 3) {
                ASSERT_EQ(v, 0);
            }
        });
    }
}

TEST(Cascade, EnergyFallsByOctavesAndEndsAtTheCutoff)
{
    const Cascade ideal{0.5f, 0};
    EXPECT_FLOAT_EQ(ideal.energy(0, 3), 3);
    EXPECT_FLOAT_EQ(ideal.energy(3, 3), 0.75f); // 8^(-2/3) = 1/4
    // Viscosity for which the cutoff k = (E^(3/2) / l / nu^3)^(1/4) is in the middle of octave 2, at 1.5 k_2.
    const double k = 1.5 * 4 / 0.5, passed_on = 3 * std::sqrt(3.0) / 0.5;
    const Cascade viscous{0.5f, static_cast<float>(std::pow(passed_on / std::pow(k, 4), 1.0 / 3))};
    EXPECT_NEAR(viscous.cutoff(3), k, 1e-4 * k);
    EXPECT_FLOAT_EQ(viscous.energy(1, 3), ideal.energy(1, 3));
    EXPECT_NEAR(viscous.energy(2, 3), 0.5f * ideal.energy(2, 3), 1e-4f);
    EXPECT_EQ(viscous.energy(3, 3), 0);
    EXPECT_EQ(viscous.energy(0, 1e-8f), 0); // low energy: laminar
    // Continuous where the cutoff leaves an octave; (3.10) as printed falls to zero there.
    EXPECT_NEAR(viscous.energy(1, 3 * std::pow(2.0f / 3, 8.0f / 3) * 1.001f) /
                    ideal.energy(1, 3 * std::pow(2.0f / 3, 8.0f / 3)),
                1, 0.01f);
}

} // namespace
} // namespace spindrift
