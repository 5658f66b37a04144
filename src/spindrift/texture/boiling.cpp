// make_boiling(): each bubble is a sphere of air that rises and grows; the surface is the liquid and the films of
// bubbles that lift it, minus the bubbles. Distances follow from its sign by fast sweeping [Zhao 2005].
#include "spindrift/base/parallel.h"
#include "spindrift/base/random.h"
#include "spindrift/texture/made_videos.h"

#include <fmt/format.h>

namespace spindrift {

namespace {

constexpr int kMostAge = 60;   // frames that a bubble and its wave last
constexpr float kFilm = 1.3f;  // of liquid around a bubble at the surface [cells]
constexpr float kRise = 0.55f; // [cells/frame]

struct Bubble {
    Vec2f place;   // [cells]
    int born;      // frame
    float largest; // radius [cells]
};

// A bubble, or what it leaves, in one frame. Heights are relative to the surface at rest.
struct Shape {
    Vec2f place;
    float height = 0, radius = 0;
    bool film = false;
    float wave = -1; // frames since it burst; negative: it has not
    float largest = 0;
};

std::vector<Bubble> bubbles_of(const BoilingParams& params)
{
    constexpr float kRate = 0.002f; // bubbles a cell and frame, where it is hottest
    std::vector<Bubble> bubbles;
    for (int frame = -kMostAge; frame < params.frames; ++frame)
        for (int y = 0; y < params.height; ++y)
            for (int x = 0; x < params.width; ++x) {
                const size_t cell = static_cast<size_t>(y) * params.width + x;
                Random random(static_cast<uint64_t>(params.seed),
                              hash64(static_cast<uint64_t>(frame + kMostAge), static_cast<uint64_t>(cell)));
                const float heat = params.temperature[cell];
                if (random.uniform() >= kRate * heat * heat) continue;
                const Vec2f place(static_cast<float>(x) + random.uniform(), static_cast<float>(y) + random.uniform());
                bubbles.push_back({place, frame, (1.5f + 3.5f * heat) * random.uniform(0.6f, 1.1f)});
            }
    return bubbles;
}

std::optional<Shape> shape_of(const Bubble& bubble, int frame, const BoilingParams& params)
{
    if (frame < bubble.born || frame >= bubble.born + kMostAge) return {};
    const auto age = static_cast<float>(frame - bubble.born);
    Shape shape;
    shape.place = bubble.place, shape.largest = bubble.largest;
    // It bursts when half of it stands above the surface.
    const float start = -static_cast<float>(params.surface) - bubble.largest, burst = -start / kRise;
    if (age < burst) {
        shape.height = start + kRise * age;
        shape.radius = bubble.largest * std::sqrt(std::min(1.0f, 0.1f + age / burst));
        shape.film = true;
    } else {                         // the crater becomes shallow, and a ring of waves runs away
        constexpr float kCloses = 7; // frames
        shape.wave = age - burst;
        const float open = std::max(0.0f, 1 - shape.wave / kCloses);
        shape.radius = bubble.largest, shape.height = (1 - open) * 1.05f * bubble.largest;
        if (open == 0) shape.radius = 0;
    }
    return shape;
}

float smooth_minimum(float a, float b, float width)
{
    const float h = std::max(width - std::abs(a - b), 0.0f) / width;
    return std::min(a, b) - 0.25f * h * h * width;
}

// Only its sign and its values next to the surface matter.
float liquid_at(const std::vector<Shape>& shapes, float x, float y, float z)
{
    float level = 0;
    for (const Shape& s : shapes) {
        if (s.wave < 0) continue;
        constexpr float kSpeed = 1.1f; // [cells/frame]
        const float r = (Vec2f(x, y) - s.place).norm(), front = r - kSpeed * s.wave - s.largest;
        level += 0.22f * s.largest * std::exp(-s.wave / 7 - front * front / 5) * std::cos(1.3f * front);
    }
    float liquid = z - level;
    for (const Shape& s : shapes) // films
        if (s.film && s.height > -2 * s.radius - kFilm) {
            const Vec3f d(x - s.place.x(), y - s.place.y(), z - s.height);
            liquid = smooth_minimum(liquid, d.norm() - s.radius - kFilm, 2);
        }
    for (const Shape& s : shapes) // air
        if (s.radius > 0) {
            const Vec3f d(x - s.place.x(), y - s.place.y(), z - s.height);
            liquid = -smooth_minimum(-liquid, d.norm() - s.radius, 0.8f);
        }
    return liquid;
}

// A small dense grid of distances.
class Sweeper {
  public:
    Sweeper(Raster& frame) : frame_(frame), size_(frame.width, frame.height, frame.channels) {}

    void run()
    {
        const std::vector<float> before = frame_.values;
        fixed_.assign(before.size(), 0);
        for_all([&](const Vec3i& c) {
            const float inverse = inverse_square_to_surface(before, c);
            fixed_[index(c)] = inverse > 0;
            const float distance = inverse > 0 ? 1 / std::sqrt(inverse) : 1e3f;
            frame_.values[index(c)] = std::copysign(distance, before[index(c)]);
        });
        for (int round = 0; round < 2; ++round)
            for (int corner = 0; corner < 8; ++corner) sweep(corner);
        for (float& v : frame_.values) v = std::clamp(v, -kBoilingBand, kBoilingBand);
    }

