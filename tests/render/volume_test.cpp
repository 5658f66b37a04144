#include "spindrift/render/volume.h"

#include "base/determinism.h"
#include "io/temp_folder.h"
#include "render/smoke_samples.h"
#include "spindrift/base/noise.h"
#include "spindrift/render/preview.h"

#include <gtest/gtest.h>

using namespace spindrift;

namespace {

const Ray kDown{Vec3f(0, 10, 0), Vec3f(0, -1, 0)}, kUp{Vec3f(0, -10, 0), Vec3f(0, 1, 0)};

// 16 cells deep, 0.8 m, with room around its middle.
TestSmoke slab() { return even_box({-48, -8, -48}, {48, 8, 48}, 0.05f); }

RenderParams small_picture()
{
    RenderParams params;
    params.width = 48, params.height = 48, params.samples = 4;
    params.camera.position = Vec3f(0, 1, 12), params.camera.target = Vec3f(0, 1, 0), params.camera.fov = 20;
    return params;
}

RenderSpheres ball_at(const Vec3f& center, float radius)
{
    RenderSpheres spheres;
    spheres.centers = {center}, spheres.colors = {Vec3f(0.8f, 0.8f, 0.8f)};
    spheres.radius = radius;
    return spheres;
}

} // namespace

TEST(Volume, LightThroughASlabFallsOffExponentially)
{
    const TestSmoke smoke = slab();
    for (const float extinction : {0.1f, 1.0f, 6.0f}) {
        const LitSmoke lit(smoke.smoke, single_scattering(extinction));
        const float depth = 0.8f * extinction;
        EXPECT_NEAR(lit.pass(kDown).through / std::exp(-depth), 1, 0.002);
        const Vec3f oblique = Vec3f(0.3f, -0.8f, 0.2f).normalized();
        EXPECT_NEAR(lit.pass({-3 * oblique, oblique}).through / std::exp(depth / oblique.y()), 1, 0.01);
        // A body inside hides what is behind it.
        EXPECT_NEAR(lit.pass(kDown, 10).through / std::exp(-0.5f * depth), 1, 0.01);
        // Rays in any direction, also straight along tiles, and shadows, agree.
        EXPECT_NEAR(std::log(lit.volume.transmittance(kUp)) / -depth, 1, 0.01);
        EXPECT_NEAR(std::log(lit.volume.transmittance({Vec3f(0, 0, 0), Vec3f(0, -1, 0)})) / -depth, 0.5, 0.01);
        EXPECT_NEAR(std::log(lit.volume.soft_transmittance(kDown)) / -depth, 1, 0.01);
    }
}

TEST(Volume, LightThroughABallFallsOffWithTheChord)
{
    const TestSmoke smoke = even_ball(32);
    const LitSmoke lit(smoke.smoke, single_scattering(1.5f));
    for (const float beside : {0.0f, 0.3f, 0.6f, 0.8f})
        for (const Vec3f& d : {Vec3f(0, 0, -1), Vec3f(0.6f, 0, -0.8f), Vec3f(0.48f, 0.6f, -0.64f)}) {
            const Vec3f across = d.cross(Vec3f(0, 1, 0)).normalized();
            const float chord = 2 * std::sqrt(1 - beside * beside);
            EXPECT_NEAR(lit.pass({beside * across - 5 * d, d}).through / std::exp(-1.5f * chord), 1, 0.01);
        }
}

TEST(Volume, OffsetOfSamplesWithinStepsHasLittleEffect)
{
    const TestSmoke cloud({-24, -24, -24}, {24, 24, 24}, 0.05f, [](const Vec3f& x) {
        return std::max(0.0f, 0.4f + gradient_noise(4 * x, 1).value - x.squaredNorm());
    });
    const LitSmoke lit(cloud.smoke, single_scattering(3));
    for (const Vec3f& to : {Vec3f(0.1f, 0.2f, 0), Vec3f(-0.3f, 0.1f, 0.4f), Vec3f(0.2f, -0.5f, 0.1f)}) {
        const Ray ray{Vec3f(2, 1, 3), (to - Vec3f(2, 1, 3)).normalized()};
        const Volume::Passage mean = lit.pass(ray);
        // By steps so short that their length is of no account, through the cells themselves.
        double depth = 0;
        const double step = 0.001;
        for (int i = 0; i < 8000; ++i) {
            const Vec3f at =
                (ray.origin + static_cast<float>(i * step) * ray.direction) / 0.05f - Vec3f::Constant(0.5f);
            const Vec3i low(floor_int(at.x()), floor_int(at.y()), floor_int(at.z()));
            const Vec3f w = at - low.cast<float>();
            for (int k = 0; k < 8; ++k) {
                const Vec3i d(k >> 2, (k >> 1) & 1, k & 1);
                depth += 3 * step * (d.x() ? w.x() : 1 - w.x()) * (d.y() ? w.y() : 1 - w.y()) *
                         (d.z() ? w.z() : 1 - w.z()) * cloud.density.at(low + d);
            }
        }
        EXPECT_NEAR(mean.through, std::exp(-depth), 0.002);
        for (const float shift : {0.0f, 0.25f, 0.9f}) {
            const Volume::Passage one = lit.volume.pass(ray, kInfinity, shift);
            EXPECT_NEAR(one.through, mean.through, 0.02);
            EXPECT_NEAR(luminance(one.light) / luminance(mean.light), 1, 0.05);
        }
    }
}

