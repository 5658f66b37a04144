#include "spindrift/render/preview.h"

#include "spindrift/base/parallel.h"
#include "spindrift/render/camera.h"
#include "spindrift/render/optics.h"

#include "render/simple_meshes.h"

#include <gtest/gtest.h>
#include <set>

using namespace spindrift;

namespace {

Vec3f corner(const Box3f& box, int i)
{
    return {i & 1 ? box.max.x() : box.min.x(), i & 2 ? box.max.y() : box.min.y(), i & 4 ? box.max.z() : box.min.z()};
}

RenderParams small_picture(int width = 64, int height = 36)
{
    RenderParams params;
    params.width = width, params.height = height, params.samples = 4;
    return params;
}

// White from everywhere and nothing that absorbs: whatever is in the picture must be white too.
RenderParams furnace()
{
    RenderParams params = small_picture();
    params.sky = RenderParams::Sky::uniform;
    params.floor = false, params.edges = false;
    params.water.color = Vec3f(1, 1, 1);
    params.solid_color = Vec3f(1, 1, 1);
    return params;
}

void expect_finite(const Image& image)
{
    for (const Vec3f& pixel : image.pixels) ASSERT_TRUE(pixel.allFinite() && pixel.minCoeff() >= 0);
}

const Box3f kCube{Vec3f(-1, 0, -1), Vec3f(1, 2, 1)};

} // namespace

TEST(Preview, FresnelAtNormalIncidenceIsTheSquareOfTheIndexContrast)
{
    const float n = 1.333f, expected = std::pow((n - 1) / (n + 1), 2.0f);
    EXPECT_NEAR(fresnel(1, 1 / n), expected, 1e-6f);
    EXPECT_NEAR(fresnel(1, n), expected, 1e-6f);
    EXPECT_NEAR(fresnel(0, 1 / n), 1, 1e-6f);
}

TEST(Preview, LightIsTotallyReflectedBeyondTheCriticalAngleOnly)
{
    const float n = 1.333f, critical = std::sqrt(1 - 1 / (n * n));
    EXPECT_EQ(fresnel(critical - 1e-3f, n), 1);
    EXPECT_LT(fresnel(critical + 1e-3f, n), 1);
}

TEST(Preview, RefractedRaysObeySnell)
{
    const float n = 1.333f;
    for (const float angle : {0.1f, 0.5f, 1.0f, 1.4f}) {
        const Interface meets = meet_interface({std::sin(angle), -std::cos(angle), 0}, {0, 1, 0}, 1 / n);
        EXPECT_NEAR(meets.refracted.norm(), 1, 1e-5f);
        EXPECT_NEAR(n * meets.refracted.x(), std::sin(angle), 1e-5f);
        EXPECT_LT(meets.refracted.y(), 0);
        EXPECT_NEAR(meets.reflected.y(), std::cos(angle), 1e-5f);
    }
}

TEST(Preview, ClearWaterIsInvisibleInAWhiteFurnace)
{
    const Mesh drop = sphere_of_rows({0, 1, 0}, 0.8f);
    RenderScene scene;
    scene.surfaces = {&drop}, scene.extent = kCube;
    for (const Vec3f& pixel : render(scene, furnace()).pixels) EXPECT_NEAR((pixel - Vec3f::Ones()).norm(), 0, 1e-3f);
}

TEST(Preview, WhiteMatteBodiesAreInvisibleInAWhiteFurnace)
{
    const Mesh ball = sphere_of_rows({0, 1, 0}, 0.8f);
    RenderScene scene;
    scene.solids = {&ball}, scene.extent = kCube;
    for (const Vec3f& pixel : render(scene, furnace()).pixels) EXPECT_NEAR((pixel - Vec3f::Ones()).norm(), 0, 0.01f);
}

