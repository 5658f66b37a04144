#include "spindrift/surface/volume_excess.h"

#include "spindrift/base/scratch.h"
#include "spindrift/field/block.h"
#include "spindrift/points/splat.h"

#include <atomic>

namespace spindrift {

namespace {

// The binomial filter of order 12 along each axis, 1.7 cells wide (standard deviation): particles near a solid may be
// too few in the first two layers and too many in the next two, which the surface has to make up for.
constexpr int kReach = 6;
constexpr float kTaps[kReach + 1] = {924.0f / 4096, 792.0f / 4096, 495.0f / 4096, 220.0f / 4096,
                                     66.0f / 4096,  12.0f / 4096,  1.0f / 4096};

class TileFilter {
  public:
    void apply(const Field<float>& from, int tile, float* out)
    {
        block_.gather(from, tile);
        for (int x = 0; x < kTileSize; ++x) {
            for (int y = -kReach; y < kTileSize + kReach; ++y)
                filter<Samples::kStrideX>(&block_.at(x, y, -kReach), along_x_[y + kReach], Samples::kSize);
            for (int y = 0; y < kTileSize; ++y) {
                float along_y[Samples::kSize];
                filter<Samples::kSize>(along_x_[y + kReach], along_y, Samples::kSize);
                filter<1>(along_y + kReach, out + offset_in_tile(x, y, 0), kTileSize);
            }
        }
    }

  private:
    using Samples = Block<float, kReach>;
    template <int Step> static void filter(const float* from, float* to, int count)
    {
        for (int i = 0; i < count; ++i) {
            float sum = kTaps[0] * from[i];
            for (int tap = 1; tap <= kReach; ++tap) sum += kTaps[tap] * (from[i - tap * Step] + from[i + tap * Step]);
            to[i] = sum;
        }
    }

    Samples block_;
    float along_x_[Samples::kSize][Samples::kSize];
};

// The eight samples around a position in cells, and their weights; samples lie at cell centres.
struct Corners {
    Vec3i low;
    Vec3f share;

