#include "turbulence/flows.h"
#include "turbulence/spectrum.h"

namespace spindrift {
namespace {

constexpr float kVoxel = 0.25f, kEddy = 1; // four cells

// Turbulence of uniform energy in fluid at rest.
struct Homogeneous {
    FormulaFlow f;
    TurbulenceParams params;
    std::unique_ptr<Turbulence> turbulence;

    Homogeneous(float energy, int octaves, int seed, int cells = 64) : f(Vec3i::Zero(), Vec3i::Constant(cells), kVoxel)
    {
        params.viscosity = 0, params.octaves = octaves, params.seed = seed, params.start_energy = energy;
    }
    Turbulence& start()
    {
        turbulence = std::make_unique<Turbulence>(params);
        turbulence->step(f.flow(), 0);
        return *turbulence;
    }
    // Points away from the sides, where eddies are missing.
    std::vector<Vec3f> points(size_t count, uint64_t seed) const
    {
        Random random(seed);
        std::vector<Vec3f> out;
        const float high = static_cast<float>(f.topology.cell_count() == 0 ? 0 : 16) - 2;
        while (out.size() < count) out.push_back(f.random_point(random, Vec3f::Constant(2), Vec3f::Constant(high)));
        return out;
    }
    std::vector<Vec3f> sample(const std::vector<Vec3f>& points) const
    {
        std::vector<Vec3f> u(points.size());
        turbulence->velocity().sample_points(points, u);
        return u;
    }
};

double mean_square(const std::vector<Vec3f>& u)
{
    double sum = 0;
    for (const Vec3f& v : u) sum += static_cast<double>(v.squaredNorm());
    return sum / static_cast<double>(u.size());
}

TEST(TurbulentVelocity, EachOctaveHasItsEnergy)
{
    constexpr int kOctaves = 4;
    double found[kOctaves] = {};
    constexpr int kSeeds = 3;
    for (int seed = 1; seed <= kSeeds; ++seed) {
        std::vector<Vec3f> before;
        for (int octaves = 1; octaves <= kOctaves; ++octaves) {
            Homogeneous h(2, octaves, seed);
            h.start();
            const auto points = h.points(6000, 5);
            std::vector<Vec3f> u = h.sample(points), alone = u;
            for (size_t i = 0; i < before.size(); ++i) alone[i] -= before[i];
            found[octaves - 1] += mean_square(alone) / kSeeds;
            before = std::move(u);
        }
    }
    for (int o = 0; o < kOctaves; ++o)
        EXPECT_NEAR(std::sqrt(found[o] / (2 * std::exp2(-2.0 / 3 * o))), 1, 0.03) << "octave " << o;
}

TEST(TurbulentVelocity, IsIsotropicWithZeroMean)
{
    Homogeneous h(1, 1, 3);
    h.start();
    const auto u = h.sample(h.points(30000, 6));
    Vec3d mean = Vec3d::Zero(), square = Vec3d::Zero();
    for (const Vec3f& v : u) {
        mean += v.cast<double>() / static_cast<double>(u.size());
        square += v.cast<double>().cwiseAbs2() / static_cast<double>(u.size());
    }
    EXPECT_LT(mean.norm(), 0.05);
    for (int a = 0; a < 3; ++a) EXPECT_NEAR(square[a], 1.0 / 3, 0.04);
}

// Divergence relative to the gradient, by fourth-order central differences.
struct Divergence {
    std::vector<double> values; // sorted
    double gradient = 0;        // RMS
    double at(double share) const { return values[static_cast<size_t>(share * static_cast<double>(values.size()))]; }
};

Divergence divergence_at(const TurbulentVelocity& velocity, const std::vector<Vec3f>& points)
{
    constexpr float h = 0.015f;
    Divergence out;
    for (const Vec3f& x : points) {
        double sum = 0;
        for (int a = 0; a < 3; ++a) {
            std::vector<Vec3f> at, u(4);
            for (const float step : {-2.0f, -1.0f, 1.0f, 2.0f}) at.emplace_back(x + step * h * Vec3f::Unit(a));
            velocity.sample_points(at, u);
            const double around = static_cast<double>(at[2][a] - at[1][a]) / 2; // actual rounded h
            const Vec3d slope = (u[0] - 8 * u[1] + 8 * u[2] - u[3]).cast<double>() / (12 * around);
            sum += slope[a], out.gradient += slope.squaredNorm();
        }
        out.values.push_back(std::abs(sum));
    }
    out.gradient = std::sqrt(out.gradient / static_cast<double>(points.size()));
    std::sort(out.values.begin(), out.values.end());
    return out;
}

// Velocity derivatives are discontinuous where an eddy ends, so differences across such points are invalid: test a high
// quantile of the divergence instead of the maximum.
TEST(TurbulentVelocity, IsDivergenceFree)
{
    Homogeneous h(1, 2, 4);
    h.start();
    const Divergence d = divergence_at(h.turbulence->velocity(), h.points(2000, 7));
    EXPECT_GT(d.gradient, 3);
    EXPECT_LT(d.at(0.5), 2e-4 * d.gradient);
    EXPECT_LT(d.at(0.8), 2e-3 * d.gradient);
    EXPECT_LT(d.at(0.98), 5e-2 * d.gradient);
}

TEST(TurbulentVelocity, IsDivergenceFreeWithVaryingEnergyAndSolids)
{
    Homogeneous h(1e-3f, 2, 4);
    h.f.set_solids([](const Vec3f& x) { return (x - Vec3f::Constant(8)).norm() - 3; });
    h.f.set_velocity([](const Vec3f& x) { return Vec3f(std::sin(x.y()), std::sin(x.z()), std::sin(x.x())); });
    h.start();
    for (int s = 0; s < 20; ++s) h.turbulence->step(h.f.flow(), 0.2f);
    std::vector<Vec3f> points;
    for (const Vec3f& x : h.points(20000, 7)) {
        const float d = (x - Vec3f::Constant(8)).norm() - 3;
        if (d > 0.2f && d < 0.8f) points.push_back(x);
    }
    const Divergence d = divergence_at(h.turbulence->velocity(), points);
    EXPECT_GT(d.gradient, 0.5);
    EXPECT_LT(d.at(0.5), 2e-3 * d.gradient);
    EXPECT_LT(d.at(0.9), 5e-2 * d.gradient);
}

TEST(TurbulentVelocity, NothingFlowsThroughAWall)
{
    Homogeneous h(1, 3, 5);
    const Vec3f normal = Vec3f(1, 2, -0.5f).normalized();
    const auto distance = [&](const Vec3f& x) { return normal.dot(x - Vec3f::Constant(8)); };
    h.f.set_solids(distance);
    h.start();
    std::vector<Vec3f> on_wall, near, inside, away;
    for (Vec3f x : h.points(5000, 8)) {
        x -= distance(x) * normal;
        if ((x.array() < 2).any() || (x.array() > 14).any()) continue;
        on_wall.push_back(x + 1e-4f * normal), near.push_back(x + 0.02f * normal);
        inside.push_back(x - 0.3f * normal), away.push_back(x + 1.5f * normal);
    }
    ASSERT_GT(on_wall.size(), 1000u);
    const auto through = [&](const std::vector<Vec3f>& points) {
        double sum = 0;
        for (const Vec3f& u : h.sample(points)) sum += std::pow(static_cast<double>(u.dot(normal)), 2);
        return std::sqrt(sum / static_cast<double>(points.size()));
    };
    EXPECT_LT(through(on_wall), 2e-3);
    EXPECT_LT(through(near), 0.1);
    EXPECT_NEAR(through(away), std::sqrt(2.03 / 3), 0.1);
    EXPECT_GT(std::sqrt(mean_square(h.sample(on_wall))), 0.3); // slips along the wall
    EXPECT_EQ(mean_square(h.sample(inside)), 0);
}

TEST(TurbulentVelocity, NothingFlowsThroughABall)
{
    Homogeneous h(1, 3, 5);
    const Vec3f center = Vec3f(8.1f, 7.9f, 8.3f);
    h.f.set_solids([&](const Vec3f& x) { return (x - center).norm() - 2; });
    h.start();
    std::vector<Vec3f> points;
    for (const Vec3f& x : h.points(3000, 9)) points.emplace_back(center + 2.001f * (x - center).normalized());
    const auto u = h.sample(points);
    double through = 0;
    for (size_t i = 0; i < u.size(); ++i)
        through += std::pow(static_cast<double>(u[i].dot((points[i] - center).normalized())), 2);
    EXPECT_LT(std::sqrt(through / static_cast<double>(u.size())), 0.05);
    EXPECT_GT(std::sqrt(mean_square(u)), 0.3);
}

TEST(TurbulentVelocity, CellsAndPointsAgree)
{
    for (const bool solids : {false, true}) {
        Homogeneous h(1, 3, 6);
        if (solids) h.f.set_solids([](const Vec3f& x) { return (x - Vec3f::Constant(6)).norm() - 1; });
        h.start();
        const float fine = kVoxel / 4;
        const Topology topology = Topology::covering(Vec3i::Constant(72), Vec3i::Constant(104));
        Field<float> u[3];
        h.turbulence->velocity().sample_cells(topology, fine, u);
        Random random(2);
        for (int i = 0; i < 2000; ++i) {
            const Vec3i cell(72 + static_cast<int>(random.uniform(0, 32)), 72 + static_cast<int>(random.uniform(0, 32)),
                             72 + static_cast<int>(random.uniform(0, 32)));
            const Vec3f x = fine * (cell.cast<float>().array() + 0.5f).matrix();
            const Vec3f at_point = h.sample({x})[0];
            for (int a = 0; a < 3; ++a) ASSERT_NEAR(u[a].at(cell), at_point[a], 2e-4) << x.transpose();
        }
    }
}

TEST(TurbulentVelocity, FacesHoldMeansAndAreDivergenceFree)
{
    Homogeneous h(1, 2, 7); // the octaves that the cells can resolve
    h.f.set_solids([](const Vec3f& x) { return x.y() - 4.1f; });
    h.start();
    MacField faces;
    h.turbulence->velocity().sample_faces(h.f.topology, kVoxel, faces);
    double error = 0, size = 0;
    Random random(3);
    for (int i = 0; i < 300; ++i) {
        const Vec3i cell(16 + static_cast<int>(random.uniform(0, 32)), 20 + static_cast<int>(random.uniform(0, 30)),
                         16 + static_cast<int>(random.uniform(0, 32)));
        const int axis = i % 3, n = 8;
        std::vector<Vec3f> points;
        for (int s = 0; s < n; ++s)
            for (int t = 0; t < n; ++t) {
                Vec3f place = Vec3f::Zero();
                place[(axis + 1) % 3] = (static_cast<float>(s) + 0.5f) / n;
                place[(axis + 2) % 3] = (static_cast<float>(t) + 0.5f) / n;
                points.emplace_back(kVoxel * (cell.cast<float>() + place));
            }
        double mean = 0;
        for (const Vec3f& u : h.sample(points)) mean += static_cast<double>(u[axis]) / (n * n);
        error += std::pow(mean - static_cast<double>(faces.u[axis].at(cell)), 2), size += mean * mean;
        double out = 0;
        for (int a = 0; a < 3; ++a)
            out += static_cast<double>(faces.u[a].at(cell + Vec3i::Unit(a)) - faces.u[a].at(cell));
        ASSERT_NEAR(out, 0, 1e-5) << cell.transpose();
    }
    EXPECT_LT(std::sqrt(error / size), 0.04); // ramp and blending weights are not averaged
    EXPECT_GT(std::sqrt(size / 300), 0.4);
}

TEST(TurbulentVelocity, CalmFluidStaysLaminar)
{
    Homogeneous h(1e-4f, 3, 8);
    h.params.viscosity = 0.1f;
    h.f.set_velocity([](const Vec3f& x) { return Vec3f(1e-3f * x.y(), 0.1f, 0); });
    h.start();
    for (int s = 0; s < 5; ++s) h.turbulence->step(h.f.flow(), 0.1f);
    EXPECT_EQ(mean_square(h.sample(h.points(1000, 3))), 0);
}

TEST(TurbulentVelocity, ChangesWithinATurnover)
{
    Homogeneous h(1, 1, 9);
    h.start();
    const auto points = h.points(20000, 4);
    const auto first = h.sample(points);
    const auto correlation = [&](float turnovers) {
        auto state = h.turbulence->state();
        for (float& t : state.particles.particles.attribute<float>(eddy_time_attribute(0))) t = turnovers;
        h.turbulence->restore(state);
        const auto now = h.sample(points);
        double sum = 0;
        for (size_t i = 0; i < points.size(); ++i) sum += static_cast<double>(first[i].dot(now[i]));
        return sum / static_cast<double>(points.size()) / mean_square(first);
    };
    EXPECT_NEAR(correlation(0.25f), std::sin(kPi / 4) / (kPi / 4), 0.05);
    EXPECT_NEAR(correlation(0.5f), std::sin(kPi / 2) / (kPi / 2), 0.05);
    EXPECT_NEAR(correlation(1), 0, 0.1);
    EXPECT_NEAR(correlation(2.5f), std::sin(2.5 * kPi) / (2.5 * kPi), 0.1);
    EXPECT_NEAR(correlation(kTimePeriod), 1, 1e-3); // periodic
}

// Four octaves on 128^3 samples: wavelengths from 43 to 2.7 samples, 3 to 48 waves per cube.
TEST(TurbulentVelocity, SpectrumFallsAsFiveThirds)
{
    constexpr int kSize = 128, kFirst = 192;
    std::vector<double> spectrum(kSize / 2);
    for (int seed = 1; seed <= 3; ++seed) {
        Homogeneous h(1, 4, seed);
        h.start();
        const Topology topology = Topology::covering(Vec3i::Constant(kFirst), Vec3i::Constant(kFirst + kSize));
        Field<float> u[3];
        h.turbulence->velocity().sample_cells(topology, kEddy / 32, u);
        const std::vector<double> one = energy_spectrum(u, Vec3i::Constant(kFirst), kSize);
        for (size_t k = 0; k < one.size(); ++k) spectrum[k] += one[k];
    }
    EXPECT_NEAR(fitted_slope(spectrum, 1.05 * 3, 0.95 * 48), -5.0 / 3, 0.1);
    EXPECT_LT(spectrum[58], 0.01 * spectrum[45]); // the spectrum ends
}

} // namespace
} // namespace spindrift
