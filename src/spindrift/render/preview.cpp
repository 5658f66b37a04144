#include "spindrift/render/preview.h"

#include "spindrift/base/error.h"
#include "spindrift/base/interrupt.h"
#include "spindrift/base/parallel.h"
#include "spindrift/render/camera.h"
#include "spindrift/render/container_edges.h"
#include "spindrift/render/path_tracer.h"

namespace spindrift {

namespace {

constexpr int kTile = 16;
constexpr int kPilot = 4;         // paths that show whether a pixel has anything in it that needs more
constexpr float kVisible = 0.01f; // relative error of a pixel that nobody sees

struct Pixel {
    Vec3f sum = Vec3f::Zero();
    float squares = 0; // of luminance
    int paths = 0;
    float nearest = kInfinity;
    bool detailed = false, hazy = false;

    // Whether the paths differ by more than the eye would see in their mean.
    bool noisy() const
    {
        const float n = static_cast<float>(paths), mean = luminance(sum) / n;
        const float variance = std::max(0.0f, squares / n - mean * mean);
        const float seen = kVisible * (mean + 0.1f);
        return variance > n * seen * seen;
    }
};

// What there is to see, for scenes that do not say what to frame.
Box3f contents(const RenderScene& scene, const RenderParams& params)
{
    Box3f box;
    if (scene.smoke) box.add(bounds_of(*scene.smoke, params));
    if (scene.liquid) box.add(bounds_of(*scene.liquid));
    for (const RenderSolid& solid : scene.solids)
        if (solid.mesh()) box.add(bounds_of(*solid.mesh()));
    if (scene.spheres)
        for (size_t i = 0; i < scene.spheres->centers.size(); ++i) {
            const Vec3f& center = scene.spheres->centers[i];
            box.add(Box3f{center, center}.grown(scene.spheres->radius_of(i)));
        }
    return box;
}

struct Frame {
    const MovingCamera& camera;
    const PathTracer& tracer;
    int width, height;
    std::vector<Pixel> pixels;

    template <class Body> void for_each_tile(const Body& body)
    {
        const int across = (width + kTile - 1) / kTile, down = (height + kTile - 1) / kTile;
        parallel_for(static_cast<size_t>(across) * down, [&](size_t tile) {
            check_interrupt();
            const int x0 = static_cast<int>(tile) % across * kTile, y0 = static_cast<int>(tile) / across * kTile;
            for (int y = y0; y < std::min(y0 + kTile, height); ++y)
                for (int x = x0; x < std::min(x0 + kTile, width); ++x) body(x, y);
        });
    }

    // Adds the paths [begin, end) of a pixel. Positions follow a tent two pixels wide, which leaves no jagged edges.
    // Never inlined, like all arithmetic of parallel loops here: see render/floor_light.h.
    [[gnu::noinline]] void add_paths(int x, int y, int begin, int end)
    {
        const size_t number = static_cast<size_t>(y) * width + x;
        Pixel& pixel = pixels[number];
        for (int path = begin; path < end; ++path) {
            Sampler random(number, static_cast<uint32_t>(path));
            const Vec2f square = random.pair();
            const auto tent = [](float u) { return u < 0.5f ? std::sqrt(2 * u) - 1 : 1 - std::sqrt(2 - 2 * u); };
            const Vec2f lens = camera.has_lens() ? random.pair() : Vec2f::Zero().eval();
            const float time = camera.has_shutter() ? random.single() : 0.5f;
            const Ray ray = camera.ray(static_cast<float>(x) + 0.5f + tent(square.x()),
                                       static_cast<float>(y) + 0.5f + tent(square.y()), lens, time);
            const PathTracer::Sample sample = tracer.trace(ray, random);
            pixel.sum += sample.light;
            pixel.squares += luminance(sample.light) * luminance(sample.light);
            ++pixel.paths;
            pixel.nearest = std::min(pixel.nearest, sample.distance);
            pixel.detailed |= sample.detailed, pixel.hazy |= sample.hazy;
        }
    }

    // All paths of a pixel that has something in it: half of them do where they agree.
    [[gnu::noinline]] void finish(int x, int y, int pilot, int samples)
    {
        const int half = std::max(pilot, samples / 2);
        add_paths(x, y, pilot, half);
        if (pixels[static_cast<size_t>(y) * width + x].noisy()) add_paths(x, y, half, samples);
    }

    bool detailed_around(int x, int y) const
    {
        for (int j = std::max(y - 1, 0); j <= std::min(y + 1, height - 1); ++j)
            for (int i = std::max(x - 1, 0); i <= std::min(x + 1, width - 1); ++i)
                if (pixels[static_cast<size_t>(j) * width + i].detailed) return true;
        return false;
    }
};

} // namespace

Image render(const RenderScene& scene, const RenderParams& params)
{
    if (params.width < 1 || params.height < 1 || params.samples < 1)
        bad_input("render: a picture of {} x {} pixels with {} samples cannot be made; all must be at least 1",
                  params.width, params.height, params.samples);
    const Box3f extent = usable_extent(scene.extent.empty() ? contents(scene, params) : scene.extent);
    const Box3f view = scene.view.empty() ? extent : usable_extent(scene.view);
    const MovingCamera camera(params.camera, scene.frame, view, params.width, params.height);
    const Sky sky(params);
    Volume smoke(scene.smoke, params, extent);
    const World world(scene, smoke, params, extent);
    const Floor floor(world, sky, extent, params.floor, camera.has_shutter());
    smoke.light(world, sky, floor);
    const PathTracer tracer(world, sky, floor);

    Frame frame{camera, tracer, params.width, params.height, {}};
    frame.pixels.resize(static_cast<size_t>(params.width) * params.height);
    // A few paths do not show what passes through a pixel while the shutter is open, or lies out of focus in it.
    const bool blurred = camera.has_lens() || camera.has_shutter();
    const int pilot = blurred ? params.samples : std::min(kPilot, params.samples);
    frame.for_each_tile([&](int x, int y) { frame.add_paths(x, y, 0, pilot); });

    // Floor and sky are smooth and already done; so is most smoke, and calm water after half of its paths. Flags are
    // gathered before any of them can change.
    std::vector<char> unfinished(frame.pixels.size(), 0);
    frame.for_each_tile([&](int x, int y) {
        const size_t number = static_cast<size_t>(y) * params.width + x;
        const Pixel& pixel = frame.pixels[number];
        unfinished[number] = frame.detailed_around(x, y) || (pixel.hazy && pixel.noisy());
    });
    Image image(params.width, params.height);
    frame.for_each_tile([&](int x, int y) {
        const size_t number = static_cast<size_t>(y) * params.width + x;
        if (unfinished[number]) frame.finish(x, y, pilot, params.samples);
        image.pixels[number] = frame.pixels[number].sum / static_cast<float>(frame.pixels[number].paths);
    });
    if (params.edges && scene.container) {
        std::vector<float> depth(frame.pixels.size());
        for (size_t i = 0; i < depth.size(); ++i) depth[i] = frame.pixels[i].nearest;
        draw_edges(*scene.container, camera.middle(), depth, image);
    }
    return image;
}

} // namespace spindrift
