#include "spindrift/render/preview.h"

#include "io/temp_folder.h"
#include "render/simple_meshes.h"
#include "render/smoke_samples.h"
#include "spindrift/base/parallel.h"
#include "spindrift/render/camera.h"

using namespace spindrift;

namespace {

using Mode = RenderLayer::Mode;

// A camera on the z axis that looks along it, at the origin from 10 m.
RenderParams picture_along_z(int size = 65)
{
    RenderParams params;
    params.width = params.height = size;
    params.samples = 16;
    params.camera.position = Vec3f(0, 0, 10), params.camera.target = Vec3f(0, 0, 0), params.camera.fov = 20;
    params.floor = false, params.background = false;
    return params;
}

RenderSpheres ball_at(const Vec3f& center, float radius, int layer)
{
    RenderSpheres ball;
    ball.centers = {center}, ball.colors = {Vec3f(0.8f, 0.4f, 0.2f)}, ball.velocities = {Vec3f(1, -2, 3)};
    ball.radius = radius, ball.layer = layer;
    return ball;
}

float luminance_of(const Picture& picture, int x, int y) { return luminance(picture.color.at(x, y)); }

float mean_difference(const Image& a, const Image& b)
{
    double sum = 0;
    for (size_t i = 0; i < a.pixels.size(); ++i) sum += static_cast<double>((a.pixels[i] - b.pixels[i]).norm());
    return static_cast<float>(sum / static_cast<double>(a.pixels.size()));
}

// 16 cells of 0.1 m along each edge.
TestSmoke cube_of_smoke(float density) { return even_box({-8, -8, -8}, {8, 8, 8}, 0.1f, density); }

} // namespace

TEST(Layers, ChannelsOfASphereMatchTheClosedForm)
{
    const Vec3f center(0.3f, -0.2f, 1);
    const float radius = 1.1f;
    const RenderSpheres ball = ball_at(center, radius, 1);
    RenderScene scene;
    scene.layers = {{"nothing"}, {"ball"}}, scene.spheres = {&ball};
    RenderParams params = picture_along_z();
    params.camera.fov = 30;
    for (const auto quality : {RenderParams::Quality::preview, RenderParams::Quality::full}) {
        params.quality = quality;
        TempFolder folder;
        write_image(folder / "ball.exr", channels_of(render_picture(scene, params), scene));
        const ChannelImage read = read_channels(folder / "ball.exr");

        std::vector<std::string> names;
        for (const ChannelImage::Channel& channel : read.channels) names.push_back(channel.name);
        std::ranges::sort(names);
        EXPECT_EQ(names, (std::vector<std::string>{"A", "B", "G", "N.X", "N.Y", "N.Z", "R", "Z", "mask_ball.Y",
                                                   "mask_nothing.Y", "velocity.X", "velocity.Y", "velocity.Z"}));
        EXPECT_EQ(read.find("Z")->precision, ChannelImage::Precision::full);
        EXPECT_EQ(read.find("R")->precision, ChannelImage::Precision::half);
        const auto at = [&](const char* name, size_t i) { return read.find(name)->values[i]; };

        const Camera camera(params.camera, {Vec3f(-1, -1, -1), Vec3f(1, 1, 1)}, params.width, params.height);
        int inside = 0, outside = 0;
        for (int y = 0; y < params.height; ++y)
            for (int x = 0; x < params.width; ++x) {
                const size_t i = static_cast<size_t>(y) * params.width + x;
                EXPECT_EQ(at("mask_nothing.Y", i), 0);
                EXPECT_NEAR(at("mask_ball.Y", i), at("A", i), 1e-3f);
                const Ray ray = camera.ray(static_cast<float>(x) + 0.5f, static_cast<float>(y) + 0.5f);
                const Vec3f to = center - ray.origin;
                const float nearest = to.dot(ray.direction), beside = (to - nearest * ray.direction).norm();
                if (beside > 1.1f * radius) {
                    EXPECT_EQ(at("A", i), 0);
                    EXPECT_EQ(at("R", i), 0);
                    EXPECT_EQ(at("Z", i), kNoDepth);
                    ++outside;
                }
                if (beside > 0.7f * radius) continue;
                ++inside;
                const float distance = nearest - std::sqrt(radius * radius - beside * beside);
                const Vec3f point = ray.origin + distance * ray.direction, normal = (point - center) / radius;
                // A pixel is 0.08 m wide there, and shows the nearest point that it sees.
                EXPECT_NEAR(at("Z", i), 10 - point.z(), 0.1f);
                EXPECT_LE(at("Z", i), 10 - point.z() + 0.01f);
                EXPECT_NEAR((Vec3f(at("N.X", i), at("N.Y", i), at("N.Z", i)) - normal).norm(), 0, 0.12f);
                EXPECT_EQ(Vec3f(at("velocity.X", i), at("velocity.Y", i), at("velocity.Z", i)), Vec3f(1, -2, 3));
                EXPECT_EQ(at("A", i), 1);
            }
        EXPECT_GT(inside, 100);
        EXPECT_GT(outside, 100);
    }
}

