#include "spindrift/shaped_smoke/density.h"

#include "spindrift/base/error.h"
#include "spindrift/field/row.h"

#include <atomic>

namespace spindrift {

Tent::Tent(float radius)
{
    const float r = std::clamp(radius, 1.0f, static_cast<float>(kMost));
    reach = std::min(static_cast<int>(std::ceil(r)) - 1, kMost - 1);
    float sum = 0;
    for (int k = -reach; k <= reach; ++k) sum += 1 - static_cast<float>(std::abs(k)) / r;
    for (int k = 0; k <= reach; ++k) weight[k] = (1 - static_cast<float>(k) / r) / sum;
}

void count_particles(const ParticleIndex& index, const Topology& topology, Field<float>& count)
{
    count.reset_uninitialized(topology, 0);
    for_each_tile(topology, [&](int tile) {
        const uint32_t* first = index.cell_first(tile);
        float* out = count.tile(tile);
        for (int c = 0; c < kTileCells; ++c) out[c] = static_cast<float>(first[c + 1] - first[c]);
    });
}

namespace {

void blur_z(const Field<float>& from, const Tent& tent, Field<float>& to)
{
    const Topology& topology = from.topology();
    for_each_tile(topology, [&](int tile) {
        const float* tiles[3];
        for (int d = -1; d <= 1; ++d) tiles[d + 1] = from.tile(topology.neighbour(tile, 0, 0, d));
        alignas(32) float line[3 * kTileSize];
        for_each_row([&](int, int, int o) {
            for (int d = 0; d < 3; ++d) store_row(line + d * kTileSize, load_row(tiles[d] + o));
            Row sum = tent.weight[0] * load_row(line + kTileSize);
            for (int k = 1; k <= tent.reach; ++k)
                sum += tent.weight[k] *
                       (load_row_unaligned(line + kTileSize - k) + load_row_unaligned(line + kTileSize + k));
            store_row(to.tile(tile) + o, sum);
        });
    });
}

// Along x (axis 0) or y (axis 1).
void blur_rows(const Field<float>& from, int axis, const Tent& tent, Field<float>& to)
{
    const Topology& topology = from.topology();
    const int stride = axis == 0 ? kTileSize * kTileSize : kTileSize,
              other = axis == 0 ? kTileSize : kTileSize * kTileSize;
    for_each_tile(topology, [&](int tile) {
        const float* tiles[3];
        for (int d = -1; d <= 1; ++d)
            tiles[d + 1] = from.tile(axis == 0 ? topology.neighbour(tile, d, 0, 0) : topology.neighbour(tile, 0, d, 0));
        Row line[3 * kTileSize];
        for (int i = 0; i < kTileSize; ++i) {
            for (int k = 0; k < 3 * kTileSize; ++k)
                line[k] = load_row(tiles[k / kTileSize] + k % kTileSize * stride + i * other);
            for (int k = 0; k < kTileSize; ++k) {
                const Row* middle = line + kTileSize + k;
                Row sum = tent.weight[0] * *middle;
                for (int j = 1; j <= tent.reach; ++j) sum += tent.weight[j] * (middle[-j] + middle[j]);
                store_row(to.tile(tile) + k * stride + i * other, sum);
            }
        }
    });
}

} // namespace

void limit_spread(const Topology& topology, const std::string& parameter)
{
    constexpr int kMostTiles = 400000; // a tile takes about 40 kB in all fields
    if (topology.tile_count() > kMostTiles)
        fail(
            "{}: smoke has spread over {:.3g} cells; at most {:.3g} are possible; raise it, or delete markers that are "
            "far away with an expression",
            parameter, static_cast<double>(topology.cell_count()), static_cast<double>(kMostTiles) * kTileCells);
}

// Sums are of integers, which do not depend on the order in which threads add them. Velocities are in units of
// 2^-20 m/s: a cell can hold a hundred thousand markers of 10^7 m/s.
DensityVolume::DensityVolume(const Particles& particles, float voxel, float radius, float scale,
                             const std::string& parameter)
    : topology(std::make_unique<Topology>(tiles_around(particles, voxel, Tent(radius).reach)))
{
    limit_spread(*topology, parameter);
    constexpr double kUnit = 0x1p-20;
    const Tent tent(radius);
    Field<float> scratch, count, momentum[3];
    Field<int64_t> sums[4];
    for (auto& sum : sums) sum.reset(*topology, 0);
    parallel_chunks(particles.size(), 4096, [&](size_t begin, size_t end) {
        Vec3i tile = Vec3i::Constant(std::numeric_limits<int>::max());
        int at = 0;
        for (size_t i = begin; i < end; ++i) {
            const Vec3i cell = cell_of(particles.P[i], 1 / voxel);
            if (tile_of_cell(cell) != tile) tile = tile_of_cell(cell), at = topology->find(tile);
            const auto add = [&](Field<int64_t>& sum, int64_t value) {
                std::atomic_ref(sum.tile(at)[offset_of_cell(cell)]).fetch_add(value, std::memory_order_relaxed);
            };
            add(sums[3], 1);
            for (int a = 0; a < 3; ++a)
                add(sums[a], static_cast<int64_t>(std::lround(static_cast<double>(particles.v[i][a]) / kUnit)));
        }
    });
    const auto blurred = [&](const Field<int64_t>& sum, double factor, Field<float>& out) {
        out.reset_uninitialized(*topology, 0);
        for_each_tile(*topology, [&](int t) {
            for (int c = 0; c < kTileCells; ++c)
                out.tile(t)[c] = static_cast<float>(factor * static_cast<double>(sum.tile(t)[c]));
        });
        blur(out, tent, scratch);
    };
    blurred(sums[3], 1, count);
    for (int a = 0; a < 3; ++a) blurred(sums[a], kUnit, momentum[a]);
    density.reset_uninitialized(*topology, 0), velocity.reset_uninitialized(*topology, Vec3f::Zero());
    for_each_tile(*topology, [&](int t) {
        for (int c = 0; c < kTileCells; ++c) {
            const float n = count.tile(t)[c];
            density.tile(t)[c] = scale * n;
            velocity.tile(t)[c] = Vec3f::Zero();
            if (n > 0)
                velocity.tile(t)[c] = Vec3f(momentum[0].tile(t)[c], momentum[1].tile(t)[c], momentum[2].tile(t)[c]) / n;
        }
    });
}

void blur(Field<float>& field, const Tent& tent, Field<float>& scratch)
{
    if (tent.reach == 0) return;
    scratch.reset_uninitialized(field.topology(), 0);
    blur_z(field, tent, scratch);
    blur_rows(scratch, 1, tent, field);
    blur_rows(field, 0, tent, scratch);
    std::swap(field, scratch);
}

void find_region(const ParticleIndex& index, const Topology& topology, const Tent& tent, ParticleRegion& region,
                 Field<float>& scratch)
{
    Field<float>& density = region.density;
    Field<float>& fill = region.fill;
    count_particles(index, topology, fill);
    density.copy_from(fill);
    blur(density, tent, scratch);
    for_each_tile(topology, [&](int tile) {
        for_each_row([&](int, int, int o) {
            float* at = fill.tile(tile) + o;
            store_row(at, load_row(at) * inverse_or_zero(load_row(density.tile(tile) + o)));
        });
    });
    blur(fill, tent, scratch);
}

} // namespace spindrift
