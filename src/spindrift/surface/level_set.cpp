#include "spindrift/surface/level_set.h"

#include "spindrift/base/scratch.h"
#include "spindrift/field/block.h"

namespace spindrift {

void SurfaceFilter::visit(ParamVisitor& v)
{
    v("dilate", dilate, unit::metres, between(0, 1e6), "Move the surface outwards, before smoothing.");
    v("smooth", smooth, unit::none, between(0, 100), "Passes of a mean over 3 x 3 x 3 cells.");
    v("max_curvature", max_curvature, "1/m", between(1e-6, 1e9),
      "Smoothing fades out between this mean curvature (inverse radius) and twice it. Default: no limit.");
    v("max_speed", max_speed, unit::metres_per_second, between(1e-6, 1e5),
      "Smoothing fades out between this speed of the liquid and twice it. Default: no limit.");
    v("erode", erode, unit::metres, between(0, 1e6), "Move the surface inwards, after smoothing.");
}

namespace {

using Samples = Block<float, 1>;

template <class Body> void for_each_neighbour(const Samples& samples, int offset, const Body& body)
{
    const Vec3i c = cell_in_tile(offset);
    const int at = Samples::index(c.x(), c.y(), c.z());
    const int strides[3] = {Samples::kStrideX, Samples::kStrideY, 1};
    for (int axis = 0; axis < 3; ++axis) body(axis, samples.data[at - strides[axis]], samples.data[at + strides[axis]]);
}

// The distance with unit gradient from the nearer neighbour along each axis [Rouy 1992].
float distance_beside(Vec3f nearest)
{
    std::sort(nearest.begin(), nearest.end());
    const float a = nearest[0], b = nearest[1], c = nearest[2];
    float d = a + 1;
    if (d > b) d = 0.5f * (a + b + std::sqrt(std::max(0.0f, 2 - (a - b) * (a - b))));
    if (d > c) {
        const float sum = a + b + c;
        d = (sum + std::sqrt(std::max(0.0f, sum * sum - 3 * (a * a + b * b + c * c - 1)))) / 3;
    }
    return d;
}

// One step of make_distance() for a tile: unknown cells take the distance that follows from their neighbours.
void spread_distance(const Samples& samples, const uint8_t* known, float* out)
{
    for (int i = 0; i < kTileCells; ++i) {
        const Vec3i c = cell_in_tile(i);
        const float old = samples.at(c.x(), c.y(), c.z()), sign = old < 0 ? -1.0f : 1.0f;
        out[i] = old;
        if (known[i]) continue;
        Vec3f nearest;
        for_each_neighbour(samples, i,
                           [&](int axis, float low, float high) { nearest[axis] = std::min(sign * low, sign * high); });
        out[i] = sign * std::min(distance_beside(nearest), sign * old);
    }
}

} // namespace

void make_distance(Field<float>& phi)
{
    constexpr int kSteps = 6; // a cell of the band is at most three cells, and two sideways, from known cells
    const Topology& topology = phi.topology();
    Field<float> next;
    Field<uint8_t> known;
    next.reset_uninitialized(topology, kLevelSetBand), known.reset_uninitialized(topology, 0);
    for_each_tile(topology, [&](int tile) {
        auto& samples = thread_scratch<Samples>();
        samples.gather(phi, tile);
        for (int i = 0; i < kTileCells; ++i) {
            const float value = phi.tile(tile)[i];
            bool is_next = false; // to the surface
            for_each_neighbour(samples, i, [&](int, float low, float high) {
                is_next |= (low < 0) != (value < 0) || (high < 0) != (value < 0);
            });
            known.tile(tile)[i] = is_next;
            next.tile(tile)[i] = is_next ? std::clamp(value, -1.0f, 1.0f) : std::copysign(kLevelSetBand, value);
        }
    });
    std::swap(phi, next);
    // Skip tiles far from the surface.
    std::vector<uint8_t> near(topology.tile_count() + 1, 0);
    for_each_tile(topology, [&](int tile) {
        near[tile] = std::any_of(known.tile(tile), known.tile(tile) + kTileCells, [](uint8_t k) { return k; });
    });
    for (int step = 0; step < kSteps; ++step) {
        next.reset_uninitialized(topology, kLevelSetBand);
        for_each_tile(topology, [&](int tile) {
            const auto& around = topology.neighbours(tile);
            if (std::none_of(around.begin(), around.end(), [&](int t) { return near[t]; })) {
                std::copy_n(phi.tile(tile), kTileCells, next.tile(tile));
                return;
            }
            auto& samples = thread_scratch<Samples>();
            samples.gather(phi, tile);
            spread_distance(samples, known.tile(tile), next.tile(tile));
        });
        std::swap(phi, next);
    }
}

} // namespace spindrift