TEST(Layers, MasksAddUpToCoverageAndAlphaExcludesHoldouts)
{
    const RenderSpheres left = ball_at({-0.5f, 0, 0}, 1, 0), right = ball_at({0.6f, 0, 0.5f}, 0.8f, 1);
    const Mesh box = box_mesh({Vec3f(-2, -1.5f, -1), Vec3f(2, -0.5f, 0)});
    const TestSmoke smoke = cube_of_smoke(1);
    RenderSmoke haze = smoke.smoke;
    haze.layer = 3, haze.look.emplace().density = 0.3f;
    RenderScene scene;
    scene.layers = {{"left"}, {"right", Mode::matte}, {"box", Mode::holdout}, {"haze"}};
    scene.spheres = {&left, &right}, scene.solids = {{&box, false, 2}}, scene.smokes = {&haze};
    for (const auto quality :
         {RenderParams::Quality::draft, RenderParams::Quality::preview, RenderParams::Quality::full}) {
        RenderParams params = picture_along_z();
        params.quality = quality;
        const Picture picture = render_picture(scene, params);
        double covered = 0, partly = 0;
        for (size_t i = 0; i < picture.alpha.size(); ++i) {
            float all = 0;
            for (const std::vector<float>& mask : picture.masks) {
                EXPECT_GE(mask[i], -1e-6f);
                all += mask[i];
            }
            EXPECT_LE(all, 1 + 1e-5f);
            EXPECT_NEAR(picture.alpha[i], all - picture.masks[2][i], 1e-5f);
            covered += static_cast<double>(picture.masks[2][i]);
            partly += all > 0.1f && all < 0.9f;
        }
        EXPECT_GT(covered, 100);
        EXPECT_GT(partly, 20);
    }
}

TEST(Layers, HoldoutsAreBlackAndTransparentAndMattesAreWhite)
{
    const RenderSpheres front = ball_at({0, 0, 2}, 0.5f, 0), back = ball_at({0, 0, 0}, 1, 1);
    RenderScene scene;
    scene.layers = {{"front"}, {"back"}}, scene.spheres = {&front, &back};
    const int middle = 32, beside = 32 + 15; // the front ball covers the middle, the one behind both
    const RenderParams params = picture_along_z();

    const Picture shown = render_picture(scene, params);
    EXPECT_EQ(shown.alpha[middle * 65 + middle], 1);
    scene.layers[0].mode = Mode::holdout;
    const Picture held = render_picture(scene, params);
    EXPECT_EQ(held.alpha[middle * 65 + middle], 0);
    EXPECT_EQ(held.color.at(middle, middle), Vec3f::Zero());
    EXPECT_EQ(held.masks[0][middle * 65 + middle], 1);
    EXPECT_EQ(held.color.at(beside, middle), shown.color.at(beside, middle)); // shadows of the holdout stay
    EXPECT_EQ(held.alpha[middle * 65 + beside], 1);

    scene.layers = {{"front", Mode::matte}, {"back"}};
    const Picture matte = render_picture(scene, params);
    EXPECT_EQ(matte.color.at(middle, middle), Vec3f::Ones());
    EXPECT_EQ(matte.alpha[middle * 65 + middle], 1);
    EXPECT_EQ(matte.color.at(beside, middle), shown.color.at(beside, middle));
    EXPECT_EQ(matte.color.at(1, 1), Vec3f::Zero());
}

