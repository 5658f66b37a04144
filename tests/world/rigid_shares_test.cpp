#include "spindrift/world/rigid_shares.h"

#include "base/determinism.h"
#include "spindrift/base/random.h"
#include "spindrift/bodies/mass.h"

#include <gtest/gtest.h>

namespace spindrift {
namespace {

constexpr float kVoxel = 0.1f;

RigidSolid solid_of(const ShapeParams& params)
{
    std::vector<RigidSolid::Part> parts = {{Shape(params, "a test")}};
    parts[0].offset = -parts[0].shape.pivot();
    return RigidSolid(parts);
}

ShapeParams box_of(const Vec3f& size)
{
    ShapeParams p;
    p.min = -0.5f * size, p.max = 0.5f * size;
    return p;
}

ShapeParams ball_of(float radius)
{
    ShapeParams p;
    p.shape = ShapeParams::Kind::sphere, p.radius = radius;
    return p;
}

RigidMotion turned(const Vec3d& position, const Vec3d& axis, double angle)
{
    RigidMotion m;
    m.position = position;
    m.orientation = Eigen::Quaterniond(Eigen::AngleAxisd(angle, axis.normalized()));
    return m;
}

// Total volume of all fractions: of cells, and of the boxes around the faces of each axis.
std::array<double, 4> volumes(const RigidShares& shares, size_t solid)
{
    std::array<double, 4> sum{};
    for (const RigidShares::Tile& tile : shares.tiles(solid))
        for (int c = 0; c < kTileCells; ++c) {
            sum[0] += static_cast<double>(tile.cell[c]);
            for (size_t a = 0; a < 3; ++a) sum[a + 1] += static_cast<double>(tile.face[a][c]);
        }
    for (double& v : sum) v *= std::pow(static_cast<double>(kVoxel), 3);
    return sum;
}

TEST(RigidShares, AddUpToTheVolumeForAnyPose)
{
    const Topology topology = Topology::covering(Vec3i::Constant(-16), Vec3i::Constant(16));
    const Vec3f size(1, 0.8f, 1.2f);
    const struct {
        ShapeParams params;
        double volume;
    } solids[] = {{box_of(size), static_cast<double>(size.prod())}, {ball_of(0.5f), 4 * kPi / 3 * 0.125}};
    for (const auto& [params, volume] : solids)
        for (int k = 0; k < 5; ++k) {
            std::vector<RigidSolid> one = {solid_of(params)};
            one[0].move_to(turned(Vec3d(0.013 * k, 0.027 * k, -0.031 * k), Vec3d(1, k, 2 - k), 0.4 * k));
            RigidShares shares;
            shares.update(topology, one, kVoxel);
            for (const double found : volumes(shares, 0)) EXPECT_NEAR(found / volume, 1, 2e-3) << "place " << k;
        }
}

TEST(RigidShares, AreExactForABoxAlongTheGrid)
{
    const Topology topology = Topology::covering(Vec3i::Constant(-8), Vec3i::Constant(8));
    std::vector<RigidSolid> one = {solid_of(box_of(Vec3f::Constant(0.8f)))};
    one[0].move_to(turned(Vec3d(0, 0.03, 0), Vec3d::UnitX(), 0)); // from -0.37 to 0.43: 3.7 cells down, 4.3 up
    RigidShares shares;
    shares.update(topology, one, kVoxel);
    const auto at = [&](const Vec3i& cell, int axis) {
        const RigidShares::Tile* tile = shares.find(0, topology.find(tile_of_cell(cell)));
        const int o = offset_of_cell(cell);
        return axis < 0 ? tile->cell[o] : tile->face[axis][o];
    };
    EXPECT_NEAR(at(Vec3i(0, -4, 0), -1), 0.7, 1e-4);
    EXPECT_NEAR(at(Vec3i(0, 4, 0), -1), 0.3, 1e-4);
    EXPECT_NEAR(at(Vec3i(0, -4, 0), 1), 0.2, 1e-4) << "from half a cell below the face at -4 to half a cell above";
    EXPECT_NEAR(at(Vec3i(0, 4, 0), 1), 0.8, 1e-4);
    EXPECT_EQ(at(Vec3i(0, 0, 0), 0), 1);
}

TEST(RigidShares, OfOverlappingSolidsNeverExceedOne)
{
    const Topology topology = Topology::covering(Vec3i::Constant(-16), Vec3i::Constant(16));
    std::vector<RigidSolid> two = {solid_of(ball_of(0.5f)), solid_of(ball_of(0.5f))};
    two[0].move_to(turned(Vec3d(-0.4, 0, 0), Vec3d::UnitX(), 0));
    two[1].move_to(turned(Vec3d(0.4, 0, 0), Vec3d::UnitX(), 0));
    RigidShares shares;
    shares.update(topology, two, kVoxel);
    float most = 0;
    for (const int tile : shares.touched())
        for (int c = 0; c < kTileCells; ++c) {
            float sum = 0;
            for (size_t b = 0; b < 2; ++b)
                if (const RigidShares::Tile* share = shares.find(b, tile)) sum += share->cell[c];
            most = std::max(most, sum);
        }
    EXPECT_NEAR(most, 1, 1e-5);
}

TEST(RigidSolid, CarriesFixedPoints)
{
    RigidSolid solid = solid_of(box_of(Vec3f(1, 1, 1)));
    const RigidMotion first = turned(Vec3d(1, 2, 3), Vec3d(1, 1, 0), 0.3),
                      then = turned(Vec3d(1, 2.5, 3), Vec3d(0, 1, 1), 1);
    solid.move_to(first), solid.move_to(then);
    const Vec3d in_body(0.4, -0.2, 0.7);
    const Vec3d before = first.position + first.orientation * in_body, now = then.position + then.orientation * in_body;
    EXPECT_LT((solid.carried(before.cast<float>()) - now.cast<float>()).norm(), 1e-5);
    EXPECT_NEAR(solid.distance(now.cast<float>()), 0.2, 1e-5);
}

TEST(RigidSolid, DistancesOfEightPointsEqualSingleDistances)
{
    ShapeParams capsule;
    capsule.shape = ShapeParams::Kind::capsule, capsule.radius = 0.2f;
    std::vector<RigidSolid::Part> parts = {
        {Shape(box_of(Vec3f(1, 0.4f, 0.6f)), "a test")}, {Shape(ball_of(0.3f), "a test")}, {Shape(capsule, "a test")}};
    parts[1].offset = Vec3f(0.5f, 0.2f, 0);
    parts[2].rotation = Eigen::AngleAxisf(0.7f, Vec3f(1, 2, 0).normalized()).toRotationMatrix();
    RigidSolid solid(parts);
    solid.move_to(turned(Vec3d(0.3, 0.1, -0.2), Vec3d(1, 0, 2), 0.9));
    Random random(5);
    for (int n = 0; n < 200; ++n) {
        Vec3f x[kTileSize];
        for (Vec3f& p : x)
            for (int a = 0; a < 3; ++a) p[a] = 3 * random.uniform() - 1.5f;
        const Row d = solid.distances(load_row3(x, kTileSize));
        for (int k = 0; k < kTileSize; ++k) ASSERT_NEAR(d[k], solid.distance(x[k]), 1e-6f);
    }
}

TEST(RigidSolid, VelocityIsTheDerivativeOfItsMotion)
{
    // Compare with a short step of the motion.
    RigidSolid solid = solid_of(box_of(Vec3f(1, 1, 1)));
    RigidMotion m = turned(Vec3d(0, 1, 0), Vec3d(1, 0, 2), 0.5);
    m.velocity = Vec3d(0.3, -0.2, 0.1), m.spin = Vec3d(0.5, 1, -2);
    solid.move_to(m);
    const double dt = 1e-4;
    RigidMotion later = m;
    later.position += dt * m.velocity;
    later.orientation = Eigen::Quaterniond(Eigen::AngleAxisd(dt * m.spin.norm(), m.spin.normalized())) * m.orientation;
    const Vec3d X(0.3, 0.4, -0.1);
    const Vec3d x = m.position + m.orientation * X, y = later.position + later.orientation * X;
    EXPECT_LT((solid.velocity(x.cast<float>()) - ((y - x) / dt).cast<float>()).norm(), 1e-3);
    EXPECT_GE(solid.speed(), solid.velocity(x.cast<float>()).cwiseAbs().maxCoeff());
}

} // namespace
} // namespace spindrift