TEST(Preview, LightThroughASlabOfWaterFallsOffExponentially)
{
    RenderParams params = furnace();
    params.camera.position = Vec3f(0, 0, 30), params.camera.target = Vec3f(0, 0, 0), params.camera.fov = 2;
    params.water.deep_color = Vec3f(0, 0, 0);
    params.water.color = Vec3f(0.2f, 0.5f, 0.8f), params.water.depth = 2.0f;
    for (const float thickness : {0.5f, 2.0f, 3.0f}) {
        const Mesh slab = box_mesh({Vec3f(-5, -5, -0.5f * thickness), Vec3f(5, 5, 0.5f * thickness)});
        RenderScene scene;
        scene.surfaces = {&slab}, scene.extent = {Vec3f(-5, -5, -2), Vec3f(5, 5, 2)};
        const Vec3f seen = render(scene, params).at(params.width / 2, params.height / 2);
        // Light is also mirrored at both faces, forth and back; all of that is white before it is absorbed.
        const double mirrored = std::pow(0.333 / 2.333, 2);
        for (int k = 0; k < 3; ++k) {
            const double clear = std::pow(static_cast<double>(params.water.color[k]), thickness / 2.0);
            const double rounds = 1 / (1 - std::pow(mirrored * clear, 2));
            const double through = std::pow(1 - mirrored, 2) * clear * rounds;
            const double back = mirrored + mirrored * std::pow((1 - mirrored) * clear, 2) * rounds;
            EXPECT_NEAR(seen[k], through + back, 0.015) << "thickness " << thickness << ", channel " << k;
        }
    }
}

TEST(Preview, PicturesHaveTheSameBitsForAnyNumberOfThreads)
{
    const Mesh water = sphere_of_rows({0, 1, 0}, 0.8f), ball = sphere_of_rows({0.5f, 0.4f, 0.6f}, 0.4f);
    RenderSpheres spray;
    spray.centers = {Vec3f(-0.8f, 0.2f, 0.5f), Vec3f(-0.7f, 1.5f, 0.2f)};
    spray.colors = {Vec3f(1, 0.5f, 0), color_map(0.5f)};
    spray.radius = 0.15f;
    RenderScene scene;
    scene.surfaces = {&water}, scene.solids = {&ball}, scene.spheres = {&spray};
    scene.extent = kCube, scene.container = kCube;
    set_thread_count(1);
    const Image one = render(scene, small_picture());
    set_thread_count(2);
    for (int i = 0; i < 5; ++i) // how the work is shared between threads differs every time
        EXPECT_TRUE(render(scene, small_picture()).pixels == one.pixels);
    set_thread_count(0);
}

namespace {

double error_against(const Image& reference, const Image& image)
{
    const std::vector<Vec3f> a = tone_mapped(reference, {}).pixels, b = tone_mapped(image, {}).pixels;
    double sum = 0;
    for (size_t i = 0; i < a.size(); ++i) sum += static_cast<double>((a[i] - b[i]).squaredNorm());
    return std::sqrt(sum / static_cast<double>(3 * a.size()));
}

} // namespace

TEST(Preview, SharingPathsKeepsTheErrorOfAllSamples)
{
    const Mesh drop = sphere_of_rows({0, 1, 0}, 0.8f), stone = sphere_of_rows({0.5f, 0.4f, 0.9f}, 0.4f);
    RenderSpheres spray; // smaller than a pixel
    for (int i = 0; i < 400; ++i) {
        const float a = static_cast<float>(i);
        spray.centers.push_back({0.9f * std::sin(a), 1 + 0.9f * std::sin(3.7f * a), 0.9f * std::cos(1.3f * a)});
        spray.colors.push_back(Vec3f(0.9f, 0.9f, 0.9f));
    }
    spray.radius = 0.012f;
    RenderScene scene;
    scene.surfaces = {&drop}, scene.solids = {&stone}, scene.spheres = {&spray}, scene.extent = kCube;
    RenderParams params = small_picture(96, 54);
    // A lens, however small, makes every pixel take all of its samples.
    params.quality = RenderParams::Quality::full, params.samples = 512, params.camera.f_stop = 1e6f;
    const Image reference = render(scene, params);
    params.samples = 16, params.camera.f_stop = 0;
    const double full = error_against(reference, render(scene, params));
    params.quality = RenderParams::Quality::preview;
    EXPECT_LT(error_against(reference, render(scene, params)), full);
    params.samples = 64; // and more of them help
    EXPECT_LT(error_against(reference, render(scene, params)), 0.7 * full);
}