TEST(Layers, HoldoutSmokeOnlyAttenuatesAndMatteSmokeShowsItsOpacity)
{
    const TestSmoke smoke = cube_of_smoke(1); // 1.6 m deep
    RenderSmoke haze = smoke.smoke;
    haze.layer = 1, haze.look.emplace().density = 0.5f;
    const RenderSpheres ball = ball_at({0, 0, -3}, 1, 0);
    RenderScene scene;
    scene.layers = {{"ball", Mode::matte}, {"haze", Mode::holdout}};
    scene.spheres = {&ball}, scene.smokes = {&haze};
    const float through = std::exp(-0.8f);
    const Picture held = render_picture(scene, picture_along_z());
    EXPECT_NEAR(luminance_of(held, 32, 32), through, 0.01f);
    EXPECT_NEAR(held.alpha[32 * 65 + 32], through, 0.01f);
    scene.layers = {{"ball", Mode::holdout}, {"haze", Mode::matte}};
    const Picture matte = render_picture(scene, picture_along_z());
    EXPECT_NEAR(luminance_of(matte, 32, 32), 1 - through, 0.01f);
    EXPECT_NEAR(matte.alpha[32 * 65 + 32], 1 - through, 0.01f);
}

TEST(Layers, BackgroundIsOpaqueUnlessItIsOff)
{
    const RenderSpheres ball = ball_at({0, 0, 0}, 1, 0);
    RenderScene scene;
    scene.spheres = {&ball}, scene.extent = {Vec3f(-1, -1, -1), Vec3f(1, 1, 1)};
    RenderParams params = picture_along_z();
    params.floor = params.background = true;
    const Picture whole = render_picture(scene, params);
    for (const float alpha : whole.alpha) EXPECT_EQ(alpha, 1);
    EXPECT_LT(whole.depth[64 * 65 + 32], 100); // the floor
    EXPECT_EQ(whole.normal[64 * 65 + 32], Vec3f(0, 1, 0));
    params.background = false;
    const Picture cut = render_picture(scene, params);
    EXPECT_EQ(cut.alpha[64 * 65 + 32], 0);
    EXPECT_EQ(cut.depth[64 * 65 + 32], kNoDepth);
    EXPECT_EQ(cut.color.at(32, 32), whole.color.at(32, 32));
}

TEST(Layers, NamesAndNumbersAreChecked)
{
    const RenderSpheres ball = ball_at({0, 0, 0}, 1, 1);
    RenderScene scene;
    scene.spheres = {&ball};
    const auto message = [&] { return error_of(ExitCode::bad_input, [&] { render(scene, picture_along_z(8)); }); };
    EXPECT_TRUE(contains(message(), "there is no layer 1"));
    for (const char* name : {"", "two words", "a.b", "1st"}) {
        scene.layers = {{"ball"}, {name}};
        EXPECT_TRUE(contains(message(), "a layer cannot be named"));
    }
    scene.layers = {{"ball"}, {"ball"}};
    EXPECT_TRUE(contains(message(), "two layers named 'ball'"));
}

TEST(Layers, AssignmentToLayersDoesNotChangeThePicture)
{
    const Mesh water = sphere_of_rows({0, 1, 0}, 0.8f), stone = sphere_of_rows({0.5f, 0.4f, 0.6f}, 0.4f);
    const RenderSpheres ball = ball_at({-0.8f, 0.5f, 0.5f}, 0.2f, 0);
    RenderSpheres other = ball;
    other.layer = 2;
    RenderScene one, several;
    one.surfaces = {&water}, one.solids = {&stone}, one.spheres = {&ball};
    several.layers = {{"stone"}, {"water"}, {"ball"}};
    several.surfaces = {{&water, 1}}, several.solids = {{&stone, false, 0}}, several.spheres = {&other};
    RenderParams params;
    params.width = 48, params.height = 27;
    EXPECT_TRUE(render(one, params).pixels == render(several, params).pixels);
    EXPECT_TRUE(render_picture(several, params).color.pixels == render(one, params).pixels);
}

