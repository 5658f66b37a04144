#include "spindrift/field/tiles.h"

#include "spindrift/base/error.h"
#include "spindrift/base/random.h"

namespace spindrift {

namespace {

// Spreads the low 21 bits of x to every third bit.
uint64_t spread(uint64_t x)
{
    x &= 0x1fffff;
    x = (x | x << 32) & 0x1f00000000ffffull;
    x = (x | x << 16) & 0x1f0000ff0000ffull;
    x = (x | x << 8) & 0x100f00f00f00f00full;
    x = (x | x << 4) & 0x10c30c30c30c30c3ull;
    return (x | x << 2) & 0x1249249249249249ull;
}

uint64_t gather(uint64_t x)
{
    x &= 0x1249249249249249ull;
    x = (x | x >> 2) & 0x10c30c30c30c30c3ull;
    x = (x | x >> 4) & 0x100f00f00f00f00full;
    x = (x | x >> 8) & 0x1f0000ff0000ffull;
    x = (x | x >> 16) & 0x1f00000000ffffull;
    return (x | x >> 32) & 0x1fffff;
}

} // namespace

uint64_t morton_of_tile(const Vec3i& tile)
{
    const auto bits = [](int c) { return spread(static_cast<uint64_t>(c + kTileReach)); };
    return bits(tile.x()) << 2 | bits(tile.y()) << 1 | bits(tile.z());
}

Vec3i tile_of_morton(uint64_t code)
{
    const auto axis = [code](int shift) { return static_cast<int>(gather(code >> shift)) - kTileReach; };
    return {axis(2), axis(1), axis(0)};
}

Topology::Topology(std::vector<uint64_t> codes) : codes_(std::move(codes))
{
    std::sort(codes_.begin(), codes_.end());
    codes_.erase(std::unique(codes_.begin(), codes_.end()), codes_.end());
    const size_t count = codes_.size();

    coords_.resize(count);
    size_t table_size = 16;
    while (table_size < 2 * count) table_size *= 2;
    table_.assign(table_size, -1);
    for (size_t i = 0; i < count; ++i) {
        coords_[i] = tile_of_morton(codes_[i]);
        size_t slot = hash64(codes_[i]) & (table_size - 1);
        while (table_[slot] >= 0) slot = (slot + 1) & (table_size - 1);
        table_[slot] = static_cast<int>(i);
    }

    neighbours_.resize(count);
    parallel_for(
        count,
        [&](size_t i) {
            for (int dx = -1; dx <= 1; ++dx)
                for (int dy = -1; dy <= 1; ++dy)
                    for (int dz = -1; dz <= 1; ++dz)
                        neighbours_[i][neighbour_slot(dx, dy, dz)] = find(coords_[i] + Vec3i(dx, dy, dz));
        },
        64);
}

Topology Topology::covering(const Vec3i& min_cell, const Vec3i& max_cell)
{
    std::vector<uint64_t> codes;
    const Vec3i first = tile_of_cell(min_cell), last = tile_of_cell(max_cell.array() - 1);
    for (int x = first.x(); x <= last.x(); ++x)
        for (int y = first.y(); y <= last.y(); ++y)
            for (int z = first.z(); z <= last.z(); ++z) codes.push_back(morton_of_tile({x, y, z}));
    return Topology(std::move(codes));
}

int Topology::find(const Vec3i& tile) const
{
    if (codes_.empty() || (tile.array() < -kTileReach).any() || (tile.array() >= kTileReach).any()) return tile_count();
    const uint64_t code = morton_of_tile(tile);
    const size_t mask = table_.size() - 1;
    for (size_t slot = hash64(code) & mask; table_[slot] >= 0; slot = (slot + 1) & mask)
        if (codes_[table_[slot]] == code) return table_[slot];
    return tile_count();
}

size_t Topology::bytes() const
{
    return codes_.capacity() * sizeof(uint64_t) + coords_.capacity() * sizeof(Vec3i) +
           neighbours_.capacity() * sizeof(neighbours_[0]) + table_.capacity() * sizeof(int);
}

} // namespace spindrift
