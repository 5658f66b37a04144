#include "spindrift/render/marker_picture.h"

#include "spindrift/base/parallel.h"
#include "spindrift/base/random.h"

#include <utility>

namespace spindrift {

namespace {

// A marker in a pixel. Sorted by pixel, then from far to near.
struct PixelMarker {
    uint32_t pixel;
    float depth;
    uint32_t index;
    bool operator<(const PixelMarker& other) const
    {
        if (pixel != other.pixel) return pixel < other.pixel;
        return depth != other.depth ? depth > other.depth : index < other.index;
    }
};

constexpr size_t kMarkersPerChunk = 65536;
constexpr uint32_t kNoPixel = std::numeric_limits<uint32_t>::max();

// Visible markers by rows of pixels, each row sorted.
struct RowsOfMarkers {
    std::vector<PixelMarker> all;
    std::vector<size_t> first; // of each row, and the total

    // marker(i) returns marker i; its pixel is kNoPixel if it is not seen.
    template <class Marker> RowsOfMarkers(size_t count, int width, int height, const Marker& marker);
};

template <class Marker> RowsOfMarkers::RowsOfMarkers(size_t count, int width, int height, const Marker& marker)
{
    const size_t rows = height, chunks = (count + kMarkersPerChunk - 1) / kMarkersPerChunk;
    std::vector<PixelMarker> unsorted(count);
    std::vector<size_t> next(chunks * rows, 0); // counts, and then places, of each chunk in each row
    const auto row_of = [&](const PixelMarker& m) { return m.pixel / static_cast<uint32_t>(width); };
    const auto for_each_in = [&](size_t chunk, const auto& body) {
        for (size_t i = chunk * kMarkersPerChunk, end = std::min(count, i + kMarkersPerChunk); i < end; ++i) body(i);
    };
    parallel_for(chunks, [&](size_t c) {
        for_each_in(c, [&](size_t i) {
            unsorted[i] = marker(i);
            if (unsorted[i].pixel != kNoPixel) ++next[c * rows + row_of(unsorted[i])];
        });
    });
    size_t total = 0;
    for (size_t r = 0; r < rows; ++r) {
        first.push_back(total);
        for (size_t c = 0; c < chunks; ++c) total += std::exchange(next[c * rows + r], total);
    }
    first.push_back(total);
    all.resize(total);
    parallel_for(chunks, [&](size_t c) {
        for_each_in(c, [&](size_t i) {
            if (unsorted[i].pixel != kNoPixel) all[next[c * rows + row_of(unsorted[i])]++] = unsorted[i];
        });
    });
    parallel_for(rows, [&](size_t r) {
        std::sort(all.begin() + static_cast<long>(first[r]), all.begin() + static_cast<long>(first[r + 1]));
    });
}

} // namespace

void draw_markers(std::span<const RenderMarkers* const> clouds, std::span<const RenderLayer::Mode> modes,
                  const MarkerLight& light, const Camera& camera, std::span<const float> distance, Picture& picture)
{
    using Mode = RenderLayer::Mode;
    const int width = picture.color.width, height = picture.color.height;
    std::vector<size_t> first{0}; // of each cloud, among the markers of all
    for (const RenderMarkers* cloud : clouds) first.push_back(first.back() + cloud->P.size());
    const auto cloud_of = [&](size_t i) {
        return static_cast<size_t>(std::upper_bound(first.begin() + 1, first.end(), i) - first.begin() - 1);
    };
    const auto seen_as = [&](size_t i) {
        PixelMarker marker{kNoPixel, 0, static_cast<uint32_t>(i)};
        const size_t c = cloud_of(i);
        const RenderMarkers& cloud = *clouds[c];
        const Vec3f& place = cloud.P[i - first[c]];
        const Vec3f at = camera.project(place);
        Random random(hash64(7, c), static_cast<uint64_t>(cloud.id[i - first[c]]));
        const float x = at.x() + random.uniform(-0.5f, 0.5f), y = at.y() + random.uniform(-0.5f, 0.5f);
        const bool seen =
            at.z() > 0 && x >= 0 && y >= 0 && x < static_cast<float>(width) && y < static_cast<float>(height);
        if (!seen) return marker;
        const auto pixel = static_cast<uint32_t>(floor_int(y) * width + floor_int(x));
        if (!distance.empty() && (place - camera.position()).norm() > distance[pixel]) return marker;
        marker.pixel = pixel, marker.depth = at.z();
        return marker;
    };
    const RowsOfMarkers rows(first.back(), width, height, seen_as);
    // Area of a marker in pixels at a distance of one, times its opacity.
    std::vector<float> area;
    for (const RenderMarkers* cloud : clouds) {
        const float across = cloud->radius / camera.pixel_size();
        area.push_back(light.opacity * static_cast<float>(kPi) * across * across);
    }
    const auto covered_by = [&](const PixelMarker& marker) {
        return std::min(1.0f, area[cloud_of(marker.index)] / (marker.depth * marker.depth));
    };
    const auto blend = [&](const PixelMarker& marker) {
        const size_t c = cloud_of(marker.index);
        const RenderMarkers& cloud = *clouds[c];
        const Mode mode = modes.empty() ? Mode::shown : modes[cloud.layer];
        const float covered = covered_by(marker);
        Vec3f color = Vec3f::Constant(mode == Mode::matte ? 1 : 0);
        if (mode == Mode::shown)
            color = cloud.color.cwiseProduct(
                Vec3f(light.ambient + (1 - cloud.shadow[marker.index - first[c]]) * light.key));
        Vec3f& pixel = picture.color.pixels[marker.pixel];
        float& alpha = picture.alpha[marker.pixel];
        pixel += covered * (color - pixel);
        alpha += covered * ((mode == Mode::holdout ? 0.0f : 1.0f) - alpha);
        for (size_t layer = 0; layer < picture.masks.size(); ++layer) {
            float& mask = picture.masks[layer][marker.pixel];
            mask += covered * ((static_cast<int>(layer) == cloud.layer ? 1.0f : 0.0f) - mask);
        }
    };
    // From the nearest of the markers of a pixel on.
    const auto find_depth = [&](std::span<const PixelMarker> markers) {
        const uint32_t pixel = markers.front().pixel;
        float through = 1;
        for (size_t k = markers.size(); k-- > 0;) {
            through *= 1 - covered_by(markers[k]);
            if (through >= 0.5f) continue;
            const size_t c = cloud_of(markers[k].index);
            picture.depth[pixel] = markers[k].depth, picture.normal[pixel].setZero();
            picture.velocity[pixel].setZero();
            if (!clouds[c]->v.empty()) picture.velocity[pixel] = clouds[c]->v[markers[k].index - first[c]];
            return;
        }
    };
    parallel_for(height, [&](size_t row) {
        const std::span<const PixelMarker> all(rows.all.data() + rows.first[row],
                                               rows.first[row + 1] - rows.first[row]);
        for (const PixelMarker& marker : all) blend(marker);
        for (size_t begin = 0, end = 0; begin < all.size() && !picture.depth.empty(); begin = end) {
            while (end < all.size() && all[end].pixel == all[begin].pixel) ++end;
            find_depth(all.subspan(begin, end - begin));
        }
    });
}

} // namespace spindrift