  private:
    size_t index(const Vec3i& c) const { return (static_cast<size_t>(c.y()) * size_.x() + c.x()) * size_.z() + c.z(); }
    template <class Body> void for_all(const Body& body) const
    {
        for (int y = 0; y < size_.y(); ++y)
            for (int x = 0; x < size_.x(); ++x)
                for (int z = 0; z < size_.z(); ++z) body(Vec3i(x, y, z));
    }
    // Distances along the axes to where the sign changes: 1/d^2 = 1/dx^2 + 1/dy^2 + 1/dz^2.
    float inverse_square_to_surface(const std::vector<float>& values, const Vec3i& c) const
    {
        float sum = 0;
        for (int axis = 0; axis < 3; ++axis) {
            float nearest = 2;
            for (const int side : {-1, 1}) {
                Vec3i other = c;
                other[axis] += side;
                if (other[axis] < 0 || other[axis] >= size_[axis]) continue;
                const float a = values[index(c)], b = values[index(other)];
                if ((a < 0) != (b < 0)) nearest = std::min(nearest, std::abs(a) / std::max(std::abs(a - b), 1e-6f));
            }
            if (nearest <= 1) sum += 1 / std::max(nearest * nearest, 1e-6f);
        }
        return sum;
    }
    void sweep(int corner)
    {
        const auto along = [&](int i, int axis) { return (corner >> axis & 1) ? size_[axis] - 1 - i : i; };
        for_all([&](const Vec3i& step) {
            const Vec3i c(along(step.x(), 0), along(step.y(), 1), along(step.z(), 2));
            if (fixed_[index(c)]) return;
            std::array<float, 3> nearest; // of the neighbours on each axis
            for (int axis = 0; axis < 3; ++axis) {
                nearest[axis] = 1e3f;
                for (const int side : {-1, 1}) {
                    Vec3i other = c;
                    other[axis] += side;
                    if (other[axis] >= 0 && other[axis] < size_[axis])
                        nearest[axis] = std::min(nearest[axis], std::abs(frame_.values[index(other)]));
                }
            }
            float& value = frame_.values[index(c)];
            value = std::copysign(std::min(std::abs(value), upwind(nearest)), value);
        });
    }
    // |grad d| = 1 from the smallest neighbours.
    static float upwind(std::array<float, 3> d)
    {
        std::sort(d.begin(), d.end());
        float x = d[0] + 1;
        if (x > d[1]) x = 0.5f * (d[0] + d[1] + std::sqrt(std::max(0.0f, 2 - (d[0] - d[1]) * (d[0] - d[1]))));
        if (x > d[2]) {
            const float sum = d[0] + d[1] + d[2], squares = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
            x = (sum + std::sqrt(std::max(0.0f, sum * sum - 3 * (squares - 1)))) / 3;
        }
        return x;
    }

    Raster& frame_;
    Vec3i size_;
    std::vector<uint8_t> fixed_; // next to the surface
};

} // namespace

Video make_boiling(const BoilingParams& given)
{
    BoilingParams params = given;
    if (params.temperature.empty())
        for (int y = 0; y < params.height; ++y)
            for (int x = 0; x < params.width; ++x)
                params.temperature.push_back((static_cast<float>(x) + 0.5f) / static_cast<float>(params.width));
    const std::vector<Bubble> bubbles = bubbles_of(params);
    Video video;
    for (int z = 0; z < params.heights; ++z) video.channels.push_back(fmt::format("distance.{:02}", z));
    video.frames.resize(static_cast<size_t>(params.frames));
    parallel_for(video.frames.size(), [&](size_t f) {
        std::vector<Shape> shapes;
        for (const Bubble& bubble : bubbles)
            if (const std::optional<Shape> shape = shape_of(bubble, static_cast<int>(f), params))
                shapes.push_back(*shape);
        Raster frame(params.width, params.height, params.heights);
        for (int y = 0; y < params.height; ++y)
            for (int x = 0; x < params.width; ++x) {
                std::vector<Shape> near;
                for (const Shape& s : shapes) {
                    const float reach = s.largest + 6 + std::max(0.0f, 1.1f * s.wave);
                    const Vec2f d(static_cast<float>(x) + 0.5f - s.place.x(),
                                  static_cast<float>(y) + 0.5f - s.place.y());
                    if (d.norm() < reach) near.push_back(s);
                }
                for (int z = 0; z < params.heights; ++z)
                    frame.at(x, y)[z] = liquid_at(near, static_cast<float>(x) + 0.5f, static_cast<float>(y) + 0.5f,
                                                  static_cast<float>(z - params.surface) + 0.5f);
            }
        Sweeper(frame).run();
        frame.guide = params.temperature;
        video.frames[f] = std::move(frame);
    });
    return video;
}

} // namespace spindrift
