#include "spindrift/surface/neighbourhood.h"

namespace spindrift {

// The particles of each column, as ranges of the sorted set.
void Neighbourhood::find_ranges(const ParticleIndex& index, const Topology& topology, int tile)
{
    ranges_.clear(), column_first_.clear();
    uint32_t count = 0;
    const auto step = [](int c) { return c < 0 ? -1 : c / kTileSize; };
    for (int x = -reach_; x < kTileSize + reach_; ++x)
        for (int y = -reach_; y < kTileSize + reach_; ++y) {
            column_first_.push_back(count);
            // Cells along z are consecutive within a tile: a column consists of three ranges.
            for (int dz = -1; dz <= 1; ++dz) {
                const int t = topology.neighbour(tile, step(x), step(y), dz);
                if (t == topology.tile_count() || index.tile_empty(t)) continue;
                const int low = dz < 0 ? kTileSize - reach_ : 0, high = dz > 0 ? reach_ : kTileSize;
                const auto begin = static_cast<uint32_t>(index.cell_begin(t, offset_in_tile(x & 7, y & 7, low)));
                const auto end = static_cast<uint32_t>(index.cell_end(t, offset_in_tile(x & 7, y & 7, high - 1)));
                if (begin < end) ranges_.push_back({begin, end}), count += end - begin;
            }
        }
    column_first_.push_back(count);
}

void Neighbourhood::gather(const Particles& particles, const ParticleIndex& index, const Topology& topology,
                           float voxel, int tile, int reach)
{
    reach_ = reach;
    find_ranges(index, topology, tile);
    for (auto& p : position_) p.resize(size() + kTileSize);
    const float inverse_voxel = 1 / voxel;
    const Vec3f first = topology.first_cell(tile).cast<float>();
    size_t at = 0;
    for (const Range range : ranges_)
        for (uint32_t i = range.begin; i < range.end; ++i, ++at)
            for (int a = 0; a < 3; ++a) position_[a][at] = particles.P[i][a] * inverse_voxel - first[a];
}

void Neighbourhood::find_cells(const ParticleIndex& index, const Topology& topology, int tile)
{
    const int size = kTileSize + 2 * reach_;
    cell_first_.resize(static_cast<size_t>(size) * size * size + 1);
    const auto step = [](int c) { return c < 0 ? -1 : c / kTileSize; };
    uint32_t* out = cell_first_.data();
    uint32_t count = 0;
    for (int x = -reach_; x < kTileSize + reach_; ++x)
        for (int y = -reach_; y < kTileSize + reach_; ++y)
            for (int dz = -1; dz <= 1; ++dz) {
                const int t = topology.neighbour(tile, step(x), step(y), dz);
                const int low = dz < 0 ? kTileSize - reach_ : 0, high = dz > 0 ? reach_ : kTileSize;
                if (t == topology.tile_count()) {
                    out = std::fill_n(out, high - low, count);
                    continue;
                }
                const uint32_t* first = index.cell_first(t) + offset_in_tile(x & 7, y & 7, 0);
                for (int z = low; z < high; ++z) *out++ = count + first[z] - first[low];
                count += static_cast<uint32_t>(index.cell_end(t, offset_in_tile(x & 7, y & 7, high - 1))) - first[low];
            }
    *out = count;
}

void Neighbourhood::gather_velocities(const Particles& particles)
{
    for (auto& v : velocity_) v.resize(size() + kTileSize);
    particle_.resize(size());
    size_t at = 0;
    for (const Range range : ranges_)
        for (uint32_t i = range.begin; i < range.end; ++i, ++at) {
            particle_[at] = i;
            for (int a = 0; a < 3; ++a) velocity_[a][at] = particles.v[i][a];
        }
}

} // namespace spindrift
