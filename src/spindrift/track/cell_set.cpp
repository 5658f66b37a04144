#include "spindrift/track/cell_set.h"

#include "spindrift/base/scratch.h"
#include "spindrift/field/block.h"

namespace spindrift {

namespace {

// A set on the tiles of `codes`; fill(topology, tile, flags) sets flags, which are zero before.
template <class Fill> CellSet make_set(Topology topology, const Fill& fill)
{
    CellSet set;
    *set.topology = std::move(topology);
    set.has.reset_uninitialized(*set.topology, 0);
    for_each_tile(*set.topology, [&](int tile) {
        std::fill_n(set.has.tile(tile), kTileCells, uint8_t(0));
        fill(*set.topology, tile, set.has.tile(tile));
    });
    return set;
}

// The first and the last cell of a tile along each axis; the last is -1 if there are none.
struct Extent {
    Vec3i first = Vec3i::Constant(kTileSize), last = Vec3i::Constant(-1);

    explicit Extent(const uint8_t* flags)
    {
        for (int row = 0; row < kTileCells; row += kTileSize) {
            uint64_t bytes = 0;
            std::memcpy(&bytes, flags + row, sizeof(bytes));
            if (bytes == 0) continue;
            const Vec3i cell = cell_in_tile(row);
            first = first.cwiseMin(cell + Vec3i(0, 0, __builtin_ctzll(bytes) / 8));
            last = last.cwiseMax(cell + Vec3i(0, 0, 7 - __builtin_clzll(bytes) / 8));
        }
    }
    bool empty() const { return last.x() < 0; }
};

// The tiles of the boxes that span(first cell, last cell) makes of the extents of a set's tiles.
template <class Span> Topology tiles_of(const CellSet& cells, const Span& span)
{
    const Topology& topology = *cells.topology;
    std::vector<std::vector<uint64_t>> codes(topology.tile_count());
    for_each_tile(topology, [&](int tile) {
        const Extent extent(cells.has.tile(tile));
        if (extent.empty()) return;
        const Vec3i from = topology.first_cell(tile);
        const auto [first, last] = span(Vec3i(from + extent.first), Vec3i(from + extent.last));
        const Vec3i low = tile_of_cell(first), high = tile_of_cell(last);
        for (int x = low.x(); x <= high.x(); ++x)
            for (int y = low.y(); y <= high.y(); ++y)
                for (int z = low.z(); z <= high.z(); ++z) codes[tile].push_back(morton_of_tile({x, y, z}));
    });
    std::vector<uint64_t> all;
    for (const auto& part : codes)
        for (uint64_t code : part)
            if (all.empty() || all.back() != code) all.push_back(code);
    return Topology(std::move(all));
}

} // namespace

std::pair<Vec3i, Vec3i> CellSet::bounds() const
{
    Vec3i first = Vec3i::Constant(std::numeric_limits<int>::max()), last = -first;
    for (int tile = 0; tile < topology->tile_count(); ++tile) {
        const Extent extent(has.tile(tile));
        if (extent.empty()) continue;
        first = first.cwiseMin(topology->first_cell(tile) + extent.first);
        last = last.cwiseMax(topology->first_cell(tile) + extent.last + Vec3i::Ones());
    }
    return {first, last};
}

CellSet cells_of(const std::vector<CellKey>& keys)
{
    std::vector<uint64_t> codes;
    for (const CellKey& key : keys)
        if (codes.empty() || codes.back() != key.tile) codes.push_back(key.tile);
    return make_set(Topology(std::move(codes)), [&](const Topology& topology, int tile, uint8_t* flags) {
        const uint64_t code = topology.codes()[tile];
        const auto before = [](const CellKey& key, uint64_t of) { return key.tile < of; };
        for (auto key = std::lower_bound(keys.begin(), keys.end(), code, before);
             key != keys.end() && key->tile == code; ++key)
            flags[key->offset] = 1;
    });
}

CellSet cells_of_box(const Vec3i& first, const Vec3i& last)
{
    const Vec3i beyond = last + Vec3i::Ones();
    return make_set(Topology::covering(first, beyond), [&](const Topology& topology, int tile, uint8_t* flags) {
        for (int o = 0; o < kTileCells; ++o) {
            const Vec3i cell = topology.first_cell(tile) + cell_in_tile(o);
            flags[o] = (cell.array() >= first.array()).all() && (cell.array() < last.array()).all();
        }
    });
}

CellSet parents_of(const CellSet& cells)
{
    const auto halve = [](const Vec3i& first, const Vec3i& last) { return std::pair(coarser(first), coarser(last)); };
    return make_set(tiles_of(cells, halve), [&](const Topology& topology, int tile, uint8_t* flags) {
        for (int octant = 0; octant < 8; ++octant) {
            const Vec3i side(octant >> 2, octant >> 1 & 1, octant & 1);
            const int fine = cells.topology->find(2 * topology.tile(tile) + side);
            if (fine == cells.topology->tile_count()) continue;
            for (int o = 0; o < kTileCells; ++o)
                if (cells.has.tile(fine)[o]) flags[offset_of_cell(coarser(side * kTileSize + cell_in_tile(o)))] = 1;
        }
    });
}

CellSet children_of(const CellSet& cells)
{
    const auto corners = [](const Vec3i& first, const Vec3i& last) {
        return std::pair(Vec3i(2 * first), Vec3i(2 * last + Vec3i::Constant(2)));
    };
    return make_set(tiles_of(cells, corners), [&](const Topology& topology, int tile, uint8_t* flags) {
        const int coarse = cells.topology->find(coarser(topology.tile(tile)));
        const uint8_t* parents = cells.has.tile(coarse);
        const Vec3i from = topology.first_cell(tile);
        for (int o = 0; o < kTileCells; ++o) flags[o] = parents[offset_of_cell(coarser(from + cell_in_tile(o)))];
    });
}

CellSet grown(const CellSet& cells)
{
    const auto around = [](const Vec3i& first, const Vec3i& last) {
        return std::pair(Vec3i(first - Vec3i::Ones()), Vec3i(last + Vec3i::Ones()));
    };
    // On a topology that has tiles for all of them, a block has every neighbour.
    const CellSet with_tiles =
        make_set(tiles_of(cells, around), [&](const Topology& topology, int tile, uint8_t* flags) {
            std::copy_n(cells.has.tile(cells.topology->find(topology.tile(tile))), kTileCells, flags);
        });
    CellSet set = make_set(*with_tiles.topology, [&](const Topology&, int tile, uint8_t* flags) {
        auto& block = thread_scratch<Block<uint8_t, 1>>();
        block.gather(with_tiles.has, tile);
        for (int o = 0; o < kTileCells; ++o) {
            const Vec3i c = cell_in_tile(o);
            for (int row = 0; row < 9; ++row) {
                const uint8_t* p = &block.at(c.x() + row / 3 - 1, c.y() + row % 3 - 1, c.z());
                flags[o] |= p[-1] | p[0] | p[1];
            }
        }
    });
    return set;
}

} // namespace spindrift
