#include "spindrift/texture/exemplar.h"

#include "spindrift/base/parallel.h"
#include "spindrift/base/random.h"

namespace spindrift {

namespace {

using Kind = ExemplarParams::Kind;

// Random points, one in each cell of a grid that wraps around: the two nearest of a place.
struct Nearby {
    float first = 1e9f, second = 1e9f; // distances in units of a cell
    uint64_t cell = 0;                 // of the nearest
};
Nearby nearby_points(const Vec2f& x, int cells, float moved, uint64_t seed)
{
    Nearby found;
    for (int dx = -2; dx <= 2; ++dx)
        for (int dy = -2; dy <= 2; ++dy) {
            const int cx = static_cast<int>(std::floor(x.x())) + dx, cy = static_cast<int>(std::floor(x.y())) + dy;
            const auto wrapped = [cells](int c) { return static_cast<uint64_t>((c % cells + cells) % cells); };
            const uint64_t cell = wrapped(cy) * static_cast<uint64_t>(cells) + wrapped(cx);
            Random random(seed, cell);
            const Vec2f point(static_cast<float>(cx) + 0.5f + moved * random.uniform(-0.5f, 0.5f),
                              static_cast<float>(cy) + 0.5f + moved * random.uniform(-0.5f, 0.5f));
            const float distance = (x - point).norm();
            if (distance < found.first)
                found.second = found.first, found.first = distance, found.cell = cell;
            else
                found.second = std::min(found.second, distance);
        }
    return found;
}

// The share of the second colour; `x` in features.
float share_at(const ExemplarParams& params, const Vec2f& x, int cells)
{
    const auto seed = static_cast<uint64_t>(params.seed);
    const float soft = 0.7f / params.feature; // edges are a pixel or two wide
    const auto step = [soft](float d) { return clamp01(0.5f + d / (2 * soft)); };
    const auto wave = [soft](float t) { return clamp01(0.5f + std::sin(t * static_cast<float>(kPi)) / (6 * soft)); };
    switch (params.kind) {
    case Kind::checker:
        return std::abs(wave(x.x()) - wave(x.y()));
    case Kind::stripes:
        return wave(x.x() + 0.15f * std::sin(x.y() * static_cast<float>(2 * kPi / cells)));
    case Kind::spots:
        return step(0.33f - nearby_points(x, cells, 0.5f, seed).first);
    case Kind::crust: { // cracks between plates, and plates of different shades
        const Nearby near = nearby_points(x, cells, 0.9f, seed);
        return std::max(step(0.08f - (near.second - near.first)), 0.25f * Random(seed + 1, near.cell).uniform());
    }
    case Kind::foam: { // bands of small bubbles between holes, which close as there is more of it
        const Nearby holes = nearby_points(0.5f * x, cells / 2, 0.8f, seed),
                     bubbles = nearby_points(3 * x, 3 * cells, 0.8f, seed + 1);
        const float width = 0.8f * params.amount * params.amount, band = holes.second - holes.first;
        const float covered = params.amount >= 1 ? 1 : clamp01((width - band) / 0.12f);
        return covered * (0.65f + 0.35f * std::exp(-10 * (bubbles.second - bubbles.first)));
    }
    case Kind::ripples:
        break;
    }
    return 0;
}

} // namespace

Raster make_exemplar(const ExemplarParams& params)
{
    Raster out(params.size, params.size, 3);
    // A whole number of features, even for checks and stripes, so that the edges fit.
    const int cells =
        std::max(2, 2 * static_cast<int>(std::lround(static_cast<float>(params.size) / (2 * params.feature))));
    const float scale = static_cast<float>(cells) / static_cast<float>(params.size);
    parallel_for(static_cast<size_t>(params.size), [&](size_t y) {
        for (int x = 0; x < params.size; ++x) {
            const Vec2f place = (Vec2f(static_cast<float>(x), static_cast<float>(y)).array() + 0.5f) * scale;
            const float share = share_at(params, place, cells);
            Eigen::Map<Vec3f>(out.at(x, static_cast<int>(y))) =
                params.color + share * (params.second_color - params.color);
        }
    });
    return out;
}

} // namespace spindrift