TEST(Layers, EachSurfaceHasItsOwnLook)
{
    const Mesh left = sphere_of_rows({-1, 0, 0}, 0.8f), right = sphere_of_rows({1, 0, 0}, 0.8f);
    RenderScene scene;
    scene.surfaces = {&left, &right};
    scene.surfaces[0].look = RenderParams::Look::paint, scene.surfaces[0].paint = Vec3f(0.9f, 0.05f, 0.05f);
    WaterLook green;
    green.color = green.deep_color = Vec3f(0.05f, 0.9f, 0.05f), green.depth = 0.3f;
    scene.surfaces[1].water = green;
    const Image image = render(scene, picture_along_z());
    const Vec3f a = image.at(32 - 18, 32), b = image.at(32 + 18, 32);
    EXPECT_GT(a.x(), 2 * a.y());
    EXPECT_GT(b.y(), 2 * b.x());
}

TEST(Layers, FirstOfOverlappingLiquidsHasPriority)
{
    const Mesh outer = sphere_of_rows({0, 0, 0}, 1), inner = sphere_of_rows({0.2f, 0, 0}, 0.5f);
    WaterLook dark, clear;
    dark.color = dark.deep_color = Vec3f(0.02f, 0.02f, 0.02f), dark.depth = 0.2f, dark.ior = 1.5f;
    const RenderParams params = picture_along_z();
    RenderScene scene;
    scene.surfaces = {&outer};
    const Image alone = render(scene, params);
    // Inside water that goes before it, the dark drop cannot be seen...
    scene.surfaces = {&outer, &inner};
    scene.surfaces[0].water = clear, scene.surfaces[1].water = dark;
    EXPECT_LT(mean_difference(render(scene, params), alone), 1e-3f);
    // ... and before it, it can.
    std::swap(scene.surfaces[0], scene.surfaces[1]);
    const Image seen = render(scene, params);
    EXPECT_LT(luminance(seen.at(34, 32)), 0.5f * luminance(alone.at(34, 32)));
    for (const Vec3f& pixel : seen.pixels) ASSERT_TRUE(pixel.allFinite() && pixel.minCoeff() >= 0);
}

TEST(Layers, TouchingClearLiquidsAreInvisibleInAWhiteFurnace)
{
    RenderParams params = picture_along_z();
    params.sky = RenderParams::Sky::uniform, params.background = true;
    const Mesh left = box_mesh({Vec3f(-1, -1, -1), Vec3f(0.02f, 1, 1)}),
               right = box_mesh({Vec3f(0, -1, -1), Vec3f(1, 1, 1)});
    RenderScene scene;
    scene.surfaces = {&left, &right};
    for (RenderSurface& surface : scene.surfaces) surface.water.emplace().color = Vec3f::Ones();
    scene.surfaces[1].water->ior = 1.5f;
    for (const Vec3f& pixel : render(scene, params).pixels) EXPECT_NEAR((pixel - Vec3f::Ones()).norm(), 0, 2e-3f);
}

TEST(Layers, SmokeSplitIntoTwoVolumesLooksLikeOne)
{
    const TestSmoke whole = cube_of_smoke(1), half = cube_of_smoke(0.5f);
    RenderParams params = picture_along_z();
    params.smoke.density = 1.0f, params.background = true, params.floor = true;
    RenderScene one, two;
    one.extent = two.extent = {Vec3f(-1, -1, -1), Vec3f(1, 1, 1)};
    one.smokes = {&whole.smoke}, two.smokes = {&half.smoke, &half.smoke};
    const Picture a = render_picture(one, params), b = render_picture(two, params);
    EXPECT_NEAR(luminance_of(b, 32, 32) / luminance_of(a, 32, 32), 1, 0.05f);
    EXPECT_NEAR(a.masks[0][32 * 65 + 32], b.masks[0][32 * 65 + 32], 0.01f);
    EXPECT_NEAR(a.depth[32 * 65 + 32], b.depth[32 * 65 + 32], 0.15f);
}

