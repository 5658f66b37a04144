#include "spindrift/render/preview.h"

#include "spindrift/base/error.h"
#include "spindrift/base/parallel.h"
#include "spindrift/render/container_edges.h"
#include "spindrift/render/exposure.h"
#include "spindrift/render/marker_picture.h"

#include <set>

namespace spindrift {

namespace {

void check(const RenderScene& scene, const RenderParams& params)
{
    if (params.width < 1 || params.height < 1 || params.samples < 1)
        bad_input("render: a picture of {} x {} pixels with {} samples cannot be made; all must be at least 1",
                  params.width, params.height, params.samples);
    std::set<std::string> names;
    for (const RenderLayer& layer : scene.layers) {
        const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
        const auto good = [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '_'; };
        if (layer.name.empty() || !letter(layer.name[0]) || !std::ranges::all_of(layer.name, good))
            bad_input("render: a layer cannot be named '{}'; names are letters, digits and '_', a letter first",
                      layer.name);
        if (!names.insert(layer.name).second) bad_input("render: there are two layers named '{}'", layer.name);
    }
    const int layers = std::max(1, static_cast<int>(scene.layers.size()));
    const auto expect = [layers](int layer) {
        if (layer < 0 || layer >= layers) bad_input("render: there is no layer {}; there are {}", layer, layers);
    };
    for (const RenderSurface& surface : scene.surfaces) expect(surface.layer);
    for (const RenderSolid& solid : scene.solids) expect(solid.layer);
    for (const RenderSpheres* spheres : scene.spheres)
        if (spheres) expect(spheres->layer);
    for (const RenderSmoke* smoke : scene.smokes)
        if (smoke) expect(smoke->layer);
    for (const RenderMarkers* markers : scene.markers) expect(markers->layer);
}

// The bounds of everything in a scene, for scenes without an extent.
Box3f contents(const RenderScene& scene, const RenderParams& params)
{
    Box3f box;
    for (const RenderSmoke* smoke : scene.smokes)
        if (smoke) box.add(bounds_of(*smoke, params));
    for (const RenderSurface& surface : scene.surfaces)
        if (surface.mesh) box.add(bounds_of(*surface.mesh));
    for (const RenderSolid& solid : scene.solids)
        if (solid.mesh()) box.add(bounds_of(*solid.mesh()));
    for (const RenderSpheres* spheres : scene.spheres)
        for (size_t i = 0; spheres && i < spheres->centers.size(); ++i) {
            const Vec3f& center = spheres->centers[i];
            box.add(Box3f{center, center}.grown(spheres->radius_of(i)));
        }
    return box;
}

// --- drafts are drawn at half the size

// The two pixels between which pixel `i` of a picture twice as large lies, and the weight of the second.
struct Place {
    int first, second;
    float weight;
    Place(int i, int size)
        : first(std::clamp((i - 1) >> 1, 0, size - 1)), second(std::min(((i - 1) >> 1) + 1, size - 1)),
          weight(i % 2 == 0 ? 0.75f : 0.25f)
    {
    }
};

template <class T> std::vector<T> enlarged(const std::vector<T>& small, int width, int height, bool smooth)
{
    if (small.empty()) return {};
    const int columns = (width + 1) / 2, rows = (height + 1) / 2;
    std::vector<T> large(static_cast<size_t>(width) * height);
    parallel_for(
        height,
        [&](size_t y) {
            const T* row = &small[y / 2 * columns];
            const Place j(static_cast<int>(y), rows);
            const T *above = &small[static_cast<size_t>(j.first) * columns],
                    *below = &small[static_cast<size_t>(j.second) * columns];
            for (int x = 0; x < width; ++x) {
                T& value = large[y * width + x];
                if (!smooth) {
                    value = row[x / 2];
                    continue;
                }
                const Place i(x, columns);
                const T first = (1 - i.weight) * above[i.first] + i.weight * above[i.second];
                const T second = (1 - i.weight) * below[i.first] + i.weight * below[i.second];
                value = (1 - j.weight) * first + j.weight * second;
            }
        },
        16);
    return large;
}

void enlarge(Picture& picture, std::vector<float>& nearest, int width, int height)
{
    Image color(width, height);
    color.pixels = enlarged(picture.color.pixels, width, height, true);
    picture.color = std::move(color);
    picture.alpha = enlarged(picture.alpha, width, height, true);
    for (std::vector<float>& mask : picture.masks) mask = enlarged(mask, width, height, true);
    picture.depth = enlarged(picture.depth, width, height, false);
    picture.normal = enlarged(picture.normal, width, height, false);
    picture.velocity = enlarged(picture.velocity, width, height, false);
    nearest = enlarged(nearest, width, height, false);
}

Picture draw(const RenderScene& scene, const RenderParams& params, bool channels)
{
    check(scene, params);
    const bool draft = params.quality == RenderParams::Quality::draft;
    const Box3f extent = usable_extent(scene.extent.empty() ? contents(scene, params) : scene.extent);
    const Box3f view = scene.view.empty() ? extent : usable_extent(scene.view);
    const MovingCamera camera(params.camera, scene.frame, view, params.width, params.height);
    const Sky sky(params);
    Volumes smoke(scene.smokes, params, extent, params.camera.shutter / 360 / scene.fps);
    const RayScene rays(scene, smoke, params, extent);
    const Floor floor(rays, sky, extent, params.floor, camera.has_shutter(), params.quality);
    smoke.light(rays, sky, floor);
    std::vector<RenderLayer::Mode> modes;
    for (const RenderLayer& layer : scene.layers) modes.push_back(layer.mode);
    if (modes.empty()) modes.emplace_back();
    const PathTracer tracer(rays, sky, floor, modes, params.background);

    const int width = draft ? (params.width + 1) / 2 : params.width;
    const int height = draft ? (params.height + 1) / 2 : params.height;
    Exposure exposure(camera, tracer, width, height, draft ? 2 : 1, modes.size(), channels);
    switch (params.quality) {
    case RenderParams::Quality::draft:
        exposure.evenly(1);
        enlarge(exposure.picture, exposure.nearest, params.width, params.height);
        break;
    case RenderParams::Quality::preview:
        exposure.together(params.samples);
        break;
    case RenderParams::Quality::full:
        exposure.separately(params.samples);
    }
    Picture& picture = exposure.picture;
    if (params.edges && params.background && scene.container)
        draw_edges(*scene.container, camera.middle(), exposure.nearest, picture.color, picture.alpha);
    // A marker scatters light uniformly, and is lit by half of the sky; smoke occludes the other half.
    const MarkerLight light{params.smoke.marker_opacity, sky.key_irradiance() / static_cast<float>(2 * kPi),
                            0.5f * sky.ambient()};
    if (!scene.markers.empty()) draw_markers(scene.markers, modes, light, camera.middle(), exposure.nearest, picture);
    return std::move(picture);
}

} // namespace

Image render(const RenderScene& scene, const RenderParams& params) { return draw(scene, params, false).color; }

Picture render_picture(const RenderScene& scene, const RenderParams& params) { return draw(scene, params, true); }

ChannelImage channels_of(const Picture& picture, const RenderScene& scene)
{
    ChannelImage image(picture.color.width, picture.color.height);
    const auto add = [&](const std::string& name, ChannelImage::Precision precision, const auto& value) {
        ChannelImage::Channel& channel = image.add(name, precision);
        for (size_t i = 0; i < channel.values.size(); ++i) channel.values[i] = value(i);
    };
    using enum ChannelImage::Precision;
    for (int k = 0; k < 3; ++k)
        add(std::string(1, "RGB"[k]), half, [&](size_t i) { return picture.color.pixels[i][k]; });
    add("A", half, [&](size_t i) { return picture.alpha[i]; });
    if (picture.depth.empty()) return image;
    add("Z", full, [&](size_t i) { return picture.depth[i]; });
    for (int k = 0; k < 3; ++k)
        add(fmt::format("N.{}", "XYZ"[k]), half, [&](size_t i) { return picture.normal[i][k]; });
    for (int k = 0; k < 3; ++k)
        add(fmt::format("velocity.{}", "XYZ"[k]), full, [&](size_t i) { return picture.velocity[i][k]; });
    for (size_t layer = 0; layer < scene.layers.size(); ++layer)
        add(fmt::format("mask_{}.Y", scene.layers[layer].name), half,
            [&](size_t i) { return picture.masks[layer][i]; });
    return image;
}

} // namespace spindrift