TEST(Volume, SmokeOneCellDeepIsASlabOneCellThick)
{
    const TestSmoke smoke = even_box({-40, -40, 0}, {40, 40, 1}, 0.02f);
    RenderParams params = single_scattering(70);
    const Ray front{Vec3f(0.013f, 0.007f, 3), Vec3f(0, 0, -1)};
    for (const float shift : {0.0f, 0.3f, 0.99f})
        EXPECT_NEAR(LitSmoke(smoke.smoke, params).volume.pass(front, kInfinity, shift).through, std::exp(-1.4f), 0.002);
    params.smoke.density.reset(); // hides most of what is behind, if nobody says how much it should
    EXPECT_NEAR(LitSmoke(smoke.smoke, params).pass(front).through, std::exp(-1.5f), 0.002);
}

TEST(Volume, PhaseFunctionIntegratesToOne)
{
    for (const float g : {-0.7f, 0.0f, 0.3f, 0.9f}) {
        double sum = 0, cosine = 0;
        const int count = 200000;
        for (int i = 0; i < count; ++i) {
            const double c = -1 + (2 * i + 1.0) / count, share = henyey_greenstein(static_cast<float>(c), g);
            sum += 2 * kPi * share * 2 / count, cosine += 2 * kPi * share * c * 2 / count;
        }
        EXPECT_NEAR(sum, 1, 1e-4);
        EXPECT_NEAR(cosine, g, 1e-4);
    }
}

TEST(Volume, SingleScatteringByASlabMatchesTheClosedForm)
{
    const TestSmoke smoke = slab();
    for (const float extinction : {0.1f, 2.0f}) {
        RenderParams params = single_scattering(extinction);
        params.smoke.color = Vec3f(1, 0.5f, 0.25f);
        const Sky sky(params);
        const double mu = sky.key_direction().y(), depth = 0.8 * extinction;
        const double back = (1 - std::exp(-depth * (1 + 1 / mu))) / (1 + 1 / mu);
        const double onward = (std::exp(-depth) - std::exp(-depth / mu)) / (1 / mu - 1);
        const auto expected = [&](double gathered, double cosine) -> Vec3f {
            const double phase = henyey_greenstein(static_cast<float>(cosine), params.smoke.anisotropy);
            return static_cast<float>(phase * gathered) * sky.key_irradiance().cwiseProduct(params.smoke.color);
        };
        const KeyPart key(smoke.smoke, params);
        const Vec3f from_above = key(kDown), from_below = key(kUp);
        for (int k = 0; k < 3; ++k) {
            EXPECT_NEAR(from_above[k] / expected(back, -mu)[k], 1, 0.01) << extinction;
            EXPECT_NEAR(from_below[k] / expected(onward, mu)[k], 1, 0.01) << extinction;
        }
    }
}

