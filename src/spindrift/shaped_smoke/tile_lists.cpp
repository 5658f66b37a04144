#include "spindrift/shaped_smoke/tile_lists.h"

namespace spindrift {

template <class Radius>
void TileLists::build_with(const Topology& topology, float voxel, std::span<const Vec3f> centers, const Radius& radius)
{
    constexpr size_t kLeastChunk = 256, kMostChunks = 32;
    const size_t tiles = topology.tile_count();
    const size_t chunk = std::max(kLeastChunk, (centers.size() + kMostChunks - 1) / kMostChunks);
    const size_t chunks = (centers.size() + chunk - 1) / chunk;
    // Calls body(tile) for each existing tile that overlaps the box of particle i.
    const auto for_each_overlap = [&](size_t i, const auto& body) {
        const Vec3f reach = Vec3f::Constant(radius(i));
        const Vec3i low = tile_of_cell(cell_of(centers[i] - reach, 1 / voxel));
        const Vec3i high = tile_of_cell(cell_of(centers[i] + reach, 1 / voxel));
        for (int x = low.x(); x <= high.x(); ++x)
            for (int y = low.y(); y <= high.y(); ++y)
                for (int z = low.z(); z <= high.z(); ++z)
                    if (const int t = topology.find({x, y, z}); t != topology.tile_count()) body(t);
    };
    const auto for_each_in_chunk = [&](size_t c, const auto& body) {
        for (size_t i = c * chunk, end = std::min(centers.size(), (c + 1) * chunk); i < end; ++i)
            for_each_overlap(i, [&](size_t tile) { body(i, tile); });
    };
    counts_.assign(chunks * tiles, 0);
    parallel_for(chunks,
                 [&](size_t c) { for_each_in_chunk(c, [&](size_t, size_t tile) { ++counts_[c * tiles + tile]; }); });
    // By tile, then by chunk: entries of a tile are in order of particles.
    first_.resize(tiles + 1);
    size_t total = 0;
    for (size_t t = 0; t < tiles; ++t) {
        first_[t] = total;
        for (size_t c = 0; c < chunks; ++c) {
            const uint32_t n = counts_[c * tiles + t];
            counts_[c * tiles + t] = static_cast<uint32_t>(total);
            total += n;
        }
    }
    first_[tiles] = total;
    entries_.resize(total);
    parallel_for(chunks, [&](size_t c) {
        for_each_in_chunk(
            c, [&](size_t i, size_t tile) { entries_[counts_[c * tiles + tile]++] = static_cast<uint32_t>(i); });
    });
}

void TileLists::build(const Topology& topology, float voxel, std::span<const Vec3f> centers,
                      std::span<const float> radii)
{
    build_with(topology, voxel, centers, [&](size_t i) { return radii[i]; });
}

void TileLists::build(const Topology& topology, float voxel, std::span<const Vec3f> centers, float radius)
{
    build_with(topology, voxel, centers, [radius](size_t) { return radius; });
}

} // namespace spindrift
