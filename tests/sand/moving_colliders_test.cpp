#include "sand/moving_sands.h"

#include <gtest/gtest.h>

namespace spindrift {

namespace {

// Coulomb friction of 0.6 (that of the sand) takes 0.07 s to accelerate it to the speed of the belt, while it falls
// behind by 1.4 cm; the block slumps meanwhile.
TEST(MovingColliders, BeltCarriesSand)
{
    for_both_models(belt(0.4f, 1, 0), [](auto& sand, const char* model) {
        const MeanMotion start(grains_of(sand));
        for (int f = 0; f < 12; ++f) sand.advance();
        const MeanMotion end(grains_of(sand));
        EXPECT_NEAR(end.velocity.x(), 0.4, 0.01) << model;
        EXPECT_GT(end.place.x() - start.place.x(), 0.2 - 0.03) << model;
        EXPECT_LT(end.place.x() - start.place.x(), 0.2) << model;
    });
}

TEST(MovingColliders, SandSlidesOnASmoothBeltAndSticksToAStickyOne)
{
    for_both_models(belt(0.4f, 0, 0), [](auto& sand, const char* model) {
        for (int f = 0; f < 8; ++f) sand.advance();
        EXPECT_NEAR(MeanMotion(grains_of(sand)).velocity.x(), 0, 0.01) << model;
    });
    for_both_models(belt(0.4f, 0, 1), [](auto& sand, const char* model) {
        for (int f = 0; f < 12; ++f) sand.advance();
        EXPECT_NEAR(MeanMotion(grains_of(sand)).velocity.x(), 0.4, 0.02) << model;
    });
}

TEST(MovingColliders, SandInATurningDrumStandsAtItsAngleOfRepose)
{
    const Drum drum(0.2f, 0.02f, 0.009f);
    const double repose = angle_of_friction(0.5);
    for_both_models(drum.scene, [&](auto& sand, const char* model) {
        const double mass = MeanMotion(grains_of(sand)).mass;
        EXPECT_NEAR(drum.mean_angle(sand, 72, 24), repose, 0.15 * repose) << model;
        EXPECT_NEAR(MeanMotion(grains_of(sand)).mass, mass, 1e-6 * mass) << model;
    });
}

// Spurious cohesion or pressure matters more the less friction there is, and the fewer cells flow.
TEST(MovingColliders, FluidSandStandsAtItsAngleOfReposeInAnyDrum)
{
    for (const auto& [alpha, radius, voxel, froude] :
         {std::tuple(0.3f, 0.2f, 0.02f, 0.009f), std::tuple(0.4f, 0.2f, 0.02f, 0.009f),
          std::tuple(0.3f, 0.2f, 0.0125f, 0.009f), std::tuple(0.3f, 0.2f, 0.02f, 0.004f),
          std::tuple(0.5f, 0.13f, 0.02f, 0.009f)}) {
        const Drum drum(radius, voxel, froude, alpha);
        const double repose = angle_of_friction(static_cast<double>(alpha));
        const auto sand = drum.scene.start_fluid();
        EXPECT_NEAR(drum.mean_angle(*sand, 96, 48), repose, 0.15 * repose)
            << alpha << " " << radius << " " << voxel << " " << froude;
    }
}

// Bounds of friction enlarged by 15% made slopes a fifth too steep at low friction.
TEST(MovingColliders, GrainsStandAtTheirAngleOfReposeInAnyDrum)
{
    for (const auto& [alpha, radius, froude] : {std::tuple(0.3f, 0.2f, 0.009f), std::tuple(0.4f, 0.2f, 0.009f),
                                                std::tuple(0.3f, 0.2f, 0.004f), std::tuple(0.3f, 0.13f, 0.009f)}) {
        const Drum drum(radius, 0.02f, froude, alpha);
        const double repose = angle_of_friction(static_cast<double>(alpha));
        const auto sand = drum.scene.start();
        EXPECT_NEAR(drum.mean_angle(*sand, 96, 48), repose, 0.15 * repose) << alpha << " " << radius << " " << froude;
    }
}

TEST(MovingColliders, SandMovesWithAShakenBoxAndComesToRest)
{
    const SandScene scene = shaken_box();
    const Shape box(scene.params.colliders[0], "the box");
    for_both_models(scene, [&](auto& sand, const char* model) {
        const MeanMotion start(grains_of(sand));
        double farthest = 0;
        float deepest = 0;
        for (int f = 1; f <= 36; ++f) {
            sand.advance();
            const auto frame = static_cast<float>(1 + f);
            const Particles grains = grains_of(sand);
            const double at = MeanMotion(grains).place.x() - start.place.x();
            farthest = std::max(farthest, std::abs(at - static_cast<double>(box.placed(Vec3f::Zero(), frame).x())));
            for (const Vec3f& x : grains.P) deepest = std::max(deepest, -box.distance(x, frame));
        }
        const Particles grains = grains_of(sand);
        const MeanMotion end(grains);
        double square = 0;
        for (const Vec3f& v : grains.v) square += static_cast<double>(v.squaredNorm());
        EXPECT_LT(farthest, 0.03) << model; // it sways
        EXPECT_LT(deepest, 1e-3f) << model;
        EXPECT_NEAR(end.mass, start.mass, 1e-6 * start.mass) << model;
        EXPECT_LT(std::sqrt(square / static_cast<double>(grains.size())), 0.03) << model;
    });
}

TEST(MovingColliders, BladePushesAHeapInFrontOfItself)
{
    const Blade blade;
    for_both_models(blade.scene, [](auto& sand, const char* model) {
        const double mass = MeanMotion(grains_of(sand)).mass;
        constexpr int kFrames = 32;
        for (int f = 0; f < kFrames; ++f) sand.advance();
        const Particles grains = grains_of(sand);
        EXPECT_NEAR(MeanMotion(grains).mass, mass, 1e-6 * mass) << model;
        EXPECT_EQ(Blade::behind(grains, kFrames), 0) << model;
        // The blade has swept a section of 0.024 m2: a heap of 0.03 m above the layer over 0.4 m.
        EXPECT_GT(Blade::height(grains, kFrames, 0.1f), 1.8 * static_cast<double>(Blade::kDepth)) << model;
        EXPECT_GT(Blade::height(grains, kFrames, 0.1f), 1.3 * Blade::height(grains, kFrames, 0.4f)) << model;
    });
}

// Regression: the bounds of friction on a wall were NaN without motion and gravity.
TEST(MovingColliders, SandOnAFloorWithoutGravityStaysAtRest)
{
    SandScene scene(0.5f, Vec3f(-0.1f, 0, -0.1f), Vec3f(0.1f, 0.2f, 0.1f));
    scene.params.gravity = Vec3f::Zero();
    scene.fill_box(Vec3f(-0.1f, 0, -0.1f), Vec3f(0.1f, 0.08f, 0.1f));
    for_both_models(scene, [](auto& sand, const char* model) {
        const MeanMotion start(grains_of(sand));
        for (int f = 0; f < 3; ++f) sand.advance();
        const MeanMotion end(grains_of(sand));
        EXPECT_LT((end.place - start.place).norm(), 2e-3) << model;
        EXPECT_LT(end.velocity.norm(), 1e-2) << model;
    });
}

} // namespace

} // namespace spindrift