TEST(Preview, DraftsHaveTheSizeAndTheBrightnessOfPictures)
{
    const Mesh drop = sphere_of_rows({0, 1, 0}, 0.8f);
    RenderScene scene;
    scene.surfaces = {&drop}, scene.extent = kCube, scene.container = kCube;
    for (const int width : {1, 2, 63, 64}) {
        RenderParams params = small_picture(width, 37);
        const Image picture = render(scene, params);
        params.quality = RenderParams::Quality::draft;
        const Image draft = render(scene, params);
        ASSERT_EQ(draft.width, width);
        ASSERT_EQ(draft.pixels.size(), picture.pixels.size());
        Vec3f a = Vec3f::Zero(), b = Vec3f::Zero();
        for (size_t i = 0; i < picture.pixels.size(); ++i) a += picture.pixels[i], b += draft.pixels[i];
        EXPECT_NEAR(luminance(b) / luminance(a), 1, 0.05);
    }
}

TEST(Preview, AutomaticCameraFramesTheWholeExtent)
{
    for (const Box3f& extent : {kCube, Box3f{Vec3f(0, 0, 0), Vec3f(10, 1, 1)}, Box3f{Vec3f(5, 5, 5), Vec3f(6, 25, 6)},
                                Box3f{Vec3f(-1, 0, -30), Vec3f(1, 0, 30)}})
        for (const Vec3i& size : {Vec3i(960, 540, 0), Vec3i(300, 900, 0), Vec3i(64, 64, 0)}) {
            const Camera camera(CameraParams(), extent, size.x(), size.y());
            Vec3f low = Vec3f::Constant(kInfinity), high = -low;
            for (int i = 0; i < 8; ++i) {
                const Vec3f seen = camera.project(corner(extent, i));
                low = low.cwiseMin(seen), high = high.cwiseMax(seen);
            }
            const float width = static_cast<float>(size.x()), height = static_cast<float>(size.y());
            EXPECT_GT(low.z(), 0);
            EXPECT_TRUE(low.x() >= 0 && low.y() >= 0 && high.x() <= width && high.y() <= height);
            // ... and does not stand farther away than it must.
            EXPECT_GT(std::max((high.x() - low.x()) / width, (high.y() - low.y()) / height), 0.8f);
        }
}

TEST(Preview, ProjectionIsTheInverseOfCameraRays)
{
    CameraParams params;
    params.position = Vec3f(3, 2, 1), params.target = Vec3f(-1, 0.5f, 0.2f);
    const Camera camera(params, kCube, 320, 200);
    const Ray ray = camera.ray(12.25f, 170.5f);
    const Vec3f seen = camera.project(ray.origin + 4.5f * ray.direction);
    EXPECT_NEAR(seen.x(), 12.25f, 0.01f);
    EXPECT_NEAR(seen.y(), 170.5f, 0.01f);
}