// All that a ball scatters in all directions, of what it takes out of the key light.
TEST(Volume, BallScattersNoMoreLightThanItReceives)
{
    const TestSmoke smoke = even_ball(12);
    for (const float multiple : {0.0f, 1.0f})
        for (const float extinction : {0.1f, 1.0f, 8.0f}) {
            RenderParams params = single_scattering(extinction);
            params.smoke.multiple_scattering = multiple;
            const LitSmoke lit(smoke.smoke, params);
            const KeyPart key(smoke.smoke, params);
            double scattered = 0, taken = 0;
            const int directions = 48, grid = 12;
            for (int i = 0; i < directions; ++i) {
                const float y = 1 - (2 * static_cast<float>(i) + 1) / directions, r = std::sqrt(1 - y * y);
                const float phi = static_cast<float>(i) * 2.39996323f;
                const Vec3f d(r * std::cos(phi), y, r * std::sin(phi));
                Vec3f u, v;
                frame_around(d, u, v);
                for (int k = 0; k < grid * grid; ++k) {
                    const float a = (static_cast<float>(k % grid) + 0.5f) / grid * 2.2f - 1.1f;
                    const float b = (static_cast<float>(k / grid) + 0.5f) / grid * 2.2f - 1.1f;
                    const Ray ray{a * u + b * v - 5 * d, d};
                    scattered += 4 * kPi * luminance(key(ray)) / directions;
                    taken += luminance(lit.sky.key_irradiance()) * (1 - lit.pass(ray).through) / directions;
                }
            }
            EXPECT_LT(scattered / taken, 1.01) << extinction << " " << multiple;
            const double least = extinction == 0.1f ? 0.9 : multiple > 0 ? 0.8 : 0.1;
            EXPECT_GT(scattered / taken, least) << extinction << " " << multiple;
        }
}

TEST(Volume, WhiteSmokeIsInvisibleInAWhiteFurnace)
{
    const TestSmoke smoke = even_ball(16);
    for (const float extinction : {0.5f, 4.0f}) {
        RenderParams params = single_scattering(extinction);
        params.sky = RenderParams::Sky::uniform;
        const LitSmoke once(smoke.smoke, params);
        params.smoke.multiple_scattering = 1;
        const LitSmoke often(smoke.smoke, params);
        for (const float beside : {0.0f, 0.5f, 0.9f}) {
            const Ray ray{Vec3f(beside, 0, 5), Vec3f(0, 0, -1)};
            const Volume::Passage a = once.pass(ray), b = often.pass(ray);
            EXPECT_LT(a.through + luminance(a.light), 1.001f);
            EXPECT_NEAR(b.through + luminance(b.light), 1, 0.003);
        }
    }
}

TEST(Volume, DistantPuffsShadowEachOther)
{
    // Along the key light, with empty tiles between them.
    RenderParams params = single_scattering(1);
    const Vec3f toward = Sky(params).key_direction();
    const float voxel = 0.05f;
    const Vec3f far = 6 * toward;
    const auto puff = [&](const Vec3f& x) { return clamp01(0.5f + (1 - x.norm()) / voxel); };
    const auto both = [&](const Vec3f& x) { return puff(x) + puff(x - far); };
    const Vec3i reach = (far / voxel).cast<int>();
    TestSmoke smoke(reach.cwiseMin(0) - Vec3i::Constant(24), reach.cwiseMax(0) + Vec3i::Constant(24), voxel, both);
    const LitSmoke lit(smoke.smoke, params);
    EXPECT_NEAR(std::log(lit.volume.transmittance({-2 * toward, toward})), -4, 0.08);
    EXPECT_NEAR(std::log(lit.pass({-2 * toward, toward}).through), -4, 0.02);

    // The lower one gets what the upper one leaves. Both are exact spheres here.
    double shaded = 0, open = 0;
    for (double z = 0.9995; z > -1; z -= 0.001) { // into the lower one
        const double along = z * static_cast<double>(toward.z()), out = -along + std::sqrt(along * along + 1 - z * z);
        const double beside2 = z * z - along * along, light = std::exp(-(1 - z) - out);
        open += light, shaded += light * std::exp(-2 * std::sqrt(1 - beside2));
    }
    const Ray across{Vec3f(0, 0, 5), Vec3f(0, 0, -1)};
    const TestSmoke alone({-24, -24, -24}, {24, 24, 24}, voxel, puff);
    const double ratio =
        luminance(KeyPart(smoke.smoke, params)(across)) / luminance(KeyPart(alone.smoke, params)(across));
    EXPECT_NEAR(ratio / (shaded / open), 1, 0.12); // far shadows are coarse
}

TEST(Volume, BodiesCastShadowsIntoSmoke)
{
    const TestSmoke smoke = even_ball(12);
    const RenderParams params = single_scattering(0.5f);
    const Vec3f toward = Sky(params).key_direction();
    const RenderSpheres moon = ball_at(3 * toward, 0.5f);
    RenderScene bodies;
    bodies.spheres = {&moon};
    const KeyPart open(smoke.smoke, params), shaded(smoke.smoke, params, bodies);
    Vec3f u, v;
    frame_around(toward, u, v);
    const auto share = [&](const Vec3f& beside) { // along the shadow's axis, and beside it
        const Ray ray{beside + 1.5f * toward, -toward};
        return luminance(shaded(ray)) / luminance(open(ray));
    };
    EXPECT_LT(share(Vec3f::Zero()), 0.01f);
    EXPECT_GT(share(0.8f * u), 0.99f);
}

