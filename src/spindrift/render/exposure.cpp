#include "spindrift/render/exposure.h"

#include "spindrift/base/interrupt.h"
#include "spindrift/base/parallel.h"
#include "spindrift/base/scratch.h"

namespace spindrift {

namespace {

// Paths per pixel from which the number of further paths is estimated. Together with its neighbours, an eighth of the
// samples suffices, but at least kLeastPilot: four fifths of the pixels of the demo need no more than two paths.
constexpr int kPilot = 4, kLeastPilot = 2;
constexpr float kVisible = 0.01f; // relative error of a pixel that is not visible
// A shared path reduces the squared error of a picture as much as this many that are not shared. 9/4 tents cover each,
// but the paths of one pixel are spread more evenly. Fitted on one frame of the demo, tested on others in bench/.
constexpr double kSharing = 1.9;
constexpr float kDark = 0.1f; // below this brightness, errors are relative to this value

// Maps a uniform number to a tent distribution on [-1, 1].
float tent_sample(float u) { return u < 0.5f ? std::sqrt(2 * u) - 1 : 1 - std::sqrt(2 - 2 * u); }

// Writes what the film accumulates of a path: colour, alpha, masks.
void write_values(const PathTracer::Sample& sample, const PathTracer::Seen& seen, bool masks, float* values)
{
    for (int k = 0; k < 3; ++k) *values++ = sample.light[k];
    *values++ = sample.alpha;
    if (masks) std::copy(seen.masks.begin(), seen.masks.end(), values);
}

PathTracer::Seen& seen_by_this_thread(size_t layers)
{
    auto& seen = thread_scratch<PathTracer::Seen>();
    seen.masks.resize(layers);
    return seen;
}

} // namespace

Exposure::Exposure(const MovingCamera& camera, const PathTracer& tracer, int width, int height, int scale,
                   size_t layers, bool channels)
    : camera_(camera), tracer_(tracer), width_(width), height_(height), scale_(static_cast<float>(scale)),
      layers_(layers), values_(4 + (channels ? layers : 0)), channels_(channels),
      pixels_(static_cast<size_t>(width) * height)
{
    const size_t count = pixels_.size();
    nearest.assign(count, kInfinity);
    picture.color = Image(width, height);
    picture.alpha.resize(count);
    if (!channels) return;
    picture.depth.resize(count, kNoDepth);
    picture.normal.resize(count, Vec3f::Zero()), picture.velocity.resize(count, Vec3f::Zero());
    picture.masks.assign(layers, std::vector<float>(count));
}

// Whether the standard error of the mean is visible.
bool Exposure::Pixel::noisy() const
{
    const float n = static_cast<float>(paths), mean = luminance(sum) / n;
    const float variance = std::max(0.0f, squares / n - mean * mean);
    const float seen = kVisible * (mean + kDark);
    return variance > n * seen * seen;
}

template <class Body> void Exposure::for_each_pixel(const Body& body)
{
    constexpr int kTile = Film::kTile;
    const int across = (width_ + kTile - 1) / kTile, down = (height_ + kTile - 1) / kTile;
    parallel_for(static_cast<size_t>(across) * down, [&](size_t tile) {
        check_interrupt();
        const int x0 = static_cast<int>(tile) % across * kTile, y0 = static_cast<int>(tile) / across * kTile;
        for (int y = y0; y < std::min(y0 + kTile, height_); ++y)
            for (int x = x0; x < std::min(x0 + kTile, width_); ++x) body(x, y);
    });
}

Exposure::Path Exposure::trace(int x, int y, int path, bool tent, PathTracer::Seen& seen)
{
    const size_t here = number(x, y);
    PixelSampler random(here, static_cast<uint32_t>(path));
    const Vec2f square = random.pair();
    const Vec2f offset =
        tent ? Vec2f(tent_sample(square.x()), tent_sample(square.y())) : Vec2f(square.x() - 0.5f, square.y() - 0.5f);
    const Vec2f lens = camera_.has_lens() ? random.pair() : Vec2f::Zero().eval();
    const float time = camera_.has_shutter() ? random.single() : 0.5f;
    const Ray ray = camera_.ray(scale_ * (static_cast<float>(x) + 0.5f + offset.x()),
                                scale_ * (static_cast<float>(y) + 0.5f + offset.y()), lens, time);
    const PathTracer::Sample sample = tracer_.trace(ray, random, channels_ ? &seen : nullptr);
    Pixel& pixel = pixels_[here];
    pixel.detailed |= sample.detailed, pixel.hazy |= sample.hazy;
    nearest[here] = std::min(nearest[here], sample.distance);
    if (channels_) note(here, ray, sample, seen);
    return {offset, sample};
}

void Exposure::note(size_t pixel, const Ray& ray, const PathTracer::Sample& sample, const PathTracer::Seen& seen)
{
    const float depth = sample.distance * ray.direction.dot(camera_.middle().forward());
    if (!(depth < picture.depth[pixel]) || (seen.floor && !tracer_.has_background())) return;
    picture.depth[pixel] = depth;
    picture.normal[pixel] = seen.normal, picture.velocity[pixel] = seen.velocity;
}

bool Exposure::detailed_around(int x, int y) const
{
    for (int j = std::max(y - 1, 0); j <= std::min(y + 1, height_ - 1); ++j)
        for (int i = std::max(x - 1, 0); i <= std::min(x + 1, width_ - 1); ++i)
            if (pixels_[number(i, j)].detailed) return true;
    return false;
}

// --- separate pixels

void Exposure::add_paths(int x, int y, int begin, int end)
{
    PathTracer::Seen& seen = seen_by_this_thread(layers_);
    Pixel& pixel = pixels_[number(x, y)];
    for (int path = begin; path < end; ++path) {
        const PathTracer::Sample sample = trace(x, y, path, true, seen).sample;
        pixel.sum += sample.light;
        pixel.squares += luminance(sample.light) * luminance(sample.light);
        pixel.alpha += sample.alpha;
        ++pixel.paths;
        for (size_t i = 0; i < picture.masks.size(); ++i) picture.masks[i][number(x, y)] += seen.masks[i];
    }
}

// Traces the remaining paths of a pixel that shows an object: half of them suffice where the variance is small.
void Exposure::finish(int x, int y, int pilot, int samples)
{
    const int half = std::max(pilot, samples / 2);
    add_paths(x, y, pilot, half);
    if (pixels_[number(x, y)].noisy()) add_paths(x, y, half, samples);
}

void Exposure::separately(int samples)
{
    // A few paths are not enough to find objects that move through a pixel, or that are out of focus in it.
    const bool blurred = camera_.has_lens() || camera_.has_shutter();
    const int pilot = blurred ? samples : std::min(kPilot, samples);
    for_each_pixel([&](int x, int y) { add_paths(x, y, 0, pilot); });

    // Floor and sky are smooth, and need no more paths; nor does most smoke. All flags are read before any pixel is
    // changed.
    std::vector<char> unfinished(pixels_.size(), 0);
    for_each_pixel([&](int x, int y) {
        const Pixel& pixel = pixels_[number(x, y)];
        unfinished[number(x, y)] = detailed_around(x, y) || (pixel.hazy && pixel.noisy());
    });
    for_each_pixel([&](int x, int y) {
        const size_t here = number(x, y);
        if (unfinished[here]) finish(x, y, pilot, samples);
        const float paths = static_cast<float>(pixels_[here].paths);
        picture.color.pixels[here] = pixels_[here].sum / paths;
        picture.alpha[here] = pixels_[here].alpha / paths;
        for (std::vector<float>& mask : picture.masks) mask[here] /= paths;
    });
}

// --- shared paths

void Exposure::trace_pilots(int x, int y)
{
    PathTracer::Seen& seen = seen_by_this_thread(layers_);
    Pixel& pixel = pixels_[number(x, y)];
    for (int path = 0; path < pilots_; ++path) {
        const Path traced = trace(x, y, path, false, seen);
        const float brightness = luminance(traced.sample.light);
        pixel.sum += traced.sample.light, pixel.squares += brightness * brightness, ++pixel.paths;
        float* values = pilot(x, y, path);
        *values++ = traced.offset.x(), *values++ = traced.offset.y();
        write_values(traced.sample, seen, channels_, values);
    }
}

// Of the pilot paths of a pixel and its neighbours.
Exposure::Noise Exposure::noise_around(int x, int y, int samples) const
{
    const bool detailed = detailed_around(x, y);
    if (!detailed && !pixels_[number(x, y)].hazy) return {};
    float sum = 0, squares = 0, paths = 0;
    for (int j = std::max(y - 1, 0); j <= std::min(y + 1, height_ - 1); ++j)
        for (int i = std::max(x - 1, 0); i <= std::min(x + 1, width_ - 1); ++i) {
            const Pixel& pixel = pixels_[number(i, j)];
            sum += luminance(pixel.sum), squares += pixel.squares, paths += static_cast<float>(pixel.paths);
        }
    const float mean = sum / paths, variance = std::max(0.0f, squares / paths - mean * mean);
    const float seen = kVisible * (mean + kDark);
    const auto noisy = [&](int separate) { return variance > static_cast<float>(separate) * seen * seen; };
    const int pilot = std::min(kPilot, samples), half = std::max(pilot, samples / 2);
    const int separate = !detailed && !noisy(pilot) ? pilot : noisy(half) ? samples : half;
    // Errors are weighted by their visibility, which is lower where the picture is bright.
    return {std::sqrt(variance) / ((mean + kDark) * (1 + mean)), static_cast<float>(separate)};
}

// The number of paths of a pixel, `scale` for each unit of noise: for a given total, the sum of squared errors is
// smallest if pixels get paths in proportion to their standard deviation.
int Exposure::paths_for(const Noise& noise, float scale, int samples) const
{
    const float needed = std::min(scale * noise.deviation, static_cast<float>(samples));
    const int more = static_cast<int>(std::ceil(0.5f * (needed - static_cast<float>(pilots_))));
    return std::min(pilots_ + 2 * std::max(more, 0), samples);
}

// The smallest scale with which the expected error is that of separately().
float Exposure::scale_of_paths(const std::vector<Noise>& noise, int samples) const
{
    const auto sum = [&](const auto& paths_of) {
        return parallel_sum(
            noise.size(),
            [&](size_t i) {
                const Noise& n = noise[i];
                return static_cast<double>(n.deviation * n.deviation) / (n.deviation > 0 ? paths_of(n) : 1);
            },
            4096);
    };
    const double wanted = sum([](const Noise& n) { return static_cast<double>(n.separate_paths); });
    float low = 0, high = 100 * static_cast<float>(samples);
    for (int halving = 0; halving < 12; ++halving) {
        const float middle = low > 0 ? std::sqrt(low * high) : 1e-3f * high;
        const double error = sum([&](const Noise& n) { return kSharing * paths_for(n, middle, samples); });
        (error <= wanted ? high : low) = middle;
    }
    return high;
}

void Exposure::expose(int x, int y, int paths, Film& film)
{
    PathTracer::Seen& seen = seen_by_this_thread(layers_);
    auto& values = thread_scratch<std::vector<float>>();
    values.resize(values_);
    const float weight = 1 / static_cast<float>(paths);
    for (int path = 0; path < std::min(paths, pilots_); ++path) {
        const float* kept = pilot(x, y, path);
        film.add(x, y, {kept[0], kept[1]}, weight, kept + 2);
    }
    for (int path = pilots_; path < paths; ++path) {
        const Path traced = trace(x, y, path, false, seen);
        write_values(traced.sample, seen, channels_, values.data());
        film.add(x, y, traced.offset, weight, values.data());
    }
}

void Exposure::develop(int x, int y, const Film& film)
{
    auto& values = thread_scratch<std::vector<float>>();
    values.resize(values_);
    film.develop(x, y, values.data());
    const size_t here = number(x, y);
    picture.color.pixels[here] = Vec3f(values[0], values[1], values[2]);
    picture.alpha[here] = values[3];
    for (size_t i = 0; i < picture.masks.size(); ++i) picture.masks[i][here] = values[4 + i];
}

void Exposure::together(int samples)
{
    if (camera_.has_lens() || camera_.has_shutter() || samples < 2) {
        evenly(
            std::max(1, samples / 2)); // a few paths do not show what passes through a pixel while the shutter is open
        return;
    }
    pilots_ = std::clamp(samples / 8, kLeastPilot, kPilot);
    pilot_values_.resize(pixels_.size() * pilots_ * (values_ + 2));
    for_each_pixel([&](int x, int y) { trace_pilots(x, y); });
    std::vector<Noise> noise(pixels_.size());
    for_each_pixel([&](int x, int y) { noise[number(x, y)] = noise_around(x, y, samples); });
    const float scale = scale_of_paths(noise, samples);
    Film film(width_, height_, static_cast<int>(values_));
    for_each_pixel([&](int x, int y) { expose(x, y, paths_for(noise[number(x, y)], scale, samples), film); });
    for_each_pixel([&](int x, int y) { develop(x, y, film); });
}

void Exposure::evenly(int paths)
{
    pilots_ = 0;
    Film film(width_, height_, static_cast<int>(values_));
    for_each_pixel([&](int x, int y) { expose(x, y, paths, film); });
    for_each_pixel([&](int x, int y) { develop(x, y, film); });
}

} // namespace spindrift
