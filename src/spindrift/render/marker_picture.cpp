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

void draw_markers(const RenderMarkers& markers, const MarkerLight& light, const Camera& camera,
                  std::span<const float> distance, Image& picture, std::vector<float>& alpha)
{
    const auto seen_as = [&](size_t i) {
        PixelMarker marker{kNoPixel, 0, static_cast<uint32_t>(i)};
        const Vec3f at = camera.project(markers.P[i]);
        Random random(7, static_cast<uint64_t>(markers.id[i]));
        const float x = at.x() + random.uniform(-0.5f, 0.5f), y = at.y() + random.uniform(-0.5f, 0.5f);
        const bool seen = at.z() > 0 && x >= 0 && y >= 0 && x < static_cast<float>(picture.width) &&
                          y < static_cast<float>(picture.height);
        if (!seen) return marker;
        const auto pixel = static_cast<uint32_t>(floor_int(y) * picture.width + floor_int(x));
        if (!distance.empty() && (markers.P[i] - camera.position()).norm() > distance[pixel]) return marker;
        marker.pixel = pixel, marker.depth = at.z();
        return marker;
    };
    const RowsOfMarkers rows(markers.P.size(), picture.width, picture.height, seen_as);
    // Area of a marker in pixels at a distance of one, times its opacity.
    const float across = markers.radius / camera.pixel_size();
    const float area = light.opacity * static_cast<float>(kPi) * across * across;
    const auto blend = [&](const PixelMarker& marker) {
        const float covered = std::min(1.0f, area / (marker.depth * marker.depth));
        const Vec3f lit = light.ambient + (1 - markers.shadow[marker.index]) * light.key;
        Vec3f& pixel = picture.pixels[marker.pixel];
        pixel += covered * (markers.color.cwiseProduct(lit) - pixel);
        alpha[marker.pixel] += covered * (1 - alpha[marker.pixel]);
    };
    parallel_for(picture.height, [&](size_t row) {
        for (size_t k = rows.first[row]; k < rows.first[row + 1]; ++k) blend(rows.all[k]);
    });
}

} // namespace spindrift
