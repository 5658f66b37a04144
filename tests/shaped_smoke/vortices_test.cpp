#include "spindrift/shaped_smoke/vortices.h"

#include "base/determinism.h"
#include "spindrift/base/random.h"

#include <gtest/gtest.h>

namespace spindrift {

namespace {

// Vortices in the unit cube with radii that differ by a factor of ten.
Particles random_vortices(size_t count, uint64_t seed)
{
    Particles particles;
    particles.attribute<Vec3f>(kOmegaAttribute), particles.attribute<float>(kSigmaAttribute);
    particles.resize(count);
    Random random(seed);
    const auto vector = [&] {
        const float x = random.uniform(-1, 1), y = random.uniform(-1, 1), z = random.uniform(-1, 1);
        return Vec3f(x, y, z);
    };
    for (size_t i = 0; i < count; ++i) {
        particles.P[i] = 0.5f * (vector() + Vec3f::Ones());
        particles.attribute<Vec3f>(kOmegaAttribute)[i] = 5 * vector();
        particles.attribute<float>(kSigmaAttribute)[i] = random.uniform(0.02f, 0.2f);
    }
    return particles;
}

const std::vector<Vec3f>& omegas(const Vortices& v) { return *v.particles().find<Vec3f>(kOmegaAttribute); }
const std::vector<float>& sigmas(const Vortices& v) { return *v.particles().find<float>(kSigmaAttribute); }

Vec3d total_of(const Vortices& v)
{
    Vec3d sum = Vec3d::Zero();
    for (const Vec3f& omega : omegas(v)) sum += omega.cast<double>();
    return sum;
}

double magnitudes_of(const Vortices& v)
{
    double sum = 0;
    for (const Vec3f& omega : omegas(v)) sum += static_cast<double>(omega.norm());
    return sum;
}

Vortices vortices_of(const Particles& particles, VortexParams params = {})
{
    Vortices vortices(params);
    vortices.set_particles(particles);
    return vortices;
}

TEST(Vortices, VelocityIsTheKernelOfThePaper)
{
    Particles one = random_vortices(1, 1);
    one.P[0] = Vec3f(0.03f, 0.01f, -0.02f);
    one.attribute<float>(kSigmaAttribute)[0] = 0.4f;
    Vortices vortices = vortices_of(one);
    const float voxel = 0.05f;
    const Topology topology = Topology::covering({-12, -12, -12}, {12, 12, 12});
    Field<float> u[3];
    vortices.velocity(topology, voxel, u);
    const Vec3f omega = omegas(vortices)[0];
    int inside = 0;
    for (int x = -12; x < 12; ++x)
        for (int y = -12; y < 12; ++y)
            for (int z = -12; z < 12; ++z) {
                const Vec3f r = voxel * (Vec3i(x, y, z).cast<float>() + Vec3f::Constant(0.5f)) - one.P[0];
                const float q = r.squaredNorm() / (0.4f * 0.4f), root = 4 - 20 / (q + 4);
                const Vec3f expected = q < 1 ? Vec3f(root * root * omega.cross(r)) : Vec3f(Vec3f::Zero());
                const Vec3f found(u[0].at({x, y, z}), u[1].at({x, y, z}), u[2].at({x, y, z}));
                ASSERT_LT((found - expected).norm(), 1e-5f) << x << " " << y << " " << z;
                inside += q < 1;
            }
    EXPECT_GT(inside, 1000);
}

TEST(Vortices, ExchangeConservesTotalVorticityForAnyRadii)
{
    VortexParams params;
    params.exchange = 5, params.exchange_distance = 0.2f;
    Vortices vortices = vortices_of(random_vortices(2000, 3), params);
    const Vec3d before = total_of(vortices);
    const double scale = magnitudes_of(vortices);
    for (int step = 0; step < 20; ++step) vortices.exchange(0.05f, 1 / 24.0f);
    EXPECT_LT((total_of(vortices) - before).norm(), 1e-5 * before.norm());
    EXPECT_LT(magnitudes_of(vortices), 0.5 * scale); // neighbours align, and opposite ones cancel
}

TEST(Vortices, ExchangeIsStableForAnyRate)
{
    VortexParams params;
    params.exchange = 1e6f, params.exchange_distance = 1;
    Vortices vortices = vortices_of(random_vortices(300, 4), params);
    const double scale = magnitudes_of(vortices);
    for (int step = 0; step < 50; ++step) vortices.exchange(0.05f, 1);
    EXPECT_LT(magnitudes_of(vortices), scale);
}

TEST(Vortices, SpinningTurnsButKeepsMagnitudes)
{
    Vortices vortices = vortices_of(random_vortices(500, 5));
    const float voxel = 0.1f;
    const Topology topology = Topology::covering({-8, -8, -8}, {24, 24, 24});
    Field<float> shear[3], own[3];
    for (int a = 0; a < 3; ++a) shear[a].reset(topology, 0), own[a].reset(topology, 0);
    // u = (y, 0, 0): omega turns towards x where it has a component along y.
    for (int t = 0; t < topology.tile_count(); ++t)
        for (int c = 0; c < kTileCells; ++c)
            shear[0].tile(t)[c] = voxel * (static_cast<float>((topology.first_cell(t) + cell_in_tile(c)).y()) + 0.5f);
    const std::vector<Vec3f> before = omegas(vortices);
    vortices.spin(shear, own, voxel, 0.5f);
    for (size_t i = 0; i < before.size(); ++i) {
        const Vec3f& after = omegas(vortices)[i];
        EXPECT_NEAR(after.norm() / before[i].norm(), 1, 1e-5f);
        const Vec3f expected = (before[i] + 0.5f * Vec3f(before[i].y(), 0, 0)).normalized();
        EXPECT_LT((after.normalized() - expected).norm(), 1e-4f);
    }
}

TEST(Vortices, SameBitsForAnyNumberOfThreads)
{
    const auto run = [](int threads) {
        return with_threads(threads, [] {
            Vortices vortices = vortices_of(random_vortices(3000, 6));
            const Topology topology = Topology::covering({-2, -2, -2}, {42, 42, 42});
            Field<float> u[3];
            vortices.exchange(0.025f, 0.1f);
            vortices.velocity(topology, 0.025f, u);
            std::vector<float> all;
            for (const auto& component : u) all.insert(all.end(), component.values().begin(), component.values().end());
            return all;
        });
    };
    const auto one = run(1);
    EXPECT_TRUE(same_bits(one, run(2)));
    EXPECT_TRUE(same_bits(one, run(3)));
}

TEST(Vortices, SpawnOnlyWhereSmokeIsCalm)
{
    VortexParams params;
    params.count = 1000, params.speed = 0.5f, params.radius = 0.2f;
    Particles markers;
    Random random(8);
    for (int i = 0; i < 20000; ++i) {
        const float x = random.uniform(), y = random.uniform(), z = random.uniform();
        markers.P.emplace_back(2 * x, y, z);
    }
    markers.resize(markers.P.size());
    const float voxel = 0.05f;
    const Topology topology = tiles_around(markers, voxel, 1);
    ParticleIndex index;
    sort_by_tile(markers, topology, voxel, index);
    Field<float> density(topology, 1), energy(topology, 0);
    for (int t = 0; t < topology.tile_count(); ++t)
        for (int c = 0; c < kTileCells; ++c)
            if ((topology.first_cell(t) + cell_in_tile(c)).x() >= 20) energy.tile(t)[c] = 1; // beyond x = 1
    Vortices vortices(params);
    vortices.spawn({markers, index, density, energy, 0.5f, voxel}, 1);
    ASSERT_GT(vortices.size(), 10u);
    for (size_t i = 0; i < vortices.size(); ++i) {
        EXPECT_LE(vortices.particles().P[i].x(), 1.0f);
        EXPECT_NEAR(sigmas(vortices)[i], params.radius, params.radius * params.variation * 1.001f);
        EXPECT_NEAR(omegas(vortices)[i].norm(), params.strength, params.strength * params.variation * 1.001f);
    }
    vortices.spawn({markers, index, density, energy, 2, voxel}, 2); // smoke too thin
    const size_t count = vortices.size();
    vortices.spawn({markers, index, density, energy, 2, voxel}, 3);
    EXPECT_EQ(vortices.size(), count);
}

} // namespace

} // namespace spindrift
