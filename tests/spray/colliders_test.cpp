#include "io/temp_folder.h"
#include "spray/sprays.h"

#include <fstream>

namespace spindrift {

namespace {

SprayColliderParams box(const Vec3f& min, const Vec3f& max, SprayColliderParams::Contact contact)
{
    SprayColliderParams c;
    c.min = min, c.max = max, c.contact = contact;
    return c;
}

SprayParams with(const SprayColliderParams& collider)
{
    SprayParams params;
    params.gravity = Vec3f::Zero(), params.drag = 0, params.colliders = {collider};
    return params;
}

using Contact = SprayColliderParams::Contact;

TEST(SprayColliders, NothingPassesAThinWall)
{
    // A wall of 1 mm in the path of droplets that move up to 2 m in a step.
    SprayColliderParams wall = box(Vec3f(0, -9, -9), Vec3f(1e-3f, 9, 9), Contact::bounce);
    for (const Contact contact : {Contact::bounce, Contact::stick, Contact::die}) {
        wall.contact = contact;
        Particles p = random_droplets(5000, 0.5f, 100, 2e-3f, 20, 1);
        for (size_t i = 0; i < p.size(); ++i) p.P[i].x() = -1 + p.P[i].x();
        SprayParams params = with(wall);
        params.collisions = contact == Contact::bounce;
        const auto spray = started_spray(params, p);
        for (int frame = 0; frame < 4; ++frame) {
            spray->advance();
            for (const Vec3f& x : spray->particles().P)
                ASSERT_TRUE(x.x() < 1e-5f || x.cwiseAbs().tail<2>().maxCoeff() > 8.9f);
        }
        EXPECT_EQ(spray->particles().size() < 4000u, contact == Contact::die);
    }
}

TEST(SprayColliders, AFastWallPushesDropletsAlong)
{
    SprayColliderParams wall = box(Vec3f(-1, -1, -1), Vec3f(-0.99f, 1, 1), Contact::bounce);
    wall.translate = {{0, 0, 0, 0}, {1, 2, 0, 0}}; // 48 m/s for a frame
    wall.restitution = 0;
    const auto spray = started_spray(with(wall), random_droplets(2000, 0.5f, 0, 1e-3f, 1, 2));
    spray->advance();
    for (const Vec3f& x : spray->particles().P) EXPECT_GT(x.x(), 1.0f);
}

// A plate of 1 mm, or two of them 4 mm apart, that falls, rises or turns below falling droplets, which also collide
// with each other there. Droplet radii are up to 6 mm.
TEST(SprayColliders, NothingPassesAMovingThinPlate)
{
    constexpr float kThickness = 1e-3f, kGap = 4e-3f, kWide = 20;
    for (const float rise : {-0.2f, -0.02f, 0.1f})   // [m/frame]
        for (const float turn : {0.0f, 4.0f, -9.0f}) // [deg/frame]
            for (const int plates : {1, 2}) {
                SprayParams params;
                params.max_radius = 0.05f;
                for (int k = 0; k < plates; ++k) {
                    const Vec3f middle(0, -static_cast<float>(k) * (kGap + kThickness), 0);
                    const Vec3f half(kWide, 0.5f * kThickness, kWide);
                    SprayColliderParams plate = box(middle - half, middle + half, Contact::bounce);
                    plate.pivot = Vec3f::Zero();
                    plate.translate = {{0, 0, 0, 0}, {100, 0, 100 * rise, 0}};
                    plate.rotate = {{0, 0, 0, 1, 0}, {100, 0, 0, 1, 100 * turn}};
                    params.colliders.push_back(plate);
                }
                const Shape plate(params.colliders[0], "a test");
                Particles p = random_droplets(2000, 0.5f, 5, 6e-3f, 20, 1);
                for (Vec3f& x : p.P) x.y() = std::abs(x.y()) + 0.0125f;
                const auto spray = started_spray(params, p);
                for (int frame = 1; frame <= 15; ++frame) {
                    spray->advance();
                    const auto now = static_cast<float>(frame);
                    const Vec3f middle = plate.placed(Vec3f::Zero(), now);
                    const Vec3f normal = plate.placed(Vec3f::UnitY(), now) - middle;
                    for (const Vec3f& x : spray->particles().P)
                        ASSERT_TRUE((x - middle).dot(normal) > 0 || (x - middle).norm() > 0.9f * kWide)
                            << rise << " m and " << turn << " degrees a frame, " << plates << " plates, frame "
                            << frame;
                }
            }
}

// An open mesh of two triangles, which has no inside, in the path of fast droplets from both sides.
TEST(SprayColliders, NothingPassesAnOpenMesh)
{
    const TempFolder folder;
    const std::string file = folder / "sheet.obj";
    std::ofstream(file) << "v -20 -2 -20\nv 20 2 -20\nv 20 2 20\nv -20 -2 20\nf 1 2 3\nf 1 3 4\n";
    SprayColliderParams sheet;
    sheet.shape = ShapeParams::Kind::mesh, sheet.file = file;
    const auto height = [](const Vec3f& x) { return x.y() - 0.1f * x.x(); };
    Particles p = random_droplets(4000, 0.5f, 20, 6e-3f, 20, 1);
    std::erase_if(p.P, [&](const Vec3f& x) { return std::abs(height(x)) < 0.01f; });
    const size_t count = p.P.size();
    p.v.resize(count), p.id.resize(count), p.attribute<float>(kRadiusAttribute).resize(count);
    for (size_t i = 0; i < count; ++i) p.id[i] = static_cast<int32_t>(i);
    std::vector<bool> above;
    for (const Vec3f& x : p.P) above.push_back(height(x) > 0);
    SprayParams params = with(sheet);
    params.collisions = false;
    Spray spray(params, {{}, {Shape(sheet, "a test", nullptr, true)}}, 24);
    spray.start(0);
    spray.add(std::move(p));
    for (int frame = 1; frame <= 8; ++frame) {
        spray.advance();
        ASSERT_EQ(spray.particles().size(), count);
        for (size_t i = 0; i < count; ++i)
            ASSERT_EQ(height(spray.particles().P[i]) > 0, above[spray.particles().id[i]]) << "frame " << frame;
    }
}

TEST(SprayColliders, BounceFollowsRestitutionAndFriction)
{
    SprayColliderParams floor;
    floor.shape = ShapeParams::Kind::half_space, floor.restitution = 0.5f, floor.friction = 0.25f;
    SprayParams params = with(floor);
    params.substeps = 1;
    const auto spray = started_spray(params, one_droplet(Vec3f(0, 0.5f, 0), Vec3f(4, -24, 0), 1e-3f));
    spray->advance(); // half of the step down, half of it up
    EXPECT_NEAR(spray->particles().v[0].x(), 3, 1e-3);
    EXPECT_NEAR(spray->particles().v[0].y(), 12, 1e-3);
    EXPECT_NEAR(spray->particles().P[0].y(), 0.25, 2e-3);
    EXPECT_EQ((*spray->particles().find<int32_t>(kOutcomeAttribute))[0], static_cast<int32_t>(Outcome::bounced));
}

TEST(SprayColliders, StuckDropletsMoveWithTheCollider)
{
    SprayColliderParams ball;
    ball.shape = ShapeParams::Kind::sphere, ball.contact = Contact::stick;
    ball.rotate = {{2, 0, 1, 0, 0}, {26, 0, 1, 0, 90}};
    SprayParams params = with(ball);
    params.gravity = Vec3f(0, -9.81f, 0);
    const auto spray = started_spray(params, one_droplet(Vec3f(1, 0.1f, 0), Vec3f(-30, 0, 0), 1e-3f));
    for (int frame = 0; frame < 2; ++frame) spray->advance();
    const Vec3f start = spray->particles().P[0];
    EXPECT_NEAR(start.norm(), 0.501, 1e-4);
    for (int frame = 0; frame < 24; ++frame) spray->advance();
    const Vec3f end = spray->particles().P[0]; // a quarter turn about y takes x to -z
    EXPECT_LT((end - Vec3f(start.z(), start.y(), -start.x())).norm(), 1e-3f);
    EXPECT_EQ((*spray->particles().find<int32_t>(kOutcomeAttribute))[0], static_cast<int32_t>(Outcome::stuck));
}

TEST(SprayColliders, DropletsRestOnAFloor)
{
    SprayColliderParams floor;
    floor.shape = ShapeParams::Kind::half_space;
    SprayParams params = with(floor);
    params.gravity = Vec3f(0, -9.81f, 0), params.collisions = false;
    Particles p = random_droplets(500, 0.4f, 0.5f, 1e-3f, 10, 3);
    for (Vec3f& x : p.P) x.y() += 0.35f; // some start in the floor
    const auto spray = started_spray(params, p);
    for (int frame = 0; frame < 72; ++frame) {
        spray->advance();
        for (const Vec3f& x : spray->particles().P) ASSERT_GT(x.y(), -1e-5f);
    }
    for (const Vec3f& x : spray->particles().P) EXPECT_LT(x.y(), 0.02f);
}

TEST(SprayColliders, DropletsOutsideTheDomainAreRemoved)
{
    SprayParams params;
    params.gravity = Vec3f::Zero(), params.drag = 0, params.domain.min = Vec3f(-1, -1, -1),
    params.domain.max = Vec3f(1, 1, 1);
    const auto spray = started_spray(params, random_droplets(5000, 0.9f, 10, 1e-4f, 1, 3));
    const SprayReport report = spray->advance();
    EXPECT_GT(report.removed, 500u);
    for (const Vec3f& x : spray->particles().P) EXPECT_LE(x.cwiseAbs().maxCoeff(), 1);
    for (int frame = 0; frame < 200; ++frame) spray->advance();
    EXPECT_LT(spray->particles().size(), 100u);
}

} // namespace

} // namespace spindrift