    explicit Corners(const Vec3f& x)
    {
        const Vec3f p = x - Vec3f::Constant(0.5f);
        low = Vec3i(floor_int(p.x()), floor_int(p.y()), floor_int(p.z()));
        share = p - low.cast<float>();
    }
    float weight(int corner) const
    {
        return (corner & 4 ? share.x() : 1 - share.x()) * (corner & 2 ? share.y() : 1 - share.y()) *
               (corner & 1 ? share.z() : 1 - share.z());
    }
    static Vec3i step(int corner) { return {corner >> 2, corner >> 1 & 1, corner & 1}; }
};

// The share of each cell of a tile that the surface encloses.
void enclosed_shares(const FilledSurface& surface, int tile, float* out)
{
    const Field<float>& phi = surface.phi;
    const float cells = surface.spacing / surface.voxel, band = phi.background();
    const bool same_grid = surface.voxel == surface.spacing;
    const float* same = same_grid ? phi.tile(phi.topology().find(surface.topology.tile(tile))) : nullptr;
    const Vec3f first = surface.topology.first_cell(tile).cast<float>() + Vec3f::Constant(0.5f);
    for (int c = 0; c < kTileCells; ++c) {
        const float distance = same ? same[c] : sample_trilinear(phi, (first + cell_in_tile(c).cast<float>()) * cells);
        const bool beyond = std::abs(distance) >= band; // only the sign is known
        out[c] = clamp01(0.5f - (beyond ? std::copysign(1.0f, distance) : distance / cells));
    }
}

// Subtracts the volumes of the particles in a tile, each the volume of a cell, from the cells around them.
void take_particles(const FilledSurface& surface, int tile, Field<float>& shares)
{
    auto& block = thread_scratch<SplatBlock>();
    block.clear();
    const Vec3f first = surface.topology.first_cell(tile).cast<float>();
    for (size_t i = surface.index.tile_begin(tile); i < surface.index.tile_end(tile); ++i) {
        const Corners corners(surface.particles.P[i] * (1 / surface.spacing) - first);
        float* at = block.values + SplatBlock::index(corners.low.x(), corners.low.y(), corners.low.z());
        for (int c = 0; c < 8; ++c)
            at[(c >> 2) * SplatBlock::kSlab + (c >> 1 & 1) * SplatBlock::kRow + (c & 1)] -= corners.weight(c);
    }
    block.add_to(shares, tile);
}

// The tiles with the samples that height() reads within a cell of these positions: vertices move between reads.
std::vector<uint8_t> tiles_near(const Topology& topology, float spacing, const std::vector<Vec3f>& positions)
{
    std::vector<uint8_t> tiles(topology.tile_count() + 1, 0); // and one entry for missing tiles
    const auto mark = [&](const Vec3i& tile) {
        std::atomic_ref(tiles[topology.find(tile)]).store(1, std::memory_order_relaxed);
    };
    constexpr size_t kPositionsPerTask = 4096;
    parallel_chunks(positions.size(), kPositionsPerTask, [&](size_t begin, size_t end) {
        Vec3i last = Vec3i::Constant(std::numeric_limits<int>::max()), known = last;
        for (size_t i = begin; i < end; ++i) {
            const Vec3i low = cell_of(positions[i] - Vec3f::Constant(0.5f * spacing), 1 / spacing);
            if (low == last) continue;
            last = low;
            // From one cell below the eight samples to one above them, which is less than a tile.
            const Vec3i tile = tile_of_cell(low - Vec3i::Ones());
            if (tile == tile_of_cell(low + 2 * Vec3i::Ones())) {
                if (tile != known) mark(tile), known = tile;
                continue;
            }
            for (int c = 0; c < 8; ++c) mark(tile_of_cell(low + 3 * Corners::step(c) - Vec3i::Ones()));
        }
    });
    tiles.pop_back();
    return tiles;
}

} // namespace

float sample_trilinear(const Field<float>& field, const Vec3f& x)
{
    const Corners corners(x);
    float sum = 0;
    const Vec3i tile = tile_of_cell(corners.low);
    if (tile == tile_of_cell(corners.low + Vec3i::Ones())) {
        const float* at = field.tile(field.topology().find(tile)) + offset_of_cell(corners.low);
        for (int c = 0; c < 8; ++c)
            if (const float w = corners.weight(c); w > 0) sum += w * at[offset_in_tile(c >> 2, c >> 1 & 1, c & 1)];
        return sum;
    }
    // The samples lie in up to eight tiles.
    const Topology& topology = field.topology();
    const int lowest = topology.find(tile);
    for (int c = 0; c < 8; ++c) {
        const float w = corners.weight(c);
        if (!(w > 0)) continue;
        const Vec3i cell = corners.low + Corners::step(c), step = tile_of_cell(cell) - tile;
        const bool known = lowest < topology.tile_count();
        const int at = known ? topology.neighbour(lowest, step.x(), step.y(), step.z()) : topology.find(tile + step);
        sum += w * field.tile(at)[offset_of_cell(cell)];
    }
    return sum;
}

VolumeExcess::VolumeExcess(const FilledSurface& surface, const std::vector<Vec3f>& positions)
    : inverse_spacing_(1 / surface.spacing)
{
    const Topology& topology = surface.topology;
    const std::vector<uint8_t> wanted = tiles_near(topology, surface.spacing, positions);
    std::vector<uint8_t> near(wanted.size(), 0);
    for (int t = 0; t < topology.tile_count(); ++t)
        if (wanted[t])
            for (const int n : topology.neighbours(t))
                if (n < topology.tile_count()) near[n] = 1;

    Field<float> excess(topology, 0);
    for_each_tile(topology, [&](int tile) {
        if (near[tile]) enclosed_shares(surface, tile, excess.tile(tile));
    });
    for_each_tile_by_colour(surface.index, topology, [&](int tile) {
        if (near[tile]) take_particles(surface, tile, excess);
    });
    smooth_.reset_uninitialized(topology, 0); // only wanted tiles are read
    for_each_tile(topology, [&](int tile) {
        if (!wanted[tile]) return;
        auto& filter = thread_scratch<TileFilter>();
        filter.apply(excess, tile, smooth_.tile(tile));
    });
}

float VolumeExcess::height(const Vec3f& x) const
{
    // Of a layer of excess, a sample in it keeps the middle tap; between two samples it is the mean of the first two.
    constexpr float kMiddle = 0.5f * kTaps[0] + 0.25f * (kTaps[0] + kTaps[1]);
    return sample_trilinear(smooth_, x * inverse_spacing_) / kMiddle;
}

} // namespace spindrift
