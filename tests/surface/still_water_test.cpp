// The surface of still water.
#include "liquid/scenes.h"
#include "spindrift/surface/surface.h"
#include "surface/jittered.h"

#include <gtest/gtest.h>

namespace spindrift {
namespace {

struct Lumps {
    double mean = 0, rms = 0, peak = 0; // [mm]
};

// Heights of the upper surface, away from the walls.
Lumps lumps_of(const Particles& particles, float voxel, const Box3f& box, const SurfaceParams& params = {})
{
    const Surface surface = make_surface(particles, 0.5f * voxel, params, box);
    std::vector<double> heights;
    for (const Vec3f& x : surface.mesh.positions)
        if (x.y() > 0.1f && x.x() > 0.1f && x.x() < box.max.x() - 0.1f && x.z() > 0.1f && x.z() < box.max.z() - 0.1f)
            heights.push_back(1000 * static_cast<double>(x.y()));
    Lumps lumps;
    for (const double h : heights) lumps.mean += h / static_cast<double>(heights.size());
    for (const double h : heights) {
        lumps.rms += (h - lumps.mean) * (h - lumps.mean) / static_cast<double>(heights.size());
        lumps.peak = std::max(lumps.peak, std::abs(h - lumps.mean));
    }
    lumps.rms = std::sqrt(lumps.rms);
    return lumps;
}

TEST(StillWater, IsFlat)
{
    LiquidParams p;
    p.voxel = 0.02f;
    const Box3f box{Vec3f(0, 0, 0), Vec3f(0.6f, 0.5f, 0.6f)};
    p.domain = closed_domain(box.min, box.max);
    p.sources = {pool_source(0.21f)};
    const auto liquid = started_liquid(p);
    const auto say = [&](const char* when) {
        const Lumps lumps = lumps_of(liquid->particles(), p.voxel, box);
        std::printf("%s: height %.2f mm, rms %.3f mm, peak %.3f mm\n", when, lumps.mean, lumps.rms, lumps.peak);
        return lumps;
    };
    say("at the start");
    for (int frame = 0; frame < 12; ++frame) liquid->advance();
    say("after half a second");
    for (int frame = 0; frame < 12; ++frame) liquid->advance();
    const Lumps later = say("after a second");
    EXPECT_LT(later.peak, 0.3);
}

// Another depth, another voxel, walls that cut cells, and a surface grid finer than the particles.
TEST(StillWater, IsFlatAtOtherDepthsVoxelsAndWalls)
{
    LiquidParams p;
    p.voxel = 0.03f;
    const Box3f box{Vec3f(0, 0, 0), Vec3f(1.1f, 0.5f, 0.7f)};
    p.domain = closed_domain(box.min, box.max);
    p.sources = {pool_source(0.28f)};
    const auto liquid = started_liquid(p);
    for (int frame = 0; frame < 24; ++frame) liquid->advance();
    for (const float voxel : {0.5f, 1.0f}) {
        SurfaceParams params;
        params.voxel = 0.5f * voxel * p.voxel;
        const Lumps lumps = lumps_of(liquid->particles(), p.voxel, box, params);
        std::printf("%.1f spacings: height %.2f mm, rms %.3f mm, peak %.3f mm\n", static_cast<double>(voxel),
                    lumps.mean, lumps.rms, lumps.peak);
        EXPECT_LT(lumps.peak, 0.05 * 500 * static_cast<double>(p.voxel)); // relative to the spacing
    }
}

Particles particles_at(std::vector<Vec3f> positions)
{
    Particles particles;
    particles.resize(positions.size());
    particles.P = std::move(positions);
    return particles;
}

// A pool of jittered particles, 96 spacings long, stretched so that its surface has the heights `height`, around 12.
template <class Height> Mesh stretched_pool(uint64_t seed, const Height& height)
{
    const Box3f tank{Vec3f(0, 0, 0), Vec3f(96, 40, 48)};
    std::vector<Vec3f> positions = jittered({0, 0, 0}, {96, 12, 48}, seed, [](const Vec3f&) { return true; });
    for (Vec3f& x : positions) x.y() *= height(x) / 12;
    return make_surface(particles_at(std::move(positions)), 1, {}, tank).mesh;
}

// The share of a ripple's amplitude that the mesh shows.
double kept_of_ripple(float wavelength, float amplitude)
{
    double kept = 0;
    constexpr int kPools = 4;
    for (uint64_t seed = 0; seed < kPools; ++seed) {
        const auto wave = [&](const Vec3f& x) { return std::cos(2 * static_cast<float>(kPi) * x.x() / wavelength); };
        const Mesh mesh = stretched_pool(seed, [&](const Vec3f& x) { return 12 + amplitude * wave(x); });
        double product = 0, square = 0;
        for (const Vec3f& x : mesh.positions) {
            if (x.y() < 6 || x.x() < 4 || x.x() > 92 || x.z() < 4 || x.z() > 44) continue;
            product += static_cast<double>(wave(x) * (x.y() - 12)), square += static_cast<double>(wave(x) * wave(x));
        }
        kept += product / square / static_cast<double>(amplitude) / kPools;
    }
    return kept;
}

// The fairing of the mesh alone keeps 61% of a wave of 8 spacings.
TEST(StillWater, RipplesOfAQuarterSpacingAreKept)
{
    const double kept_16 = kept_of_ripple(16, 0.25f), kept_8 = kept_of_ripple(8, 0.25f);
    std::printf("of ripples 0.25 spacings high, %.3f are kept at 16 spacings, %.3f at 8\n", kept_16, kept_8);
    EXPECT_GT(kept_16, 0.9);
    EXPECT_LT(kept_16, 1.15);
    EXPECT_GT(kept_8, 0.6);
}

TEST(StillWater, BallsKeepTheirVolume)
{
    // Values without flattening of calm water; 1 would be exact.
    const std::map<float, double> expected = {{2, 0.8997}, {4, 1.0269}, {8, 0.9937}, {16, 0.9983}};
    for (const auto& [radius, before] : expected) {
        const int balls = radius < 5 ? 24 : radius < 10 ? 8 : 2;
        double volume = 0;
        for (int k = 0; k < balls; ++k) {
            const auto shift = static_cast<float>(k);
            const Vec3f center(0.3f + 0.1f * shift, 0.2f + 0.07f * shift, 0.1f + 0.03f * shift);
            const Vec3i reach = Vec3i::Constant(static_cast<int>(radius) + 4);
            const auto inside = [&](const Vec3f& x) { return (x - center).norm() < radius; };
            const auto particles = particles_at(jittered(-reach, reach, 7 + static_cast<uint64_t>(k), inside));
            volume += volume_of(make_surface(particles, 1, {}).mesh) / (4 * kPi / 3 * std::pow(radius, 3)) / balls;
        }
        EXPECT_NEAR(volume, before, 0.005) << radius;
    }
}

TEST(StillWater, IsFlatAroundAPost)
{
    // A square post of 12 spacings, in the middle of the pool.
    const Box3f tank{Vec3f(0, 0, 0), Vec3f(96, 40, 96)};
    const auto in_post = [](const Vec3f& x) { return std::abs(x.x() - 48) < 6 && std::abs(x.z() - 48) < 6; };
    const Mesh mesh =
        make_surface(particles_at(jittered({0, 0, 0}, {96, 20, 96}, 5, [&](const Vec3f& x) { return !in_post(x); })), 1,
                     {}, tank)
            .mesh;
    EXPECT_TRUE(is_closed(mesh));
    EXPECT_NEAR(volume_of(mesh) / (20 * (96 * 96 - 144)), 1, 0.01);
    double sum = 0, square = 0, count = 0;
    for (const Vec3f& x : mesh.positions) {
        const float off = std::max(std::abs(x.x() - 48), std::abs(x.z() - 48));
        if (x.y() < 15 || off < 10 || off > 44) continue;
        const auto height = static_cast<double>(x.y()) - 20;
        sum += height, square += height * height, count += 1;
    }
    const double rms = std::sqrt(square / count - sum * sum / (count * count));
    std::printf("around a post: rms %.4f spacings\n", rms);
    EXPECT_LT(rms, 0.035); // 0.066 without flattening of calm water
}

TEST(StillWater, WavesBlendIntoCalmWaterWithoutAStep)
{
    // Half of the pool is calm; in the other half the waves rise slowly to half a spacing.
    const Mesh mesh = stretched_pool(3, [](const Vec3f& x) {
        return 12 + 0.5f * clamp01((x.x() - 40) / 40) * std::sin(2 * static_cast<float>(kPi) * x.x() / 12);
    });
    float steepest = 0; // relative to the slope of the waves
    for (const Vec3i& t : mesh.triangles)
        for (int k = 0; k < 3; ++k) {
            const Vec3f a = mesh.positions[t[k]];
            const Vec3f b = mesh.positions[t[(k + 1) % 3]];
            const auto off_walls = [](const Vec3f& x) { return x.y() > 6 && x.x() > 4 && x.z() > 4 && x.z() < 44; };
            if (!off_walls(a) || !off_walls(b) || a.x() > 56) continue;
            const float length = (b - a).head<3>().norm();
            if (length > 0.3f) steepest = std::max(steepest, std::abs(b.y() - a.y()) / length);
        }
    std::printf("steepest slope between calm water and waves: %.3f\n", static_cast<double>(steepest));
    EXPECT_LT(steepest, 0.2f);
}

TEST(StillWater, BitIdenticalForAnyNumberOfThreads)
{
    const auto run = [](int threads) {
        return with_threads(threads, [] { return stretched_pool(1, [](const Vec3f&) { return 12.0f; }); });
    };
    const Mesh one = run(1);
    for (const int threads : {2, 7}) {
        const Mesh more = run(threads);
        EXPECT_EQ(one.positions, more.positions);
        EXPECT_EQ(one.normals, more.normals);
    }
}

} // namespace
} // namespace spindrift
