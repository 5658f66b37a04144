#include "spindrift/surface/interior.h"

namespace spindrift {

Interior::Interior(const ParticleIndex& index, const Topology& topology, float spacing,
                   const std::vector<float>* volumes)
    : topology_(&topology)
{
    // The smallest power of two not below two spacings, except for rounding.
    while (bin_ < 4 && static_cast<float>(bin_) < 1.9f * spacing) bin_ *= 2;
    const float expected = std::pow(static_cast<float>(bin_) / spacing, 3.0f);
    const auto enough = static_cast<uint32_t>(std::max(1.0f, std::ceil(expected / 4)));
    liquid_.resize(topology.tile_count() + 1, {});
    for_each_tile(topology, [&](int tile) {
        if (index.tile_empty(tile)) return;
        std::array<float, kTileCells> count{};
        for (int c = 0; c < kTileCells; ++c) {
            const Vec3i bin = cell_in_tile(c) / bin_;
            float& here = count[offset_in_tile(bin.x(), bin.y(), bin.z())];
            if (volumes)
                for (size_t i = index.cell_begin(tile, c); i < index.cell_end(tile, c); ++i)
                    here += std::min((*volumes)[i], expected);
            else
                here += static_cast<float>(index.cell_end(tile, c) - index.cell_begin(tile, c));
        }
        for (int c = 0; c < kTileCells; ++c)
            if (count[c] >= static_cast<float>(enough)) liquid_[tile][c >> 6] |= uint64_t(1) << (c & 63);
    });
}

bool Interior::liquid(int tile, int x, int y, int z) const
{
    const int bins = kTileSize / bin_;
    const auto step = [bins](int b) { return b < 0 ? -1 : b / bins; };
    const int t = topology_->neighbour(tile, step(x), step(y), step(z));
    const auto local = [bins](int b) { return b & (bins - 1); };
    return liquid_[t][local(x)] >> (8 * local(y) + local(z)) & 1;
}

InteriorMask Interior::mask(int tile, int bins_away) const
{
    InteriorMask mask;
    const auto& own = liquid_[tile];
    if (std::all_of(own.begin(), own.end(), [](uint64_t w) { return w == 0; })) return mask;

    // Liquid bins of the tile and those around, then the minimum of three or five along each axis.
    constexpr int kMost = kTileSize + 4;
    const int bins = kTileSize / bin_, size = bins + 2 * bins_away;
    bool all[kMost][kMost][kMost];
    for (int x = 0; x < size; ++x)
        for (int y = 0; y < size; ++y)
            for (int z = 0; z < size; ++z) all[x][y][z] = liquid(tile, x - bins_away, y - bins_away, z - bins_away);
    const auto shrink = [&](bool& first, int stride) {
        for (int k = 1; k <= 2 * bins_away; ++k) first = first && (&first)[k * stride];
    };
    for (int x = 0; x < size; ++x)
        for (int y = 0; y < size; ++y)
            for (int z = 0; z < bins; ++z) shrink(all[x][y][z], 1);
    for (int x = 0; x < size; ++x)
        for (int y = 0; y < bins; ++y)
            for (int z = 0; z < bins; ++z) shrink(all[x][y][z], kMost);
    for (int x = 0; x < bins; ++x)
        for (int y = 0; y < bins; ++y)
            for (int z = 0; z < bins; ++z) shrink(all[x][y][z], kMost * kMost);
    for (int c = 0; c < kTileCells; ++c) {
        const Vec3i cell = cell_in_tile(c), bin = cell / bin_;
        if (all[bin.x()][bin.y()][bin.z()]) mask.set(cell.x(), cell.y(), cell.z());
    }
    return mask;
}

} // namespace spindrift
