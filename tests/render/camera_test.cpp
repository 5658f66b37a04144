// The camera: lens, roll, keyframes, depth of field and motion blur; and containers, which it looks into.
#include "spindrift/render/camera.h"

#include "mesh/test_meshes.h"
#include "render/smoke_samples.h"
#include "spindrift/base/parallel.h"
#include "spindrift/render/preview.h"
#include "spindrift/render/sampler.h"

#include <gtest/gtest.h>

namespace spindrift {
namespace {

const Box3f kCube{Vec3f(-1, 0, -1), Vec3f(1, 2, 1)};

// A camera on the z axis that looks at the origin from 10 m.
CameraParams on_axis()
{
    CameraParams params;
    params.position = Vec3f(0, 0, 10), params.target = Vec3f(0, 0, 0);
    return params;
}

// Dark bodies before white: nothing but their outlines counts.
RenderParams outlines(int samples = 64)
{
    RenderParams params;
    params.width = 128, params.height = 96, params.samples = samples;
    params.sky = RenderParams::Sky::uniform;
    params.floor = false, params.edges = false;
    params.solid_color = Vec3f(0, 0, 0);
    params.camera = on_axis();
    params.camera.fov = 20;
    return params;
}

// Where in the picture the darkness is, its variance in x and y, and how much there is [px, px2, px2].
struct Shade {
    double amount = 0;
    Eigen::Vector2d mean = Eigen::Vector2d::Zero(), variance = Eigen::Vector2d::Zero();
};
Shade shade_of(const Image& image)
{
    Shade shade;
    Eigen::Vector2d squares = Eigen::Vector2d::Zero();
    for (int y = 0; y < image.height; ++y)
        for (int x = 0; x < image.width; ++x) {
            const double dark = std::max(0.0, 1 - static_cast<double>(luminance(image.at(x, y))));
            const Eigen::Vector2d at(x + 0.5, y + 0.5);
            shade.amount += dark, shade.mean += dark * at, squares += dark * at.cwiseProduct(at);
        }
    shade.mean /= shade.amount;
    shade.variance = squares / shade.amount - shade.mean.cwiseProduct(shade.mean);
    return shade;
}

// ---------------------------------------------------------------------------------------------------------------- lens

TEST(Camera, FocalLengthAndSensorWidthGiveTheFieldOfView)
{
    CameraParams params = on_axis();
    params.focal_length = 50.0f;
    const Camera camera(params, kCube, 1920, 1080);
    // 36 mm behind a lens of 50 mm: 7.2 m at a distance of 10 m.
    EXPECT_NEAR(camera.project({3.6f, 0, 0}).x(), 1920, 0.05);
    EXPECT_NEAR(camera.project({-3.6f, 0, 0}).x(), 0, 0.05);
    EXPECT_NEAR(camera.project({0, 3.6f * 9 / 16, 0}).y(), 0, 0.05);
    params.sensor_width = 18;
    EXPECT_NEAR(Camera(params, kCube, 1920, 1080).project({1.8f, 0, 0}).x(), 1920, 0.05);
}

TEST(Camera, RollRotatesThePictureInTheOppositeDirection)
{
    CameraParams params = on_axis();
    params.roll = 90; // clockwise, from behind: what was above is now at the left
    const Camera camera(params, kCube, 200, 200);
    const Vec3f above = camera.project({0, 1, 0}), right = camera.project({1, 0, 0});
    EXPECT_LT(above.x(), 90);
    EXPECT_NEAR(above.y(), 100, 0.01);
    EXPECT_LT(right.y(), 90);
    const Ray ray = camera.ray(12.25f, 170.5f);
    const Vec3f seen = camera.project(ray.origin + 4.5f * ray.direction);
    EXPECT_NEAR(seen.x(), 12.25f, 0.01f);
    EXPECT_NEAR(seen.y(), 170.5f, 0.01f);
}

TEST(Camera, AllRaysThroughTheLensMeetInFocus)
{
    CameraParams params = on_axis();
    params.focal_length = 50.0f, params.f_stop = 2, params.focus = 4.0f;
    const Camera camera(params, kCube, 100, 80);
    EXPECT_NEAR(camera.lens_radius(), 0.0125, 1e-6);
    const Ray straight = camera.ray(20, 30);
    const Vec3f meeting = straight.origin + straight.direction * (4 / straight.direction.dot(camera.forward()));
    PixelSampler random(1, 0);
    for (int i = 0; i < 100; ++i) {
        const Ray ray = camera.ray(20, 30, random.pair());
        EXPECT_LE((ray.origin - camera.position()).norm(), 0.0125f + 1e-6f);
        EXPECT_LT((meeting - ray.origin).cross(ray.direction).norm(), 1e-5f);
    }
    params.focus.reset(); // at the target
    EXPECT_NEAR(Camera(params, kCube, 100, 80).focus(), 10, 1e-5);
}

TEST(Camera, BlurOutOfFocusIsProportionalToTheAperture)
{
    // The circle of confusion has the radius R |1/d - 1/f| of the picture at distance one.
    const Mesh ball = sphere_mesh({0, 0, 0}, 0.15f, 3);
    RenderScene scene;
    scene.solids = {&ball}, scene.extent = kCube;
    RenderParams params = outlines(128);
    const Shade sharp = shade_of(render(scene, params));
    params.camera.f_stop = 0.06f; // a lens as wide as a bucket
    for (const float focus : {10.0f, 7.0f, 16.0f}) {
        params.camera.focus = focus;
        const Camera camera(params.camera, kCube, params.width, params.height);
        const double radius = camera.lens_radius() * std::abs(0.1 - 1.0 / focus) / camera.pixel_size();
        const Shade blurred = shade_of(render(scene, params));
        const double wider = radius * radius / 4; // variance of a disc
        EXPECT_NEAR(blurred.variance.x() - sharp.variance.x(), wider, 0.04 * wider + 0.15) << focus;
        EXPECT_NEAR(blurred.variance.y() - sharp.variance.y(), wider, 0.04 * wider + 0.15) << focus;
        EXPECT_NEAR(blurred.amount / sharp.amount, 1, 0.02) << focus;
        if (focus != 10) {
            EXPECT_GT(radius, 4) << "a test that could fail";
        }
    }
}

// ----------------------------------------------------------------------------------------------------------- keyframes

TEST(Camera, KeyframesReplaceConstants)
{
    CameraParams params;
    params.position_keys = {{1, 0, 0, 10}, {11, 10, 0, 0}};
    params.fov_keys = {{1, 20}, {11, 40}};
    params.roll_keys = {{6, 90}};
    params.interpolation = Interpolation::linear;
    const CameraParams middle = params.at(6);
    EXPECT_LT((*middle.position - Vec3f(5, 0, 5)).norm(), 1e-5f);
    EXPECT_FLOAT_EQ(middle.fov, 30);
    EXPECT_FLOAT_EQ(middle.roll, 90);
    EXPECT_FALSE(middle.target);
    EXPECT_FALSE(middle.keyed());
    params.interpolation = Interpolation::smooth; // starts slowly
    EXPECT_LT((*params.at(2).position - Vec3f(0, 0, 10)).norm(), 0.5f);
    params.interpolation = Interpolation::step;
    EXPECT_EQ(*params.at(10.9f).position, Vec3f(0, 0, 10));
}

TEST(Camera, AutomaticCameraIsNotMovedByZoom)
{
    CameraParams params;
    params.fov_keys = {{1, 40}, {10, 20}};
    const MovingCamera wide(params, 1, kCube, 160, 90), narrow(params, 10, kCube, 160, 90);
    EXPECT_EQ(wide.middle().position(), narrow.middle().position());
    EXPECT_NEAR(narrow.middle().pixel_size() / wide.middle().pixel_size(), std::tan(kPi / 18) / std::tan(kPi / 9),
                1e-4);
}

// --------------------------------------------------------------------------------------------------------- motion blur

// How far something that moves 20 m/s to the right gets while the shutter is half open, in pixels of outlines().
double blur_of(const RenderParams& params)
{
    const Camera camera(params.camera, kCube, params.width, params.height);
    return 20.0 * 0.5 / 24 / 10 / static_cast<double>(camera.pixel_size());
}

TEST(MotionBlur, StreaksHaveTheLengthOfTheMotionWhileTheShutterIsOpen)
{
    const Vec3f velocity(20, 0, 0);
    Mesh ball = sphere_mesh({0, 0, 0}, 0.3f, 3);
    RenderParams params = outlines();
    params.look = RenderParams::Look::paint, params.paint = Vec3f(0, 0, 0);
    RenderScene scene;
    scene.extent = kCube, scene.fps = 24, scene.frame = 7;
    RenderSpheres spheres;
    spheres.centers = {Vec3f(0, 0, 0)}, spheres.radius = 0.3f, spheres.colors = {Vec3f(0, 0, 0)};

    const auto check = [&](const char* what) {
        params.camera.shutter = 0;
        const Shade still = shade_of(render(scene, params));
        params.camera.shutter = 180;
        const Shade moving = shade_of(render(scene, params));
        const double length = blur_of(params), wider = length * length / 12;
        EXPECT_GT(wider, 3) << "a test that could fail";
        EXPECT_NEAR(moving.variance.x() - still.variance.x(), wider, 0.05 * wider) << what;
        EXPECT_NEAR(moving.variance.y(), still.variance.y(), 0.01 * still.variance.y() + 0.05) << what;
        EXPECT_NEAR(moving.mean.x(), still.mean.x(), 0.15) << what << ": around the moment of the frame";
        EXPECT_NEAR(moving.amount / still.amount, 1, 0.01) << what;
    };
    ball.velocities.assign(ball.positions.size(), velocity);
    scene.surfaces = {&ball};
    check("a surface by its velocities");
    scene.surfaces = {}, scene.spheres = {&spheres}, spheres.velocities = {velocity};
    check("spheres by theirs");
    spheres.ends = {Vec3f(0, 0.5f, 0)};
    check("capsules by theirs");

    // A solid from moment to moment, which the test has to place itself.
    scene.spheres = {};
    std::vector<Mesh> moments(5, ball);
    for (int i = 0; i < 5; ++i)
        for (Vec3f& x : moments[i].positions) x += (static_cast<float>(i) / 4 - 0.5f) * 0.5f / 24 * velocity;
    scene.solids.emplace_back(std::vector<const Mesh*>{&moments[0], &moments[1], &moments[2], &moments[3], &moments[4]},
                              false);
    params.camera.shutter = 180;
    const Shade solid = shade_of(render(scene, params));
    scene.solids = {&ball};
    params.camera.shutter = 0;
    const Shade still = shade_of(render(scene, params));
    const double length = blur_of(params);
    EXPECT_NEAR(solid.variance.x() - still.variance.x(), length * length / 12, 0.05 * length * length / 12);
}

// A thin disc of smoke, so that its opacity is small and adds up as the darkness of the other objects does. Velocities
// reach farther than the smoke, as in files of simulations.
TEST(MotionBlur, SmokeIsBlurredByItsVelocity)
{
    constexpr float kVoxel = 0.04f;
    const TestSmoke puff({-40, -12, -4}, {40, 12, 4}, kVoxel,
                         [](const Vec3f& x) { return clamp01((0.3f - x.norm()) / 0.1f); });
    RenderParams params = outlines();
    params.smoke.density = 0.5f;
    params.background = false, params.floor = false;
    RenderSmoke smoke = puff.smoke;
    RenderScene scene;
    scene.extent = kCube, scene.fps = 24, scene.smokes = {&smoke};
    const auto shade = [&] {
        const Picture picture = render_picture(scene, params);
        Image coverage = picture.color;
        for (size_t i = 0; i < coverage.pixels.size(); ++i) coverage.pixels[i].setConstant(1 - picture.alpha[i]);
        return shade_of(coverage);
    };
    const Shade still = shade();
    params.camera.shutter = 180;
    const Shade unmoved = shade(); // without velocities
    EXPECT_NEAR(unmoved.variance.x(), still.variance.x(), 0.01 * still.variance.x());
    Field<Vec3f> velocity(*puff.topology, Vec3f(20, 0, 0));
    smoke.velocity = {&velocity, kVoxel, smoke.density.origin};
    const Shade moving = shade();
    const double length = blur_of(params), wider = length * length / 12;
    EXPECT_GT(wider, 3) << "a test that could fail";
    EXPECT_NEAR(moving.variance.x() - still.variance.x(), wider, 0.05 * wider);
    EXPECT_NEAR(moving.variance.y(), still.variance.y(), 0.02 * still.variance.y() + 0.05);
    EXPECT_NEAR(moving.mean.x(), still.mean.x(), 0.15);
    EXPECT_NEAR(moving.amount / still.amount, 1, 0.02);
}

TEST(MotionBlur, MovingCameraBlursStaticObjects)
{
    const Mesh ball = sphere_mesh({0, 0, 0}, 0.3f, 3);
    RenderScene scene;
    scene.solids = {&ball}, scene.extent = kCube, scene.fps = 24, scene.frame = 5;
    RenderParams params = outlines();
    const Shade still = shade_of(render(scene, params));
    const double length = blur_of(params);
    params.camera.shutter = 180, params.camera.interpolation = Interpolation::linear;
    params.camera.position_keys = {{1, -10.0f / 3, 0, 10}, {9, 10.0f / 3, 0, 10}}; // 20 m/s
    params.camera.target_keys = {{1, -10.0f / 3, 0, 0}, {9, 10.0f / 3, 0, 0}};
    const Shade moving = shade_of(render(scene, params));
    EXPECT_NEAR(moving.variance.x() - still.variance.x(), length * length / 12, 0.05 * length * length / 12);
    EXPECT_NEAR(moving.mean.x(), still.mean.x(), 0.15);
}

TEST(MotionBlur, APictureHasTheSameBitsForAnyNumberOfThreads)
{
    Mesh water = sphere_mesh({0, 1, 0}, 0.8f, 3);
    for (const Vec3f& x : water.positions) water.velocities.emplace_back(x.y(), 2 * x.x(), 1.0f);
    const Mesh before = sphere_mesh({0.5f, 0.4f, 0.6f}, 0.4f, 2), after = sphere_mesh({0.6f, 0.4f, 0.6f}, 0.4f, 2);
    RenderSpheres spray;
    spray.centers = {Vec3f(-0.8f, 0.2f, 0.5f), Vec3f(-0.7f, 1.5f, 0.2f)};
    spray.velocities = {Vec3f(3, 1, 0), Vec3f(0, 0, 5)};
    spray.colors = {Vec3f(1, 0.5f, 0), color_map(0.5f)}, spray.radius = 0.15f;
    RenderScene scene;
    scene.surfaces = {&water}, scene.solids = {RenderSolid({&before, &after}, false)}, scene.spheres = {&spray};
    scene.extent = kCube, scene.container = kCube, scene.frame = 3;
    RenderParams params;
    params.width = 64, params.height = 36, params.samples = 4;
    params.camera.shutter = 180, params.camera.f_stop = 0.5f;
    params.camera.position_keys = {{1, 3, 2, 4}, {5, 4, 2, 3}};
    set_thread_count(1);
    const Image one = render(scene, params);
    set_thread_count(2);
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(render(scene, params).pixels == one.pixels);
    set_thread_count(0);
}

// ---------------------------------------------------------------------------------------------------------- containers

TEST(Containers, AreVisibleFromInsideOnly)
{
    // A box turned inside out around a white ball, before white: from outside its far walls are dark, and the near one
    // does not hide the ball.
    Mesh walls = box_mesh({-0.6f, -0.6f, -0.6f}, {0.6f, 0.6f, 0.6f});
    for (Vec3i& t : walls.triangles) std::swap(t[1], t[2]);
    Mesh ball = sphere_mesh({0, 0, 0}, 0.3f, 3);
    ball.attributes["color"] = std::vector<Vec3f>(ball.positions.size(), Vec3f(1, 1, 1));
    RenderParams params = outlines(16);
    RenderScene scene;
    scene.extent = kCube;
    scene.solids = {RenderSolid(&walls, true)};
    const Image box = render(scene, params);
    EXPECT_LT(luminance(box.at(64, 48)), 0.01f) << "the far wall";
    EXPECT_GT(luminance(box.at(2, 48)), 0.99f);
    scene.solids.emplace_back(&ball);
    const Image both = render(scene, params);
    EXPECT_GT(luminance(both.at(64, 48)), 0.9f) << "lit through the walls, and not behind them";

    params.camera.position = Vec3f(0, 0, 0.5f), params.camera.fov = 90; // from inside all around is wall
    scene.solids.pop_back();
    for (const Vec3f& pixel : render(scene, params).pixels) ASSERT_LT(luminance(pixel), 0.01f);
}

} // namespace
} // namespace spindrift