TEST(Preview, EmptyAndInvalidScenesGivePictures)
{
    expect_finite(render(RenderScene(), small_picture()));

    Mesh nothing;
    RenderSpheres no_spheres;
    RenderScene hollow;
    hollow.surfaces = {&nothing}, hollow.solids = {&nothing, nullptr}, hollow.spheres = {&no_spheres};
    expect_finite(render(hollow, small_picture()));

    Mesh broken = sphere_of_rows({0, 1, 0}, 0.5f, 8);
    broken.positions[5] = Vec3f::Constant(std::numeric_limits<float>::quiet_NaN());
    broken.normals[7] = Vec3f::Zero();
    broken.triangles.push_back({3, 3, 3});
    broken.triangles.push_back({0, 1, 100000});
    broken.triangles.push_back({0, 0, 4});
    RenderSpheres specks;
    specks.centers = {Vec3f(0, 1, 0), Vec3f::Constant(kInfinity)}, specks.radius = 0.1f; // no colours at all
    RenderScene scene;
    scene.surfaces = {&broken}, scene.spheres = {&specks};
    for (const Box3f& extent : {Box3f(), kCube, Box3f{Vec3f(1, 1, 1), Vec3f(1, 1, 1)}}) {
        scene.extent = extent, scene.container = extent;
        expect_finite(render(scene, small_picture()));
    }
}

TEST(Preview, APictureOfOnePixelWorks)
{
    const Mesh water = sphere_of_rows({0, 1, 0}, 0.8f);
    RenderScene scene;
    scene.surfaces = {&water}, scene.extent = kCube, scene.container = kCube;
    RenderParams params = small_picture(1, 1);
    params.samples = 1;
    const Image image = render(scene, params);
    ASSERT_EQ(image.pixels.size(), 1u);
    expect_finite(image);
}

TEST(Preview, DeeperWaterIsDarkerAndBluer)
{
    const auto middle = [](float radius) {
        const Mesh water = sphere_of_rows({0, 1, 0}, radius);
        RenderScene scene;
        scene.surfaces = {&water}, scene.extent = kCube;
        const RenderParams params = small_picture();
        return render(scene, params).at(params.width / 2, params.height / 2);
    };
    const Vec3f thin = middle(0.1f), thick = middle(0.9f);
    EXPECT_LT(luminance(thick), luminance(thin));
    EXPECT_LT(thick.x() / thick.z(), thin.x() / thin.z());
}

TEST(Preview, ThinSplashesAreAsBrightAsTheirSurroundings)
{
    Mesh spray; // many droplets on top of each other
    for (int i = 0; i < 300; ++i) {
        const float a = static_cast<float>(i);
        const Mesh drop =
            sphere_of_rows({0.9f * std::sin(a), 1 + 0.9f * std::sin(3.7f * a), 0.9f * std::cos(1.3f * a)}, 0.05f, 8);
        const int first = static_cast<int>(spray.positions.size());
        spray.positions.insert(spray.positions.end(), drop.positions.begin(), drop.positions.end());
        spray.normals.insert(spray.normals.end(), drop.normals.begin(), drop.normals.end());
        for (const Vec3i& t : drop.triangles) spray.triangles.push_back(t.array() + first);
    }
    RenderScene scene;
    scene.extent = kCube;
    const Image empty = render(scene, small_picture());
    scene.surfaces = {&spray};
    const Image full = render(scene, small_picture());
    for (size_t i = 0; i < full.pixels.size(); ++i)
        EXPECT_GT(luminance(full.pixels[i]), 0.25f * luminance(empty.pixels[i]));
}

TEST(Preview, MatteBodiesCastShadowsAndWaterFocusesLight)
{
    // From straight above a ball hangs over the floor, lit from the side: its shadow is beside it.
    RenderParams params = small_picture(96, 96);
    params.camera.position = Vec3f(0, 9, 0.01f), params.camera.target = Vec3f(0, 0, 0);
    RenderScene scene;
    scene.extent = {Vec3f(-2, 0, -2), Vec3f(2, 2, 2)};
    const Image open = render(scene, params);
    const Mesh ball = sphere_of_rows({0, 1, 0}, 0.5f);
    scene.solids = {&ball};
    const Image matte = render(scene, params);
    scene.solids = {}, scene.surfaces = {&ball};
    const Image water = render(scene, params);
    float darkest = 1, brightest = 0;
    for (size_t i = 0; i < open.pixels.size(); ++i) {
        darkest = std::min(darkest, luminance(matte.pixels[i]) / luminance(open.pixels[i]));
        brightest = std::max(brightest, luminance(water.pixels[i]) / luminance(open.pixels[i]));
    }
    EXPECT_LT(darkest, 0.6f);
    EXPECT_GT(brightest, 1.5f);
}

