#include "base/determinism.h"
#include "turbulence/flows.h"

namespace spindrift {
namespace {

constexpr float kVoxel = 0.1f, kEddy = 0.4f;

// Convection rolls with transverse shear, in a closed box of 48 x 32 x 32 cells around a ball.
Vec3f rolls(const Vec3f& x)
{
    const auto k = static_cast<float>(kPi / 1.6);
    return {std::sin(k * x.x()) * std::cos(k * x.y()), -std::cos(k * x.x()) * std::sin(k * x.y()),
            0.5f * std::sin(k * x.z()) * std::cos(k * x.x())};
}

struct Rolls : FormulaFlow {
    Rolls() : FormulaFlow(Vec3i::Zero(), Vec3i(48, 32, 32), kVoxel)
    {
        set_velocity(rolls);
        set_solids([](const Vec3f& x) { return (x - Vec3f(2, 1.5f, 1.6f)).norm() - 0.45f; });
    }
};

// Fraction of open points farther than 1.1 eddies from any particle, and of particles nearer than half an eddy to
// another.
struct Spacing {
    double uncovered = 0, crowded = 0, per_eddy = 0;

    Spacing(const FormulaFlow& f, const Particles& p, const Box3f& box)
    {
        Random random(1);
        int places = 0, inside = 0;
        const auto nearest = [&](const Vec3f& x, size_t but) {
            float best = kInfinity;
            for (size_t j = 0; j < p.size(); ++j)
                if (j != but) best = std::min(best, (p.P[j] - x).norm());
            return best;
        };
        for (int i = 0; i < 2000; ++i) {
            const Vec3f x = f.random_point(random, box.min, box.max);
            const Vec3i cell = cell_of(x, 1 / f.voxel);
            if (f.has_solids && f.solids.at(cell) <= 0) continue;
            ++places, uncovered += nearest(x, p.size()) > 1.1f * kEddy;
        }
        for (size_t i = 0; i < p.size(); ++i) {
            if (!box.contains(p.P[i])) continue;
            ++inside, crowded += nearest(p.P[i], i) < 0.5f * kEddy;
        }
        uncovered /= places, crowded /= inside;
        per_eddy =
            inside * std::pow(static_cast<double>(kEddy), 3) / static_cast<double>(box.size().prod()) * 2000 / places;
    }
};

TEST(NoiseParticles, KeepTheirSpacingInAMixingFlow)
{
    const Rolls f;
    TurbulenceParams params;
    Turbulence turbulence(params);
    const Box3f box{Vec3f::Zero(), Vec3f(4.8f, 3.2f, 3.2f)};
    for (int s = 0; s <= 150; ++s) {
        turbulence.step(f.flow(), 0.05f);
        if (s % 50 != 0) continue;
        const Spacing spacing(f, turbulence.particles(), box);
        EXPECT_GT(spacing.per_eddy, 0.6) << s;
        EXPECT_LT(spacing.per_eddy, 1.5) << s;
        EXPECT_LT(spacing.uncovered, 0.01) << s;
        EXPECT_LT(spacing.crowded, 0.3) << s;
        for (const Vec3f& x : turbulence.particles().P) ASSERT_GT(f.solids.at(cell_of(x, 1 / kVoxel)), 0);
    }
}

TEST(NoiseParticles, StayEvenInConvergingAndDivergingFlow)
{
    for (const float rate : {-1.0f, 1.0f}) { // converging and diverging
        FormulaFlow f(Vec3i::Zero(), Vec3i(32, 32, 32), kVoxel);
        f.set_velocity([&](const Vec3f& x) { return Vec3f(rate * (x - Vec3f::Constant(1.6f))); });
        Turbulence turbulence{TurbulenceParams()};
        for (int s = 0; s < 100; ++s) turbulence.step(f.flow(), 0.1f);
        const Spacing spacing(f, turbulence.particles(), {Vec3f::Constant(0.8f), Vec3f::Constant(2.4f)});
        EXPECT_GT(spacing.per_eddy, 0.4) << rate;
        EXPECT_LT(spacing.per_eddy, 4) << rate;
        EXPECT_LT(spacing.uncovered, 0.03) << rate;
    }
}

TEST(NoiseParticles, AreAdvectedByTheFlow)
{
    FormulaFlow f(Vec3i::Zero(), Vec3i(64, 32, 32), kVoxel);
    f.set_velocity([](const Vec3f&) { return Vec3f(0.5f, -0.1f, 0.2f); });
    Turbulence turbulence{TurbulenceParams()};
    turbulence.step(f.flow(), 0);
    std::map<int, Vec3f> before;
    for (size_t i = 0; i < turbulence.particles().size(); ++i)
        before[turbulence.particles().id[i]] = turbulence.particles().P[i];
    for (int s = 0; s < 10; ++s) turbulence.step(f.flow(), 0.1f);
    size_t found = 0;
    for (size_t i = 0; i < turbulence.particles().size(); ++i) {
        const auto it = before.find(turbulence.particles().id[i]);
        if (it == before.end()) continue;
        ++found;
        ASSERT_LT((turbulence.particles().P[i] - it->second - Vec3f(0.5f, -0.1f, 0.2f)).norm(), 1e-4f);
    }
    EXPECT_GT(found, before.size() * 7 / 10);
}

TEST(NoiseParticles, KeepTheEnergyWhileTheyAreAddedAndRemoved)
{
    Rolls f;
    f.has_solids = false;
    TurbulenceParams params;
    params.viscosity = 0, params.octaves = 1;
    Turbulence turbulence(params);
    double square = 0;
    int samples = 0;
    for (int s = 0; s < 80; ++s) {
        turbulence.step(f.flow(), 0.1f);
        if (s < 40 || s % 10 != 0) continue;
        Turbulence::State state = turbulence.state();
        for (float& e : state.particles.particles.attribute<float>(kEddyEnergyAttribute)) e = 1;
        Turbulence same_energy(params);
        same_energy.restore(state);
        Random random(static_cast<uint64_t>(s));
        std::vector<Vec3f> points, u(5000);
        while (points.size() < u.size())
            points.push_back(f.random_point(random, Vec3f::Constant(0.5f), Vec3f(4.3f, 2.7f, 2.7f)));
        same_energy.velocity().sample_points(points, u);
        for (const Vec3f& v : u) square += static_cast<double>(v.squaredNorm()), ++samples;
    }
    EXPECT_NEAR(std::sqrt(square / samples), 1, 0.05);
}

struct Result {
    Turbulence::State state;
    Field<float> u[3];
    MacField faces;
    std::vector<Vec3f> at_points;
};

Topology fine_tiles() { return Topology::covering(Vec3i(40, 40, 40), Vec3i(88, 72, 72)); }

void sample(const Turbulence& turbulence, const Topology& fine, const Topology& flow, Result& out)
{
    out.state = turbulence.state();
    turbulence.velocity().sample_cells(fine, kVoxel / 4, out.u);
    turbulence.velocity().sample_faces(flow, kVoxel, out.faces);
    Random random(9);
    std::vector<Vec3f> points;
    for (int i = 0; i < 500; ++i)
        points.emplace_back(random.uniform(-1, 6), random.uniform(-1, 4), random.uniform(-1, 4));
    out.at_points.resize(points.size());
    turbulence.velocity().sample_points(points, out.at_points);
}

void expect_same(const Result& a, const Result& b)
{
    EXPECT_TRUE(a.state.tiles == b.state.tiles && a.state.particles.next_id == b.state.particles.next_id);
    EXPECT_TRUE(same_bits(a.state.energy, b.state.energy));
    EXPECT_TRUE(same_bits(a.state.particles.particles, b.state.particles.particles));
    for (int c = 0; c < 3; ++c) {
        EXPECT_TRUE(same_bits(a.u[c], b.u[c]));
        EXPECT_TRUE(same_bits(a.faces.u[c], b.faces.u[c]));
    }
    EXPECT_TRUE(same_bits(a.at_points, b.at_points));
}

TEST(Turbulence, SameBitsForAnyNumberOfThreads)
{
    const Rolls f;
    const Topology fine = fine_tiles();
    std::vector<Result> results(3);
    for (int threads = 1; threads <= 3; ++threads)
        with_threads(threads, [&] {
            Turbulence turbulence{TurbulenceParams()};
            for (int s = 0; s < 6; ++s) turbulence.step(f.flow(), 0.1f);
            sample(turbulence, fine, f.topology, results[threads - 1]);
        });
    expect_same(results[0], results[1]);
    expect_same(results[0], results[2]);
    const auto& u = results[0].at_points;
    EXPECT_TRUE(std::any_of(u.begin(), u.end(), [](const Vec3f& v) { return v.norm() > 0.1f; })); // not all calm
}

TEST(Turbulence, ResumesExactly)
{
    const Rolls f;
    const Topology fine = fine_tiles();
    Turbulence straight{TurbulenceParams()};
    for (int s = 0; s < 4; ++s) straight.step(f.flow(), 0.1f);
    Turbulence resumed{TurbulenceParams()};
    resumed.restore(straight.state());
    Result a, b;
    sample(straight, fine, f.topology, a), sample(resumed, fine, f.topology, b);
    expect_same(a, b);
    for (int s = 0; s < 3; ++s) straight.step(f.flow(), 0.1f), resumed.step(f.flow(), 0.1f);
    sample(straight, fine, f.topology, a), sample(resumed, fine, f.topology, b);
    expect_same(a, b);
}

TEST(Turbulence, CanBeSavedAndSampledBeforeTheFirstStep)
{
    const Rolls f;
    Turbulence fresh{TurbulenceParams()}, restored{TurbulenceParams()}, straight{TurbulenceParams()};
    restored.restore(fresh.state());
    std::vector<Vec3f> points(3, Vec3f::Ones()), u(3, Vec3f::Ones());
    restored.velocity().sample_points(points, u);
    EXPECT_EQ(u[2], Vec3f::Zero());
    restored.step(f.flow(), 0.1f), straight.step(f.flow(), 0.1f);
    EXPECT_TRUE(same_bits(restored.particles(), straight.particles()));
}

TEST(Turbulence, StaysInTheLiquid)
{
    FormulaFlow f(Vec3i::Zero(), Vec3i(32, 32, 32), kVoxel);
    f.set_velocity([](const Vec3f& x) { return Vec3f(std::sin(5 * x.y()), 0, std::sin(5 * x.x())); });
    Field<float> liquid(f.topology, 0);
    for_each_value(liquid, [&](const Vec3i& cell, float& d) { d = f.center(cell).y() - 1.6f; });
    Flow flow = f.flow();
    flow.fluid_distance = &liquid;
    Turbulence turbulence{TurbulenceParams()};
    for (int s = 0; s < 10; ++s) turbulence.step(flow, 0.1f);
    EXPECT_GT(turbulence.particles().size(), 200u);
    for (const Vec3f& x : turbulence.particles().P) EXPECT_LT(x.y(), 1.6f + 1e-4f);
    EXPECT_EQ(turbulence.energy().energy().at(Vec3i(16, 20, 16)), 1e-4f);
    EXPECT_GT(turbulence.energy().energy().at(Vec3i(16, 10, 16)), 1e-3f);
}

TEST(Turbulence, RefusesADamagedState)
{
    const Rolls f;
    Turbulence turbulence{TurbulenceParams()};
    turbulence.step(f.flow(), 0.1f);
    Turbulence::State state = turbulence.state();
    state.energy.pop_back();
    EXPECT_ANY_THROW(turbulence.restore(state));
}

TEST(Turbulence, HandlesTilesThatComeAndGo)
{
    Turbulence turbulence{TurbulenceParams()};
    for (int s = 0; s < 30; ++s) { // a window of tiles that moves faster than the flow
        FormulaFlow f(Vec3i(4 * s, 0, 0), Vec3i(4 * s + 32, 24, 24), kVoxel);
        f.set_velocity([](const Vec3f& x) { return Vec3f(2 + std::sin(4 * x.y()), 0, 0); });
        turbulence.step(f.flow(), 0.1f);
        ASSERT_EQ(turbulence.energy().energy().values().size(), f.topology.cell_count());
        for (const float e : turbulence.energy().energy().values()) ASSERT_TRUE(std::isfinite(e) && e > 0);
        for (const Vec3f& x : turbulence.particles().P)
            ASSERT_NE(f.topology.find(tile_of_cell(cell_of(x, 1 / kVoxel))), f.topology.tile_count());
        const double volume = static_cast<double>(f.topology.cell_count()) / 64;
        ASSERT_GT(static_cast<double>(turbulence.particles().size()), 0.6 * volume) << s;
    }
    const Topology nothing;
    MacField still;
    still.reset(nothing, 0);
    turbulence.step({still, kVoxel, nullptr, nullptr, nullptr}, 0.1f);
    EXPECT_EQ(turbulence.particles().size(), 0u);
    std::vector<Vec3f> points(3, Vec3f::Ones()), u(3, Vec3f::Ones());
    turbulence.velocity().sample_points(points, u);
    EXPECT_EQ(u[0], Vec3f::Zero());
}

TEST(Turbulence, ExtraEnergyCountsWhereItIsLarger)
{
    FormulaFlow f(Vec3i::Zero(), Vec3i(32, 32, 32), kVoxel);
    Field<float> ripples(f.topology, 0);
    for_each_value(ripples, [](const Vec3i& cell, float& e) { e = cell.x() >= 16 ? 4.0f : 0.0f; });
    TurbulenceParams params;
    params.start_energy = 1, params.viscosity = 0;
    Turbulence turbulence(params);
    Flow flow = f.flow();
    flow.extra_energy = &ripples;
    turbulence.step(flow, 0);
    const auto& energy = *turbulence.particles().find<float>(kEddyEnergyAttribute);
    for (size_t i = 0; i < energy.size(); ++i) {
        const float x = turbulence.particles().P[i].x();
        if (x < 1.5f) {
            EXPECT_NEAR(energy[i], 1, 1e-4f);
        }
        if (x > 1.7f) {
            EXPECT_NEAR(energy[i], 4, 1e-4f);
        }
    }
}

TEST(Turbulence, OctavesFollowFromTheFinerGrid)
{
    TurbulenceParams params;
    EXPECT_EQ(params.octave_count(), 3); // 16 fine cells, 8, 4
    params.refine = 8;
    EXPECT_EQ(params.octave_count(), 4);
    params.refine = 1, params.eddy_size = 2;
    EXPECT_EQ(params.octave_count(), 1);
    params.octaves = 5;
    EXPECT_EQ(params.octave_count(), 5);
}

TEST(Turbulence, StaysFiniteAtExtremeParameters)
{
    FormulaFlow f(Vec3i::Zero(), Vec3i(16, 16, 16), kVoxel);
    f.set_solids([](const Vec3f& x) { return x.x() - 0.4f; });
    for (const float size : {1.0f, 64.0f})
        for (const float speed : {0.0f, 1e3f, 1e12f})
            for (const float dt : {0.0f, 1e-3f, 1e5f}) {
                f.set_velocity([&](const Vec3f& x) { return Vec3f(speed * std::sin(9 * x.y()), speed, 0); });
                TurbulenceParams params;
                params.eddy_size = size;
                Turbulence turbulence(params);
                for (int s = 0; s < 2; ++s) turbulence.step(f.flow(), dt);
                MacField faces;
                turbulence.velocity().sample_faces(f.topology, kVoxel, faces);
                for (const auto& u : faces.u)
                    for (const float v : u.values()) ASSERT_TRUE(std::isfinite(v)) << size << " " << speed << " " << dt;
            }
}

} // namespace
} // namespace spindrift