TEST(Volume, SmokeOccludesOnlyWhatIsBehindIt)
{
    // A black curtain before or behind a ball.
    const RenderSpheres ball = ball_at({0, 1, 0}, 0.6f);
    RenderParams params = small_picture();
    params.smoke.color = Vec3f::Zero(), params.smoke.multiple_scattering = 0, params.smoke.density = 100.0f;
    params.floor = false;
    RenderScene scene;
    scene.spheres = {&ball}, scene.extent = {Vec3f(-2, 0, -2), Vec3f(2, 2, 2)};
    const Vec3f clear = render(scene, params).at(24, 24);
    const auto curtain = [&](int z) { return even_box({-60, -40, z}, {60, 80, z + 4}, 0.05f); };
    const TestSmoke before = curtain(20), behind = curtain(-24);
    scene.smokes = {&before.smoke};
    EXPECT_LT(render(scene, params).at(24, 24).maxCoeff(), 0.01f);
    scene.smokes = {&behind.smoke};
    const Image picture = render(scene, params);
    EXPECT_LT(picture.at(24, 2).maxCoeff(), 0.01f);
    EXPECT_GT(luminance(picture.at(24, 24)), 0.5f * luminance(clear));
    // The key light comes from the left and a little from behind, over the curtain's edge or not: never brighter.
    EXPECT_LT(luminance(picture.at(24, 24)), 1.01f * luminance(clear));
}

TEST(Volume, SmokeDarkensTheFloorBelowIt)
{
    const TestSmoke smoke = even_box({-10, 20, -10}, {10, 30, 10}, 0.1f);
    RenderParams params = small_picture();
    params.light.elevation = 90, params.smoke.density = 1.0f;
    params.camera.position = Vec3f(0, 1.5f, 6), params.camera.target = Vec3f(0, 0, 0);
    RenderScene scene;
    scene.extent = {Vec3f(-2, 0, -2), Vec3f(2, 4, 2)};
    const Vec3f open = render(scene, params).at(24, 24);
    scene.smokes = {&smoke.smoke};
    const Vec3f shaded = render(scene, params).at(24, 24);
    const Sky sky(params);
    const double key = luminance(sky.key_irradiance()) / kPi, dome = luminance(sky.ambient());
    // The key light through a metre of smoke, and the dome from all around it.
    const double least = key * std::exp(-1.0) / (key + dome), most = (key * std::exp(-1.0) + dome) / (key + dome);
    EXPECT_GT(luminance(shaded) / luminance(open), least);
    EXPECT_LT(luminance(shaded) / luminance(open), most);
}

TEST(Volume, PicturesWithoutSmokeAreUnchanged)
{
    const RenderSpheres ball = ball_at({0, 1, 0}, 0.6f);
    RenderScene scene;
    scene.spheres = {&ball}, scene.extent = {Vec3f(-2, 0, -2), Vec3f(2, 2, 2)};
    const Image without = render(scene, small_picture());
    TestSmoke nothing = even_box({0, 0, 0}, {8, 8, 8}, 0.1f, 0);
    scene.smokes = {&nothing.smoke};
    EXPECT_TRUE(render(scene, small_picture()).pixels == without.pixels);
    // What other programs may leave in a grid is no smoke either.
    const float values[] = {-1, std::numeric_limits<float>::quiet_NaN(), kInfinity};
    for (int c = 0; c < kTileCells; ++c) nothing.density.tile(0)[c] = values[c % 3];
    EXPECT_TRUE(render(scene, small_picture()).pixels == without.pixels);
    // A camera that frames by itself does not mind.
    scene.spheres = {}, scene.extent = {};
    EXPECT_TRUE(render(scene, small_picture()).pixels[0].allFinite());
}

TEST(Volume, AnyDensityGivesAPicture)
{
    const float huge = std::numeric_limits<float>::max(), tiny = std::numeric_limits<float>::denorm_min();
    const TestSmoke smoke({-8, 0, -8}, {8, 16, 8}, 0.1f, [&](const Vec3f& x) {
        return x.x() > 0 ? huge : x.y() > 1 ? tiny : 1;
    });
    RenderParams params = small_picture();
    RenderScene scene;
    scene.smokes = {&smoke.smoke};
    for (const float extinction : {0.0f, 1e-20f, 1.0f, 1e30f}) {
        params.smoke.density = extinction;
        for (const Vec3f& pixel : render(scene, params).pixels) ASSERT_TRUE(pixel.allFinite() && pixel.minCoeff() >= 0);
    }
}

