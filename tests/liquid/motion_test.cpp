// The velocity in the cache is the particle's displacement per time.
#include "liquid/scenes.h"
#include "spindrift/surface/surface.h"

#include <gtest/gtest.h>
#include <map>

namespace spindrift {
namespace {

// A column of water falls against a post and the far wall.
LiquidParams dam_and_post(Transfer transfer)
{
    LiquidParams p;
    p.voxel = 0.04f, p.transfer = transfer;
    p.domain = closed_domain(Vec3f(0, 0, 0), Vec3f(1.6f, 1, 0.6f));
    p.sources = {box_source(Vec3f(0, 0, 0), Vec3f(0.45f, 0.55f, 0.6f))};
    ColliderParams post;
    post.min = Vec3f(0.95f, 0, 0.22f), post.max = Vec3f(1.1f, 0.4f, 0.38f);
    p.colliders = {post};
    return p;
}

using Places = std::map<int32_t, Vec3f>;
Places places_of(const Particles& particles)
{
    Places places;
    for (size_t i = 0; i < particles.size(); ++i) places[particles.id[i]] = particles.P[i];
    return places;
}

struct Misfit {
    size_t particles = 0, off = 0, false_ones = 0; // all; off by more than 10%; off by more than 2 m/s
    float worst = 0;

    void add(const Particles& now, const Places& before)
    {
        for (size_t i = 0; i < now.size(); ++i) {
            const auto from = before.find(now.id[i]);
            if (from == before.end()) continue;
            const Vec3f motion = kFps * (now.P[i] - from->second);
            const float error = (now.v[i] - motion).norm();
            ++particles, off += error > 0.1f * motion.norm() + 1e-4f, false_ones += error > 2;
            worst = std::max(worst, error);
        }
    }
    double share(size_t count) const { return static_cast<double>(count) / static_cast<double>(particles); }
    void print(const char* what) const
    {
        std::printf("%s: %.2f%% off by more than 10%%, %.3f%% by more than 2 m/s, worst %.2f m/s\n", what,
                    100 * share(off), 100 * share(false_ones), static_cast<double>(worst));
    }
};

TEST(Motion, WrittenVelocityIsTheDisplacementPerTime)
{
    for (const Transfer transfer : {Transfer::flip, Transfer::apic, Transfer::pic}) {
        const auto liquid = started_liquid(dam_and_post(transfer));
        Misfit written, carried;
        for (int frame = 0; frame < 24; ++frame) {
            const Places before = places_of(liquid->particles());
            liquid->advance();
            carried.add(liquid->particles(), before);
            const Particles solver = liquid->particles();
            liquid->show_motion([&](const Particles& particles) {
                EXPECT_FALSE(particles.find<Vec3f>(kMotion));
                written.add(particles, before);
            });
            EXPECT_TRUE(same_bits(solver, liquid->particles())) << "the solver's state is left alone";
        }
        written.print("written"), carried.print("carried by the solver");
        EXPECT_LT(written.share(written.off), 0.001);
        EXPECT_EQ(written.false_ones, 0u);
        // Particles stopped by walls do not accumulate velocity.
        EXPECT_LT(carried.share(carried.false_ones), 0.005);
        EXPECT_LT(carried.worst, 8);
    }
}

// Where streams meet, particles of both are side by side. Vertices have the mean of those around them.
TEST(Motion, NeighbouringVerticesHaveSimilarVelocities)
{
    const LiquidParams p = dam_and_post(Transfer::flip);
    const auto liquid = started_liquid(p);
    size_t edges = 0, torn = 0;
    float worst = 0;
    for (int frame = 1; frame <= 24; ++frame) {
        liquid->advance();
        if (frame % 3 != 0) continue;
        liquid->show_motion([&](const Particles& particles) {
            const Mesh mesh = make_surface(particles, 0.5f * p.voxel, {}, Box3f{*p.domain.min, *p.domain.max}).mesh;
            for (const Vec3i& t : mesh.triangles)
                for (int k = 0; k < 3; ++k) {
                    const auto v = [&](int corner) { return mesh.velocities[t[corner % 3]]; };
                    const float apart = (v(k) - v(k + 1)).norm();
                    ++edges, torn += apart > 2, worst = std::max(worst, apart);
                }
        });
    }
    const double share = static_cast<double>(torn) / static_cast<double>(edges);
    std::printf("%.3f%% of edges have ends that differ by more than 2 m/s, worst %.1f m/s\n", 100 * share,
                static_cast<double>(worst));
    EXPECT_LT(share, 0.002);
    EXPECT_LT(worst, 6);
}

TEST(Motion, NewParticlesHaveTheirInitialVelocity)
{
    LiquidParams p;
    p.voxel = 0.05f, p.gravity = Vec3f::Zero(), p.keep_volume = false;
    SourceParams jet = box_source(Vec3f(0, 0, 0), Vec3f(0.2f, 0.2f, 0.2f));
    jet.mode = SourceParams::Mode::flow, jet.velocity = Vec3f(3, 0, 0);
    p.sources = {jet};
    const auto liquid = started_liquid(p);
    for (int frame = 0; frame < 4; ++frame) liquid->advance();
    liquid->show_motion([&](const Particles& particles) {
        EXPECT_GT(particles.size(), 600u);
        for (const Vec3f& v : particles.v) EXPECT_LT((v - jet.velocity).norm(), 0.15f);
    });
}

TEST(Motion, ExcludesJumpsMadeByHooks)
{
    LiquidParams p;
    p.voxel = 0.05f, p.gravity = Vec3f::Zero(), p.keep_volume = false;
    SourceParams block = box_source(Vec3f(0, 0, 0), Vec3f(0.3f, 0.2f, 0.2f));
    block.velocity = Vec3f(2, 0, 0);
    p.sources = {block};
    const auto liquid = started_liquid(p);
    size_t jumps = 0;
    liquid->set_hooks({{}, [&](Particles& particles, float, float) {
                           std::vector<uint8_t> keep(particles.size(), 1);
                           keep[0] = 0;
                           for (Vec3f& x : particles.P)
                               if (x.x() > 0.5f) x.x() -= 1, ++jumps;
                           remove_particles(particles, keep);
                       }});
    for (int frame = 0; frame < 6; ++frame) {
        liquid->advance();
        liquid->show_motion([&](const Particles& particles) {
            for (const Vec3f& v : particles.v) EXPECT_LT((v - block.velocity).norm(), 0.2f);
        });
    }
    EXPECT_GT(jumps, 10u);
}

} // namespace
} // namespace spindrift
