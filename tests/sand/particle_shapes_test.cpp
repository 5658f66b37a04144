#include "spindrift/sand/particle_shapes.h"

#include "spindrift/base/random.h"
#include "spindrift/sand/sand_grid.h"

#include <gtest/gtest.h>

using namespace spindrift;

namespace {

constexpr float kVoxel = 0.1f, kRadius = 0.25f * kVoxel, kWhole = 2;

Particles one_particle(const Mat3f& shape, float mass)
{
    Particles p;
    p.resize(1);
    p.P[0] = Vec3f(0.35f, 0.42f, 0.28f), p.v[0] = Vec3f(1, -2, 3);
    p.attribute<float>(kMass)[0] = mass, p.attribute<int32_t>(kMaterial);
    p.attribute<Vec3f>(kShapeDiagonal)[0] = shape.diagonal();
    p.attribute<Vec3f>(kShapeShear)[0] = Vec3f(shape(0, 1), shape(1, 2), shape(0, 2));
    return p;
}

Mat3f long_shape()
{
    // Semi-axes of 1.5, 1 and 0.9 radii, rotated.
    const Mat3f turn = (Eigen::AngleAxisf(0.4f, Vec3f(1, 2, 3).normalized())).toRotationMatrix();
    const Vec3f axes = Vec3f(1.5f, 1, 0.9f) * kRadius;
    return turn * axes.cwiseProduct(axes).asDiagonal() * turn.transpose();
}

} // namespace

TEST(ParticleShapes, StretchFollowsTheFlow)
{
    // A ball in a flow u = J x for a step: its surface becomes (I + J) x.
    Random random(3);
    Row3 J[3];
    Mat3f map = Mat3f::Identity();
    for (int i = 0; i < 3; ++i) {
        float j[3];
        for (float& x : j) x = random.uniform(-0.4f, 0.4f);
        J[i] = {splat(j[0]), splat(j[1]), splat(j[2])};
        map.row(i) += Vec3f(j[0], j[1], j[2]).transpose();
    }
    const Mat3f before = long_shape();
    const Vec3f diagonal = before.diagonal(), shear(before(0, 1), before(1, 2), before(0, 2));
    ShapeRows rows = ParticleShapes::load(&diagonal, &shear, 1);
    rows.stretch(J);
    Vec3f d, s;
    ParticleShapes::store(rows, &d, &s, 1);
    EXPECT_LT((shape_of(d, s) - map * before * map.transpose()).norm(), 1e-6f * before.norm());
}

TEST(ParticleShapes, MergingSplitHalvesRestoresTheParticle)
{
    const ParticleShapes shapes(kRadius, {kWhole});
    const Mat3f shape = long_shape();
    Particles p = one_particle(shape, kWhole);
    const Vec3f center = p.P[0], velocity = p.v[0];
    int next_id = 7;
    Mat3f gradient;
    gradient << 1, 2, 3, 4, 5, 6, 7, 8, 9;
    const std::vector<size_t> parents = shapes.split(p, {1}, {{gradient, Vec3f::Constant(1)}}, next_id);
    ASSERT_EQ(parents, std::vector<size_t>{0});
    ASSERT_EQ(p.size(), 2u);
    EXPECT_EQ(next_id, 8);
    const auto& mass = p.attribute<float>(kMass);
    EXPECT_EQ(mass[0] + mass[1], kWhole);
    EXPECT_LT((0.5f * (p.P[0] + p.P[1]) - center).norm(), 1e-7f);
    for (size_t i = 0; i < 2; ++i) // the velocity of the flow at their positions
        EXPECT_LT((p.v[i] - velocity - gradient * (p.P[i] - center)).norm(), 1e-5f);
    EXPECT_LT((0.5f * (p.v[0] + p.v[1]) - velocity).norm(), 1e-6f);

    // (5.43) restores the parent.
    Mat3f sum = Mat3f::Zero();
    for (size_t i = 0; i < 2; ++i) {
        const Vec3f way = p.P[i] - center;
        sum += 0.5f * (shape_of(p.attribute<Vec3f>(kShapeDiagonal)[i], p.attribute<Vec3f>(kShapeShear)[i]) +
                       way * way.transpose());
    }
    EXPECT_LT((sum - shape).norm(), 1e-5f * shape.norm());
}

TEST(ParticleShapes, MergingConservesMassMomentumAndCentre)
{
    const ParticleShapes shapes(kRadius, {kWhole});
    const float r2 = kRadius * kRadius;
    Particles p = one_particle(Vec3f(0.4f, 0.6f, 0.8f).asDiagonal() * r2, 0.5f);
    p.resize(2);
    p.P[1] = p.P[0] + Vec3f(0.6f, 0.1f, 0) * kRadius, p.v[1] = Vec3f(0, 1, 0), p.id[1] = 1;
    p.attribute<float>(kMass)[1] = 1, p.attribute<Vec3f>(kShapeDiagonal)[1] = Vec3f::Constant(0.8f * r2);
    const Vec3f center = (0.5f * p.P[0] + 1 * p.P[1]) / 1.5f, momentum = 0.5f * p.v[0] + 1 * p.v[1];
    SandGrid grid;
    grid.sort(p, kVoxel, Vec3f(0, -1, 0));
    EXPECT_EQ(shapes.merge(p, grid.index, grid.topology), 1u);
    remove_empty(p);
    ASSERT_EQ(p.size(), 1u);
    EXPECT_EQ(p.attribute<float>(kMass)[0], 1.5f);
    EXPECT_LT((p.P[0] - center).norm(), 1e-7f);
    EXPECT_LT((1.5f * p.v[0] - momentum).norm(), 1e-6f);
}