TEST(Volume, StrayCellsCostLittleOrAreReported)
{
    for (const int tiles : {4000, 5000}) {
        const Topology topology({morton_of_tile({0, 0, 0}), morton_of_tile({tiles, 0, tiles})});
        const Field<float> density(topology, 1, 0);
        RenderSmoke smoke;
        smoke.name = "puff.vdb", smoke.density = {&density, 0.1f, Vec3f::Zero()};
        RenderScene scene;
        scene.smokes = {&smoke}, scene.extent = {Vec3f(0, 0, 0), Vec3f(1, 1, 1)};
        if (tiles > 4096) {
            const std::string message = error_of(ExitCode::failed, [&] { render(scene, small_picture()); });
            EXPECT_TRUE(contains(message, "puff.vdb: smoke reaches over")) << message;
        } else {
            EXPECT_TRUE(render(scene, small_picture()).pixels[0].allFinite());
        }
    }
}

TEST(Volume, HotSmokeGlowsRedThenYellow)
{
    TestSmoke smoke = even_ball(8);
    smoke.temperature.reset(*smoke.topology, 0);
    smoke.smoke.temperature = {&smoke.temperature, smoke.voxel, smoke.smoke.density.origin};
    RenderParams params = single_scattering(1);
    const auto glow = [&](float temperature) -> Vec3f {
        std::ranges::fill(smoke.temperature.values(), temperature);
        const Ray ray{Vec3f(0, 0, 5), Vec3f(0, 0, -1)};
        const Vec3f hot = LitSmoke(smoke.smoke, params).pass(ray).light;
        RenderParams cold = params;
        cold.fire.intensity = 0;
        return hot - LitSmoke(smoke.smoke, cold).pass(ray).light;
    };
    EXPECT_EQ(glow(300), Vec3f::Zero());
    const Vec3f embers = glow(650), flame = glow(1500);
    EXPECT_GT(embers.x(), 0);
    EXPECT_LT(embers.y() / embers.x(), 0.3f);
    EXPECT_GT(flame.y() / flame.x(), 0.4f);
    EXPECT_GT(luminance(flame), 4 * luminance(embers));
    params.fire.intensity = 2;
    EXPECT_NEAR(glow(1500).x() / flame.x(), 2, 0.01);
    // Clear flames too.
    std::ranges::fill(smoke.density.values(), 0);
    EXPECT_GT(LitSmoke(smoke.smoke, params).pass({Vec3f(0, 0, 5), Vec3f(0, 0, -1)}).light.x(), 0.1f);
}

TEST(Volume, SmokeMayHaveAColourField)
{
    const TestSmoke smoke = even_ball(8);
    RenderParams params = single_scattering(1);
    const Ray ray{Vec3f(0, 0, 5), Vec3f(0, 0, -1)};
    const Vec3f white = LitSmoke(smoke.smoke, params).pass(ray).light;
    Field<Vec3f> color(*smoke.topology, Vec3f(1, 0.5f, 0));
    RenderSmoke colored = smoke.smoke;
    colored.color = {&color, smoke.voxel, smoke.smoke.density.origin};
    const Vec3f seen = LitSmoke(colored, params).pass(ray).light;
    for (int k = 0; k < 3; ++k) EXPECT_NEAR(seen[k], Vec3f(1, 0.5f, 0)[k] * white[k], 1e-4f);
}

TEST(Volume, PicturesOfSmokeHaveTheSameBitsForAnyNumberOfThreads)
{
    TestSmoke cloud({-24, -4, -24}, {24, 40, 24}, 0.05f, [](const Vec3f& x) {
        return std::max(0.0f, 0.5f + gradient_noise(4 * x, 1).value - (x - Vec3f(0, 1, 0)).squaredNorm());
    });
    cloud.temperature.reset(*cloud.topology, 900);
    cloud.smoke.temperature = {&cloud.temperature, cloud.voxel, cloud.smoke.density.origin};
    RenderSpheres ball = ball_at({0.3f, 0.5f, 0.6f}, 0.4f);
    RenderScene scene;
    scene.smokes = {&cloud.smoke}, scene.spheres = {&ball},
    scene.extent = {Vec3f(-1.2f, 0, -1.2f), Vec3f(1.2f, 2, 1.2f)};
    const auto picture = [&] { return render(scene, small_picture()).pixels; };
    const auto one = with_threads(1, picture);
    EXPECT_TRUE(with_threads(2, picture) == one);
    EXPECT_TRUE(with_threads(3, picture) == one);
}
