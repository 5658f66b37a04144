// Thick and elastic liquids hold together.
#include "liquid/scenes.h"
#include "spindrift/points/sort.h"

#include <gtest/gtest.h>
#include <map>
#include <numeric>

namespace spindrift {
namespace {

// The number of particles in pieces no larger than a cell's content. Pieces are more than a cell apart.
size_t crumbs_of(const Particles& particles, float voxel)
{
    std::map<std::array<int, 3>, std::vector<uint32_t>> cells;
    std::vector<uint32_t> piece(particles.size());
    std::iota(piece.begin(), piece.end(), 0u);
    const auto root = [&](uint32_t i) {
        while (piece[i] != i) i = piece[i] = piece[piece[i]];
        return i;
    };
    for (uint32_t i = 0; i < particles.size(); ++i) {
        const Vec3i c = cell_of(particles.P[i], 1 / voxel);
        cells[{c.x(), c.y(), c.z()}].push_back(i);
    }
    for (const auto& [c, here] : cells)
        for (int s = 0; s < 27; ++s) {
            const auto there = cells.find({c[0] + s / 9 - 1, c[1] + s / 3 % 3 - 1, c[2] + s % 3 - 1});
            if (there == cells.end()) continue;
            for (const uint32_t i : here)
                for (const uint32_t j : there->second)
                    if ((particles.P[i] - particles.P[j]).squaredNorm() < voxel * voxel) piece[root(i)] = root(j);
        }
    std::map<uint32_t, size_t> sizes;
    for (uint32_t i = 0; i < particles.size(); ++i) ++sizes[root(i)];
    size_t crumbs = 0;
    for (uint32_t i = 0; i < particles.size(); ++i) crumbs += sizes[root(i)] <= 8;
    return crumbs;
}

// The largest number of crumbs in any frame.
size_t most_crumbs(const LiquidParams& params, int frames)
{
    const auto liquid = started_liquid(params);
    size_t most = 0;
    for (int frame = 0; frame < frames; ++frame) {
        liquid->advance();
        most = std::max(most, crumbs_of(liquid->particles(), params.voxel));
    }
    std::printf("    %zu of %zu particles\n", most, liquid->particles().size());
    return most;
}

// A cube falls on a post and on the floor around it.
LiquidParams falling_cube(Transfer transfer)
{
    LiquidParams p;
    p.voxel = 0.025f, p.transfer = transfer;
    p.domain = closed_domain(Vec3f(-0.6f, 0, -0.4f), Vec3f(0.6f, 0.8f, 0.4f));
    p.sources = {box_source(Vec3f(-0.1f, 0.3f, -0.15f), Vec3f(0.2f, 0.6f, 0.15f))};
    p.sources[0].velocity = Vec3f(0, -1, 0);
    ColliderParams post;
    post.min = Vec3f(-0.05f, 0, -0.05f), post.max = Vec3f(0.05f, 0.2f, 0.05f);
    p.colliders = {post};
    return p;
}

class Crumbs : public testing::TestWithParam<Transfer> {};

TEST_P(Crumbs, JellyHardlySheds)
{
    LiquidParams p = falling_cube(GetParam());
    p.elasticity = 2000;
    EXPECT_LT(most_crumbs(p, 30), 60u);
}

TEST_P(Crumbs, StretchedGoopHoldsTogether)
{
    LiquidParams p = falling_cube(GetParam());
    p.elasticity = 500, p.yield_strain = 0.3f, p.relaxation = 5;
    EXPECT_LT(most_crumbs(p, 30), 40u);
}

// A jet of 10 Pa s falls on its own heap.
TEST_P(Crumbs, HoneyShedsNoSingleParticles)
{
    LiquidParams p;
    p.voxel = 0.02f, p.transfer = GetParam(), p.viscosity = 10;
    p.domain = closed_domain(Vec3f(-0.4f, 0, -0.4f), Vec3f(0.4f, 0.9f, 0.4f));
    SourceParams jet;
    jet.shape = ShapeParams::Kind::sphere, jet.center = Vec3f(0, 0.7f, 0), jet.radius = 0.07f;
    jet.mode = SourceParams::Mode::flow, jet.velocity = Vec3f(0, -1.5f, 0);
    p.sources = {jet};
    EXPECT_LT(most_crumbs(p, 30), 6u);
}

TEST_P(Crumbs, BlockOfTarStaysInOnePiece)
{
    LiquidParams p = falling_cube(GetParam());
    p.viscosity = 100;
    EXPECT_EQ(most_crumbs(p, 12), 0u);
}

INSTANTIATE_TEST_SUITE_P(Transfers, Crumbs, testing::Values(Transfer::flip, Transfer::apic));

} // namespace
} // namespace spindrift