TEST(Layers, SmokeOccludesSmokeBehindIt)
{
    const TestSmoke smoke = even_box({-8, -8, -2}, {8, 8, 2}, 0.1f);
    RenderSmoke front = smoke.smoke, back = smoke.smoke;
    front.density.origin.z() += 1, back.density.origin.z() -= 1;
    front.layer = 0, back.layer = 1;
    front.look.emplace().density = 1.0f, back.look.emplace().density = 2.0f;
    RenderScene scene;
    scene.layers = {{"front"}, {"back"}};
    for (const auto& smokes : {std::vector<const RenderSmoke*>{&front, &back}, {&back, &front}}) {
        scene.smokes = smokes;
        const Picture picture = render_picture(scene, picture_along_z());
        const float left = std::exp(-0.4f); // by the front
        EXPECT_NEAR(picture.masks[0][32 * 65 + 32], 1 - left, 0.01f);
        EXPECT_NEAR(picture.masks[1][32 * 65 + 32], left * (1 - std::exp(-0.8f)), 0.01f);
    }
}

TEST(Layers, MovingSolidsAndSmokeHaveVelocities)
{
    const Mesh before = sphere_of_rows({0, -0.01f, 0}, 1), after = sphere_of_rows({0, 0.01f, 0}, 1);
    RenderScene scene;
    scene.solids.emplace_back(std::vector<const Mesh*>{&before, &after}, false);
    RenderParams params = picture_along_z(17);
    params.camera.shutter = 180; // 1/48 s
    EXPECT_NEAR((render_picture(scene, params).velocity[8 * 17 + 8] - Vec3f(0, 0.96f, 0)).norm(), 0, 1e-3f);

    TestSmoke smoke = cube_of_smoke(1);
    Field<Vec3f> wind;
    wind.reset(*smoke.topology, Vec3f(1, 2, 3));
    for (int t = 0; t < smoke.topology->tile_count(); ++t) std::fill_n(wind.tile(t), kTileCells, Vec3f(1, 2, 3));
    smoke.smoke.velocity = {&wind, smoke.voxel, smoke.smoke.density.origin};
    scene.solids.clear(), scene.smokes = {&smoke.smoke};
    params.smoke.density = 5.0f;
    EXPECT_NEAR((render_picture(scene, params).velocity[8 * 17 + 8] - Vec3f(1, 2, 3)).norm(), 0, 1e-4f);
}

TEST(Layers, ChannelsHaveTheSameBitsForAnyNumberOfThreads)
{
    const Mesh water = sphere_of_rows({0, 0, 0}, 0.8f);
    const RenderSpheres ball = ball_at({0.7f, 0, 1}, 0.3f, 1);
    const TestSmoke smoke = cube_of_smoke(0.5f);
    RenderScene scene;
    scene.layers = {{"water"}, {"ball"}};
    scene.surfaces = {&water}, scene.spheres = {&ball}, scene.smokes = {&smoke.smoke, &smoke.smoke};
    const auto bits = [&](RenderParams::Quality quality) {
        RenderParams params = picture_along_z();
        params.quality = quality, params.background = true;
        const ChannelImage image = channels_of(render_picture(scene, params), scene);
        std::vector<std::vector<float>> all;
        for (const ChannelImage::Channel& channel : image.channels) all.push_back(channel.values);
        return all;
    };
    for (const auto quality :
         {RenderParams::Quality::draft, RenderParams::Quality::preview, RenderParams::Quality::full}) {
        set_thread_count(1);
        const auto one = bits(quality);
        set_thread_count(2);
        for (int i = 0; i < 3; ++i) EXPECT_TRUE(bits(quality) == one);
        set_thread_count(0);
    }
}