TEST(Preview, ToneMappingStaysInRangeAndKeepsTheOrderOfBrightness)
{
    Image image(200, 1);
    for (int x = 0; x < 200; ++x) image.at(x, 0) = Vec3f::Constant(0.1f * static_cast<float>(x));
    const Image mapped = tone_mapped(image, RenderParams());
    EXPECT_EQ(mapped.at(0, 0), Vec3f::Zero());
    for (int x = 1; x < 200; ++x) {
        EXPECT_GE(mapped.at(x, 0).x(), mapped.at(x - 1, 0).x());
        EXPECT_LE(mapped.at(x, 0).x(), 1);
    }
    RenderParams brighter;
    brighter.exposure = 1;
    EXPECT_GT(tone_mapped(image, brighter).at(2, 0).x(), mapped.at(2, 0).x());
}

TEST(Preview, LightnessOfTheColorMapIncreasesLinearly)
{
    // Lightness of CIE Lab, from luminance alone.
    const auto lightness = [](float t) { return 116 * std::cbrt(luminance(color_map(t))) - 16; };
    const float whole = lightness(1) - lightness(0);
    EXPECT_GT(whole, 55);
    for (int i = 0; i < 20; ++i) {
        const float step = lightness(static_cast<float>(i + 1) / 20) - lightness(static_cast<float>(i) / 20);
        EXPECT_NEAR(step, whole / 20, 0.35f * whole / 20);
    }
    EXPECT_EQ(color_map(-1), color_map(0));
    EXPECT_EQ(color_map(2), color_map(1));
    EXPECT_EQ(color_map(std::numeric_limits<float>::quiet_NaN()), color_map(0));
}

namespace {

// Checks every default against its own range, and that no name is used twice in one table.
class DefaultsVisitor : public ParamVisitor {
  public:
    int count = 0;

  private:
    std::set<std::string> names_;

    void check(const ParamInfo& info, double value)
    {
        EXPECT_GE(value, info.range.low) << info.name;
        EXPECT_LE(value, info.range.high) << info.name;
    }
    void note(const ParamInfo& info)
    {
        ++count;
        EXPECT_TRUE(names_.insert(info.name).second) << info.name;
        EXPECT_FALSE(info.help.empty()) << info.name;
    }
    void number(const ParamInfo& info, float& value) override { note(info), check(info, value); }
    void integer(const ParamInfo& info, int& value) override { note(info), check(info, value); }
    void vector(const ParamInfo& info, Vec3f& value) override
    {
        note(info);
        for (const float x : value) check(info, x);
    }
    void optional_number(const ParamInfo& info, std::optional<float>&) override { note(info); }
    void optional_vector(const ParamInfo& info, std::optional<Vec3f>&) override { note(info); }
    void boolean(const ParamInfo& info, bool&) override { note(info); }
    void text(const ParamInfo& info, std::string&) override { note(info); }
    void texts(const ParamInfo& info, std::vector<std::string>&) override { note(info); }
    void choice(const ParamInfo& info, int& value) override
    {
        note(info);
        EXPECT_LT(value, static_cast<int>(info.choices.size())) << info.name;
    }
    void table(const ParamInfo& info, int, std::vector<std::vector<float>>&) override { note(info); }
    void group_of(const ParamInfo& info, const std::function<void(ParamVisitor&)>& visit) override
    {
        note(info);
        DefaultsVisitor inner;
        visit(inner);
        count += inner.count;
    }
    void list_of(const ParamInfo& info, const ListAccess&) override { note(info); }
};

} // namespace

TEST(Preview, EveryParameterHasAnAllowedDefaultAndHelp)
{
    RenderParams params;
    DefaultsVisitor visitor;
    params.visit(visitor);
    EXPECT_GT(visitor.count, 15);
}
