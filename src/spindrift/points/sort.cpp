#include "spindrift/points/sort.h"

#include "spindrift/base/error.h"
#include "spindrift/base/random.h"
#include "spindrift/base/scratch.h"

namespace spindrift {

namespace {

// Per axis and per coordinate within the tile: the neighbour slots (of 27) that a particle there may reach.
struct ReachMasks {
    std::array<std::array<uint32_t, kTileSize>, 3> mask{};

    explicit ReachMasks(int reach)
    {
        for (int axis = 0; axis < 3; ++axis)
            for (int c = 0; c < kTileSize; ++c)
                for (int slot = 0; slot < 27; ++slot) {
                    const int step = neighbour_step(slot)[axis];
                    const bool reached = step == 0 || (step < 0 ? c - reach < 0 : c + reach >= kTileSize);
                    if (reached) mask[axis][c] |= 1u << slot;
                }
    }
    uint32_t of(const Vec3i& cell) const
    {
        return mask[0][cell.x() & 7] & mask[1][cell.y() & 7] & mask[2][cell.z() & 7];
    }
};

struct TileReach {
    uint64_t code;
    uint32_t slots;
};

// Cache of recently used tiles: consecutive particles mostly share a tile, so lookups are rare.
template <class Value> struct RecentTiles {
    static constexpr size_t kSlots = 64;
    struct Entry {
        Vec3i tile = Vec3i::Constant(std::numeric_limits<int>::max());
        Value value{};
    };
    std::array<Entry, kSlots> entries;

    Entry& slot(const Vec3i& tile) { return entries[(tile.x() & 3) << 4 | (tile.y() & 3) << 2 | (tile.z() & 3)]; }
};

constexpr size_t kChunk = 16384;

// The first third of the memory of an array of vectors, for numbers of four bytes.
template <class T> class Words {
  public:
    explicit Words(std::vector<Vec3f>& memory) : bytes_(reinterpret_cast<std::byte*>(memory.data()))
    {
        static_assert(sizeof(T) == 4 && std::is_trivially_copyable_v<T>);
    }
    T operator[](size_t i) const
    {
        T value;
        std::memcpy(&value, bytes_ + 4 * i, 4);
        return value;
    }
    void set(size_t i, T value) const { std::memcpy(bytes_ + 4 * i, &value, 4); }

  private:
    std::byte* bytes_;
};

// Moves every array into the order of `order`: entry i is what was entry order[i]. `spare` has as many entries.
void reorder(Particles& particles, const std::vector<uint32_t>& order, std::vector<Vec3f>& spare)
{
    const size_t count = order.size();
    particles.for_each_array([&]<class T>(const std::string&, std::vector<T>& array) {
        if constexpr (std::is_same_v<T, Vec3f>) {
            parallel_chunks(count, kChunk, [&](size_t begin, size_t end) {
                for (size_t i = begin; i < end; ++i) spare[i] = array[order[i]];
            });
            std::swap(array, spare);
        } else {
            const Words<T> moved(spare);
            parallel_chunks(count, kChunk, [&](size_t begin, size_t end) {
                for (size_t i = begin; i < end; ++i) moved.set(i, array[order[i]]);
            });
            parallel_chunks(count, kChunk, [&](size_t begin, size_t end) {
                for (size_t i = begin; i < end; ++i) array[i] = moved[i];
            });
        }
    });
}

} // namespace

Topology tiles_around(const Particles& particles, float voxel, int reach)
{
    const ReachMasks masks(reach);
    const float inverse_voxel = 1 / voxel;
    const float limit = static_cast<float>(kTileReach - 2) * kTileSize;
    std::vector<std::vector<TileReach>> found((particles.size() + kChunk - 1) / kChunk);
    parallel_for(found.size(), [&](size_t c) {
        RecentTiles<uint32_t> recent;
        for (size_t i = c * kChunk, end = std::min(particles.size(), (c + 1) * kChunk); i < end; ++i) {
            if (!((particles.P[i] * inverse_voxel).array().abs() < limit).all()) // also catches NaN
                fail("particle {} is at ({}, {}, {}) m, which is outside the grid: it reaches {} m each way at this "
                     "voxel",
                     particles.id[i], particles.P[i].x(), particles.P[i].y(), particles.P[i].z(), limit * voxel);
            const Vec3i cell = cell_of(particles.P[i], inverse_voxel), tile = tile_of_cell(cell);
            auto& entry = recent.slot(tile);
            if (entry.tile != tile) {
                if (entry.value) found[c].push_back({morton_of_tile(entry.tile), entry.value});
                entry.tile = tile, entry.value = 0;
            }
            entry.value |= masks.of(cell);
        }
        for (const auto& entry : recent.entries)
            if (entry.value) found[c].push_back({morton_of_tile(entry.tile), entry.value});
    });

    std::vector<TileReach> all;
    for (const auto& part : found) all.insert(all.end(), part.begin(), part.end());
    std::sort(all.begin(), all.end(), [](const TileReach& a, const TileReach& b) { return a.code < b.code; });
    std::vector<uint64_t> codes;
    for (size_t i = 0; i < all.size();) {
        uint32_t slots = 0;
        const uint64_t code = all[i].code;
        for (; i < all.size() && all[i].code == code; ++i) slots |= all[i].slots;
        const Vec3i tile = tile_of_morton(code);
        for (int s = 0; s < 27; ++s)
            if (slots >> s & 1) codes.push_back(morton_of_tile(tile + Vec3i(s / 9 - 1, s / 3 % 3 - 1, s % 3 - 1)));
    }
    return Topology(std::move(codes));
}

size_t ParticleIndex::bytes() const
{
    return first_.capacity() * sizeof(uint32_t) + cell_first_.bytes() + order_.capacity() * sizeof(uint32_t) +
           spare_.capacity() * sizeof(Vec3f);
}

void sort_by_tile(Particles& particles, const Topology& topology, float voxel, ParticleIndex& index)
{
    const size_t count = particles.size(), tiles = topology.tile_count();
    const float inverse_voxel = 1 / voxel;
    // At most 64 chunks, which keeps the per-chunk counts small compared to the particles.
    const size_t chunk = std::max(kChunk, (count + 63) / 64), chunks = (count + chunk - 1) / chunk;
    index.order_.resize(count), index.spare_.resize(count);
    const Words<uint32_t> key(index.spare_);
    std::vector<uint32_t> counts(chunks * tiles, 0);

    // Find tile and cell of each particle, and count particles per chunk and tile.
    parallel_for(chunks, [&](size_t c) {
        RecentTiles<uint32_t> recent;
        uint32_t* in_tile = counts.data() + c * tiles;
        for (size_t i = c * chunk, end = std::min(count, (c + 1) * chunk); i < end; ++i) {
            const Vec3i cell = cell_of(particles.P[i], inverse_voxel), tile = tile_of_cell(cell);
            auto& entry = recent.slot(tile);
            if (entry.tile != tile) entry.tile = tile, entry.value = static_cast<uint32_t>(topology.find(tile));
            key.set(i, entry.value * kTileCells + static_cast<uint32_t>(offset_of_cell(cell)));
            ++in_tile[entry.value];
        }
    });

    // Compute where each chunk's part of each tile goes: by tile, then by chunk, which makes the sort stable.
    index.first_.resize(tiles + 1);
    uint32_t total = 0;
    for (size_t t = 0; t < tiles; ++t) {
        index.first_[t] = total;
        for (size_t c = 0; c < chunks; ++c) {
            const uint32_t n = counts[c * tiles + t];
            counts[c * tiles + t] = total;
            total += n;
        }
    }
    index.first_[tiles] = total;
    parallel_for(chunks, [&](size_t c) {
        uint32_t* next = counts.data() + c * tiles;
        for (size_t i = c * chunk, end = std::min(count, (c + 1) * chunk); i < end; ++i)
            index.order_[next[key[i] / kTileCells]++] = static_cast<uint32_t>(i);
    });

    // Sort by cell within each tile.
    index.cell_first_.reset_uninitialized(topology, total); // in the missing tile all cells begin at the end
    parallel_for(tiles, [&](size_t t) {
        const size_t begin = index.first_[t], end = index.first_[t + 1];
        uint32_t* cell_first = index.cell_first_.tile(static_cast<int>(t));
        std::array<uint32_t, kTileCells> next{};
        for (size_t i = begin; i < end; ++i) ++next[key[index.order_[i]] % kTileCells];
        uint32_t at = static_cast<uint32_t>(begin);
        for (size_t c = 0; c < kTileCells; ++c) {
            cell_first[c] = at;
            at += next[c];
            next[c] = cell_first[c];
        }
        if (begin == end) return;
        auto& unsorted = thread_scratch<std::vector<uint32_t>>();
        unsorted.assign(index.order_.begin() + static_cast<long>(begin), index.order_.begin() + static_cast<long>(end));
        for (const uint32_t i : unsorted) index.order_[next[key[i] % kTileCells]++] = i;
    });

    reorder(particles, index.order_, index.spare_);
}

} // namespace spindrift
