// Colliders, plates and bodies that cut a tracked surface.
#include "liquid/scenes.h"
#include "mesh/test_meshes.h"

#include <gtest/gtest.h>

namespace spindrift {

namespace {

constexpr float kVoxel = 0.05f;

LiquidParams tracked_pool(float height)
{
    LiquidParams params;
    params.voxel = kVoxel, params.surface = LiquidParams::Surface::tracked;
    params.domain = closed_domain({0, 0, 0}, {1, 0.8f, 0.6f});
    params.sources = {pool_source(height)};
    return params;
}

ColliderParams ball_collider(const Vec3f& center, float radius)
{
    ColliderParams ball;
    ball.shape = ShapeParams::Kind::sphere, ball.center = center, ball.radius = radius;
    return ball;
}

// How deep the deepest vertex is in what `distance` describes [m].
template <class Distance> float deepest(const Mesh& mesh, const Distance& distance)
{
    float depth = -kInfinity;
    for (const Vec3f& x : mesh.positions) depth = std::max(depth, -distance(x));
    return depth;
}

} // namespace

TEST(TrackedSolids, StillPoolEndsAtAPost)
{
    LiquidParams params = tracked_pool(0.4f);
    ColliderParams post;
    post.min = Vec3f(0.42f, -0.1f, 0.2f), post.max = Vec3f(0.63f, 1, 0.41f);
    params.colliders = {post};
    const Shape shape(post, "post");
    const double volume = 0.4 * (1 * 0.6 - 0.21 * 0.21);
    const auto liquid = started_liquid(params);
    for (int frame = 0; frame <= 12; ++frame, liquid->advance()) {
        const Mesh mesh = liquid->surface();
        EXPECT_TRUE(is_closed(mesh));
        EXPECT_LT(deepest(mesh, [&](const Vec3f& x) { return shape.distance(x, 0); }), 0.02f * kVoxel);
        EXPECT_NEAR(volume_of(mesh), volume, 0.01 * volume) << frame;
        EXPECT_NEAR(bounds_of(mesh).max.y(), 0.4f, 0.1f * kVoxel) << frame;
    }
}

TEST(TrackedSolids, MovingBallDisplacesThePool)
{
    LiquidParams params = tracked_pool(0.4f);
    ColliderParams ball = ball_collider({0.5f, 0.65f, 0.3f}, 0.15f);
    ball.translate = {{0, 0, 0, 0}, {12, 0.05f, -0.4f, 0}, {24, 0, 0, 0}}; // in and out again
    params.colliders = {ball};
    Shape shape(ball, "ball");
    const double volume = 0.4 * 0.6;
    const auto liquid = started_liquid(params);
    for (int frame = 0; frame <= 30; ++frame, liquid->advance()) {
        const Mesh mesh = liquid->surface();
        shape.prepare(static_cast<float>(frame));
        EXPECT_TRUE(is_closed(mesh));
        EXPECT_LT(deepest(mesh, [&](const Vec3f& x) { return shape.distance(x, static_cast<float>(frame)); }),
                  0.02f * kVoxel)
            << frame;
        EXPECT_NEAR(volume_of(mesh), volume, 0.03 * volume) << frame;
    }
}

TEST(TrackedSolids, ThinPlateHoldsADam)
{
    for (const float thickness : {0.002f, 0.04f}) {
        LiquidParams params = tracked_pool(0.4f);
        params.sources = {box_source({0, 0, 0}, {0.5f, 0.4f, 0.6f})};
        ColliderParams plate;
        plate.min = Vec3f(0.5f, -0.1f, -0.1f), plate.max = Vec3f(0.5f + thickness, 0.9f, 0.7f);
        params.colliders = {plate};
        const auto liquid = started_liquid(params);
        for (int frame = 0; frame <= 12; ++frame, liquid->advance()) {
            const Mesh mesh = liquid->surface();
            EXPECT_TRUE(is_closed(mesh));
            EXPECT_LT(bounds_of(mesh).max.x(), 0.5f + 0.02f * kVoxel) << thickness << ' ' << frame;
            EXPECT_NEAR(volume_of(mesh), 0.12, 0.03 * 0.12) << thickness << ' ' << frame;
        }
    }
}

TEST(TrackedSolids, FloatingBodyIsCutOut)
{
    LiquidParams params = tracked_pool(0.4f);
    BodyParams crate;
    crate.min = Vec3f(0.4f, 0.35f, 0.2f), crate.max = Vec3f(0.6f, 0.55f, 0.4f);
    crate.density = 400;
    params.bodies = {crate};
    params.sources = {box_source({0, 0, 0}, {1, 0.34f, 0.6f})};
    const double volume = 0.34 * 0.6;
    const auto liquid = started_liquid(params);
    for (int frame = 0; frame <= 16; ++frame, liquid->advance()) {
        const Mesh mesh = liquid->surface();
        EXPECT_TRUE(is_closed(mesh));
        const RigidSolid& body = liquid->bodies().solids()[0];
        EXPECT_LT(deepest(mesh, [&](const Vec3f& x) { return body.distance(x); }), 0.02f * kVoxel) << frame;
        EXPECT_NEAR(volume_of(mesh), volume, 0.03 * volume) << frame;
    }
}

TEST(TrackedLiquid, ASinkThatTakesAllLiquidTakesItsSurface)
{
    LiquidParams params = tracked_pool(0.4f);
    SinkParams sink;
    sink.min = Vec3f(-1, -1, -1), sink.max = Vec3f(2, 2, 2), sink.first_frame = 2;
    params.sinks = {sink};
    const auto liquid = started_liquid(params);
    for (int frame = 0; frame < 6; ++frame) liquid->advance();
    EXPECT_EQ(liquid->particles().size(), 0u);
    EXPECT_TRUE(liquid->surface().triangles.empty());
    EXPECT_EQ(liquid->state().surface.volume, 0) << "nothing to make up for";
}

// A pool whose height is no multiple of half a cell: particles tell it to about a tenth of a cell, the mesh much
// better.
TEST(TrackedLiquid, PressureSolveTakesTheSurfaceFromTheMesh)
{
    const float height = 0.417f;
    const auto error = [&](LiquidParams::Surface surface) { // of the distance next to the surface [cells]
        LiquidParams params = tracked_pool(height);
        params.surface = surface;
        const auto liquid = started_liquid(params);
        liquid->advance();
        const Field<float>& phi = liquid->surface_distance();
        const Topology& topology = phi.topology();
        float most = 0;
        for (int tile = 0; tile < topology.tile_count(); ++tile)
            for (int c = 0; c < kTileCells; ++c) {
                const Vec3f x =
                    kVoxel * ((topology.first_cell(tile) + cell_in_tile(c)).cast<float>() + Vec3f::Constant(0.5f));
                const float expected = (x.y() - height) / kVoxel;
                if (Box3f{Vec3f(0.2f, 0, 0.2f), Vec3f(0.8f, 1, 0.4f)}.contains(x) && std::abs(expected) < 1)
                    most = std::max(most, std::abs(phi.tile(tile)[c] - expected));
            }
        return most;
    };
    EXPECT_LT(error(LiquidParams::Surface::tracked), 0.02f);
    EXPECT_GT(error(LiquidParams::Surface::particles), 0.05f);
}

} // namespace spindrift
