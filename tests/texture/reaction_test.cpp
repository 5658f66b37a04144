#include "spindrift/texture/reaction.h"

#include "base/determinism.h"
#include "mesh/test_meshes.h"
#include "spindrift/base/random.h"
#include "texture/spots.h"

#include <gtest/gtest.h>

namespace spindrift {

TEST(SurfaceDiffusion, KeepsTheTotal)
{
    const Mesh mesh = rough_ball(4);
    SurfaceDiffusion diffusion(mesh);
    Random random(2);
    std::vector<float> x(mesh.positions.size());
    for (float& v : x) v = random.uniform() < 0.1f ? 1.0f : 0.0f;
    const double before = diffusion.total(x);
    for (int step = 0; step < 500; ++step) {
        diffusion.spread(step % 2 ? 1e-4f : 1e-2f, x);
        const auto [least, most] = std::ranges::minmax(x);
        EXPECT_TRUE(least > -1e-4f && most < 1.0001f); // no new extremes
    }
    EXPECT_NEAR(diffusion.total(x) / before, 1, 1e-5);
}

// Each iteration carries values to the next vertices only: from one end of a long strip to the other takes more of them
// than are allowed.
TEST(SurfaceDiffusion, CountsSolvesThatDoNotReachTheirTolerance)
{
    Mesh strip;
    constexpr int kLength = 5000;
    for (int i = 0; i < kLength; ++i) {
        strip.positions.emplace_back(static_cast<float>(i), 0, 0);
        strip.positions.emplace_back(static_cast<float>(i), 1, 0);
        if (i > 0) strip.triangles.emplace_back(2 * i - 2, 2 * i, 2 * i - 1);
        if (i > 0) strip.triangles.emplace_back(2 * i - 1, 2 * i, 2 * i + 1);
    }
    SurfaceDiffusion diffusion(strip);
    std::vector<float> x(strip.positions.size(), 0.0f);
    x[0] = 1;
    diffusion.spread(1, x);
    EXPECT_EQ(diffusion.unconverged(), 0);
    diffusion.spread(1e8f, x);
    EXPECT_EQ(diffusion.unconverged(), 1);
}

// The functions x, y and z on the unit sphere are eigenfunctions with eigenvalue 2.
TEST(SurfaceDiffusion, DecaysAsOnASphere)
{
    for (const bool rough : {false, true}) {
        const Mesh mesh = rough ? rough_ball(5) : sphere_mesh({0, 0, 0}, 1, 5);
        SurfaceDiffusion diffusion(mesh);
        std::vector<float> x;
        for (const Vec3f& place : mesh.positions) x.push_back(place.y());
        for (int step = 0; step < 10; ++step) diffusion.spread(0.05f, x);
        const double expected = std::pow(1 / (1 + 2 * 0.05), 10);
        double ratio = 0, most = 0;
        for (size_t i = 0; i < x.size(); ++i) {
            const double y = static_cast<double>(mesh.positions[i].y());
            ratio += static_cast<double>(x[i]) * y, most += y * y;
        }
        EXPECT_NEAR(ratio / most / expected, 1, rough ? 0.06 : 0.005); // slivers spread too fast
    }
}

TEST(Reaction, AsManySpotsOnAFinerMesh)
{
    for (const auto system : {ReactionParams::System::spots, ReactionParams::System::gray_scott}) {
        ReactionParams params;
        params.system = system;
        params.spacing = system == ReactionParams::System::spots ? 0.5f : 0.7f;
        int spots[2];
        for (const int finer : {0, 1}) {
            const Mesh mesh = sphere_mesh({0, 0, 0}, 1, 5 + finer);
            Morphogens values = started_reaction(mesh, params);
            react(mesh, params, {}, system == ReactionParams::System::spots ? 1500 : 3000, values);
            spots[finer] = spots_of(mesh, params, values);
        }
        // Spots in a hexagonal pattern at that distance cover 0.87 times its square each.
        const double expected = 4 * kPi / (0.866 * static_cast<double>(params.spacing * params.spacing));
        EXPECT_NEAR(spots[0] / double(spots[1]), 1, 0.15) << spots[0] << " and " << spots[1];
        EXPECT_NEAR(spots[1] / expected, 1, 0.3) << spots[1] << " of " << expected;
    }
}

TEST(Reaction, AnAttributeReplacesAParameter)
{
    const Mesh mesh = sphere_mesh({0, 0, 0}, 1, 5);
    ReactionParams params;
    params.spacing = 0.5f;
    std::vector<float> size;
    for (const Vec3f& x : mesh.positions) size.push_back(x.y() > 0 ? 0.5f : 0.25f);
    Morphogens values = started_reaction(mesh, params);
    react(mesh, params, {.spacing = &size}, 2000, values);
    Mesh upper = mesh, lower = mesh;
    std::erase_if(upper.triangles, [&](const Vec3i& t) { return mesh.positions[t[0]].y() < 0; });
    std::erase_if(lower.triangles, [&](const Vec3i& t) { return mesh.positions[t[0]].y() > 0; });
    Morphogens above = values, below = values;
    for (size_t i = 0; i < size.size(); ++i) (mesh.positions[i].y() > 0 ? below : above).a[i] = 0;
    EXPECT_GT(spots_of(lower, params, below), 2.5 * spots_of(upper, params, above));
}

// Where everything is even, both systems go to the steady state of the attributes, not to that of the parameters.
TEST(Reaction, AttributesSetTheSteadyState)
{
    const Mesh mesh = sphere_mesh({0, 0, 0}, 1, 2);
    const size_t count = mesh.positions.size();
    const auto all = [count](float value) { return std::vector<float>(count, value); };
    ReactionParams params;
    params.spacing = 1000;
    const std::vector<float> p1 = all(-0.025f), p2 = all(-0.06f), p3 = all(0.01f), substrate = all(3);
    Morphogens spots{all(1), all(1)};
    react(mesh, params, {.p1 = &p1, .p2 = &p2, .p3 = &p3, .substrate = &substrate}, 3000, spots);
    EXPECT_NEAR(spots.a[7], (0.06 + 0.01) / 0.025, 0.01); // of p1 a - p2 + p3 = 0
    EXPECT_NEAR(spots.b[7], 0.01 * 3 * 2.8 * 2.8 / 0.06, 0.05);

    params.system = ReactionParams::System::gray_scott;
    const std::vector<float> feed = all(0.06f), kill = all(0.03f);
    Morphogens fed{all(0.5f), all(0.3f)}, starved = fed;
    react(mesh, params, {.feed = &feed, .kill = &kill}, 3000, fed);
    const double food = 0.5 * (1 - std::sqrt(1 - 4 * 0.09 * 0.09 / 0.06)); // of a b = feed + kill
    EXPECT_NEAR(fed.b[7], food, 0.002);
    EXPECT_NEAR(fed.a[7], 0.09 / food, 0.005);
    react(mesh, params, {}, 3000, starved);
    EXPECT_LT(starved.a[7], 1e-3);
}

TEST(Reaction, GivesTheSameBitsForAnyNumberOfThreads)
{
    const auto run = [] {
        const Mesh mesh = rough_ball(5);
        ReactionParams params;
        params.spacing = 0.3f;
        Morphogens values = started_reaction(mesh, params);
        react(mesh, params, {}, 20, values);
        values.a.insert(values.a.end(), values.b.begin(), values.b.end());
        return values.a;
    };
    const std::vector<float> one = with_threads(1, run);
    for (const int threads : {2, 5}) EXPECT_TRUE(same_bits(one, with_threads(threads, run)));
}

// Whatever the parameters, values stay finite.
TEST(Reaction, StaysFinite)
{
    const Mesh mesh = rough_ball(3);
    for (const float extreme : {1e-7f, 1e-2f, 1e6f})
        for (const float rate : {-1.0f, -1e-4f})
            for (const auto system : {ReactionParams::System::spots, ReactionParams::System::gray_scott}) {
                ReactionParams params;
                params.system = system, params.spacing = extreme, params.p1 = rate, params.p2 = -1, params.speed = 2;
                params.feed = params.kill = -rate, params.substrate = 1000, params.p3 = 1;
                Morphogens values = started_reaction(mesh, params);
                react(mesh, params, {}, 50, values);
                for (size_t i = 0; i < values.a.size(); ++i)
                    EXPECT_TRUE(std::isfinite(values.a[i]) && std::isfinite(values.b[i]));
            }
}

} // namespace spindrift
