#include "spindrift/render/container_edges.h"

#include "spindrift/base/parallel.h"
#include "spindrift/base/scratch.h"

namespace spindrift {

namespace {

const Vec3f kLineColor(0.20f, 0.27f, 0.32f);
constexpr float kOpacity = 0.42f;

struct Segment {
    Vec3f a, b; // pixels, and distance along the view direction
};

// The part of an edge that lies in front of the camera; false if there is none.
bool project(const Camera& camera, Vec3f a, Vec3f b, Segment& out)
{
    const float near = 1e-3f * (a - b).norm();
    const float da = (a - camera.position()).dot(camera.forward()), db = (b - camera.position()).dot(camera.forward());
    if (std::max(da, db) <= near) return false;
    if (da < near) a += (b - a) * ((near - da) / (db - da));
    if (db < near) b += (a - b) * ((near - db) / (da - db));
    out = {camera.project(a), camera.project(b)};
    return out.a.allFinite() && out.b.allFinite();
}

std::vector<Segment> edges_of(const Box3f& box, const Camera& camera)
{
    std::vector<Segment> edges;
    for (int axis = 0; axis < 3; ++axis)
        for (int side = 0; side < 4; ++side) {
            Vec3f a = box.min;
            const int u = (axis + 1) % 3, v = (axis + 2) % 3;
            if (side & 1) a[u] = box.max[u];
            if (side & 2) a[v] = box.max[v];
            Vec3f b = a;
            b[axis] = box.max[axis];
            if (Segment s; project(camera, a, b, s)) edges.push_back(s);
        }
    return edges;
}

// Coverage of a pixel by lines. Never inlined: see render/floor_light.h.
[[gnu::noinline]] float coverage(const std::vector<Segment>& edges, const Vec2f& here, float seen, float half_width)
{
    float cover = 0;
    for (const Segment& e : edges) {
        const Vec2f a = e.a.head<2>(), along = e.b.head<2>() - a;
        const float t = clamp01((here - a).dot(along) / std::max(along.squaredNorm(), 1e-12f));
        const float off = (here - a - t * along).norm();
        // The reciprocal of depth is linear in picture coordinates.
        if (off > half_width + 1 || 1 / mix(1 / e.a.z(), 1 / e.b.z(), t) > seen) continue;
        cover = std::max(cover, clamp01(half_width + 0.5f - off));
    }
    return cover;
}

// Appends the pixels [begin, end) of a row that are within `reach` of a segment, or a few more.
void add_pixels_near(const Segment& e, float row, float reach, int width, std::vector<std::pair<int, int>>& pixels)
{
    const Vec2f a = e.a.head<2>(), b = e.b.head<2>();
    if (std::min(a.y(), b.y()) > row + reach || std::max(a.y(), b.y()) < row - reach) return;
    // The ends of the segment, or the points where it crosses the borders of a strip around the row.
    float from = a.x(), to = b.x();
    if (const float rise = b.y() - a.y(); std::abs(rise) > 1e-3f) {
        from = mix(a.x(), b.x(), clamp01((row - reach - a.y()) / rise));
        to = mix(a.x(), b.x(), clamp01((row + reach - a.y()) / rise));
    }
    const auto inside = [&](float x) { return static_cast<int>(std::clamp(x, 0.0f, static_cast<float>(width))); };
    pixels.emplace_back(inside(std::min(from, to) - reach - 1), inside(std::max(from, to) + reach + 2));
}

[[gnu::noinline]] void draw_row(const std::vector<Segment>& edges, const Camera& camera, float tolerance, int row,
                                const float* distance, Image& image, float* alpha)
{
    const float half_width = 0.35f + 0.5f * static_cast<float>(image.height) / 1080; // pixels
    const float middle = static_cast<float>(row) + 0.5f;
    auto& near = thread_scratch<std::vector<std::pair<int, int>>>();
    near.clear();
    for (const Segment& e : edges) add_pixels_near(e, middle, half_width + 1, image.width, near);
    std::sort(near.begin(), near.end());
    int x = 0;
    const auto draw = [&] {
        const Vec2f here(static_cast<float>(x) + 0.5f, middle);
        const float seen = distance[x] * camera.ray(here.x(), here.y()).direction.dot(camera.forward());
        Vec3f& pixel = image.at(x, row);
        const float covered = kOpacity * coverage(edges, here, seen + tolerance, half_width);
        pixel += covered * (kLineColor - pixel);
        alpha[x] += covered * (1 - alpha[x]);
    };
    for (const auto& [begin, end] : near)
        for (x = std::max(x, begin); x < end; ++x) draw();
}

} // namespace

void draw_edges(const Box3f& container, const Camera& camera, const std::vector<float>& distance, Image& image,
                std::vector<float>& alpha)
{
    if (container.empty() || !container.size().allFinite()) return;
    const std::vector<Segment> edges = edges_of(container, camera);
    const float tolerance = 0.012f * container.size().norm();
    parallel_for(image.height, [&](size_t row) {
        draw_row(edges, camera, tolerance, static_cast<int>(row), &distance[row * image.width], image,
                 &alpha[row * image.width]);
    });
}

} // namespace spindrift
