// The sparse grid of all volumetric fields.
//
// Space is divided into tiles of 8x8x8 cells in the layout of an OpenVDB leaf (z fastest, then y, then x), so that a
// field becomes a VDB grid by copying whole leaves. A `Topology` holds the existing tiles and their neighbours; any
// number of `Field`s share it, each one flat array. Tiles are in Morton order: neighbours in space are near in memory,
// and the eight children of a coarser tile are consecutive.
//
// Missing tiles need no special case in kernels: their index is `tile_count()`, where every field keeps an extra tile
// filled with its background value.
#pragma once

#include "spindrift/base/math.h"
#include "spindrift/base/parallel.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

namespace spindrift {

constexpr int kTileSize = 8;
constexpr int kTileCells = kTileSize * kTileSize * kTileSize;
// Tile coordinates lie in [-kTileReach, kTileReach): over eight million cells in each direction.
constexpr int kTileReach = 1 << 20;

inline Vec3i tile_of_cell(const Vec3i& cell) { return {cell.x() >> 3, cell.y() >> 3, cell.z() >> 3}; }
inline int offset_in_tile(int x, int y, int z) { return (x << 6) | (y << 3) | z; }
inline int offset_of_cell(const Vec3i& cell) { return offset_in_tile(cell.x() & 7, cell.y() & 7, cell.z() & 7); }
inline Vec3i cell_in_tile(int offset) { return {offset >> 6, (offset >> 3) & 7, offset & 7}; }

uint64_t morton_of_tile(const Vec3i& tile);
Vec3i tile_of_morton(uint64_t code);

// Index of the neighbour (dx, dy, dz), each -1, 0 or 1, in a table of 27.
constexpr int neighbour_slot(int dx, int dy, int dz) { return (dx + 1) * 9 + (dy + 1) * 3 + (dz + 1); }
inline Vec3i neighbour_step(int slot) { return {slot / 9 - 1, slot / 3 % 3 - 1, slot % 3 - 1}; }

class Topology {
  public:
    Topology() = default;
    // From Morton codes in any order; duplicates are allowed.
    explicit Topology(std::vector<uint64_t> codes);
    // All tiles that intersect the cell box [min, max).
    static Topology covering(const Vec3i& min_cell, const Vec3i& max_cell);

    int tile_count() const { return static_cast<int>(codes_.size()); }
    size_t cell_count() const { return codes_.size() * kTileCells; }
    const std::vector<uint64_t>& codes() const { return codes_; }

    Vec3i tile(int index) const { return coords_[index]; }
    Vec3i first_cell(int index) const { return coords_[index] * kTileSize; }
    // Index of a tile, or tile_count() if it is missing.
    int find(const Vec3i& tile) const;
    // Indices of the 27 tiles around and including a tile, see neighbour_slot().
    const std::array<int, 27>& neighbours(int index) const { return neighbours_[index]; }
    int neighbour(int index, int dx, int dy, int dz) const { return neighbours(index)[neighbour_slot(dx, dy, dz)]; }
    // The neighbour of a cell (an offset in a tile) along an axis; `side` is -1 or 1. Its tile may be missing.
    struct Cell {
        int tile, offset;
    };
    Cell next_cell(int tile, int offset, int axis, int side) const
    {
        Vec3i cell = cell_in_tile(offset), step = Vec3i::Zero();
        cell[axis] += side;
        if (cell[axis] < 0 || cell[axis] >= kTileSize) step[axis] = side;
        return {neighbour(tile, step.x(), step.y(), step.z()), offset_of_cell(cell)};
    }
    size_t bytes() const;

  private:
    std::vector<uint64_t> codes_; // sorted, unique
    std::vector<Vec3i> coords_;
    std::vector<std::array<int, 27>> neighbours_;
    std::vector<int> table_; // open-addressed hash of tile indices
};

// Memory aligned for vector instructions. Pages are not touched before they are written, and capacity is kept on
// shrinking. Each buffer starts at a different offset in its page: kernels stream through many buffers at once, and
// equal offsets would compete for the few ways of one cache set.
template <class T> class Buffer {
  public:
    void resize(size_t count)
    {
        if (count > capacity_) {
            const size_t ahead = capacity_ > 0 ? count / 4 : 0; // grow geometrically from the second time on
            const size_t skip = next_skip();
            const size_t bytes = ((count + ahead) * sizeof(T) + 63) / 64 * 64 + skip;
            memory_.reset();
            memory_.reset(static_cast<std::byte*>(std::aligned_alloc(64, bytes)));
            if (!memory_) throw std::bad_alloc();
            data_ = reinterpret_cast<T*>(memory_.get() + skip);
            capacity_ = count + ahead;
        }
        size_ = count;
    }
    T* data() { return data_; }
    const T* data() const { return data_; }
    size_t size() const { return size_; }
    size_t capacity() const { return capacity_; }

  private:
    static size_t next_skip()
    {
        static std::atomic<size_t> count = 0;
        return count++ * 11 % 64 * 64;
    }
    struct Free {
        void operator()(std::byte* p) const { std::free(p); }
    };
    std::unique_ptr<std::byte[], Free> memory_;
    T* data_ = nullptr;
    size_t size_ = 0, capacity_ = 0;
};

// One value per cell of a topology, which must outlive the field.
template <class T> class Field {
  public:
    Field() = default;
    Field(const Topology& topology, T value, T background) { reset(topology, value, background); }
    Field(const Topology& topology, T value) { reset(topology, value); }

    // Assigns a topology and sets every cell to `value`. Reuses memory.
    void reset(const Topology& topology, T value) { reset(topology, value, value); }
    void reset(const Topology& topology, T value, T background)
    {
        reset_uninitialized(topology, background);
        parallel_for(
            topology.tile_count(), [&](size_t t) { std::fill_n(tile(static_cast<int>(t)), kTileCells, value); }, 16);
    }
    // As reset(), but cells are uninitialised.
    void reset_uninitialized(const Topology& topology, T background)
    {
        topology_ = &topology;
        // One row more than the background tile, so that kernels may read one cell past the end of any tile.
        data_.resize(topology.cell_count() + kTileCells + kTileSize);
        std::fill_n(tile(topology.tile_count()), kTileCells + kTileSize, background);
    }

    void copy_from(const Field& other)
    {
        reset_uninitialized(other.topology(), other.background());
        parallel_for(
            topology_->tile_count(),
            [&](size_t t) { std::copy_n(other.tile(static_cast<int>(t)), kTileCells, tile(static_cast<int>(t))); }, 16);
    }

    const Topology& topology() const { return *topology_; }
    // The 512 values of a tile; index tile_count() is the background tile.
    T* tile(int index) { return data_.data() + static_cast<size_t>(index) * kTileCells; }
    const T* tile(int index) const { return data_.data() + static_cast<size_t>(index) * kTileCells; }
    T background() const { return tile(topology_->tile_count())[0]; }
    std::span<T> values() { return {data_.data(), topology_->cell_count()}; }
    std::span<const T> values() const { return {data_.data(), topology_->cell_count()}; }
    // Slow access by cell coordinate; background where the tile is missing.
    T at(const Vec3i& cell) const { return tile(topology_->find(tile_of_cell(cell)))[offset_of_cell(cell)]; }
    size_t bytes() const { return data_.capacity() * sizeof(T); }

  private:
    const Topology* topology_ = nullptr;
    Buffer<T> data_;
};

// Prefetches a tile into the cache.
inline void prefetch_tile(const float* tile)
{
    for (int c = 0; c < kTileCells; c += 16) __builtin_prefetch(tile + c, 0, 2);
}

template <class Body> void for_each_tile(const Topology& topology, const Body& body)
{
    parallel_for(topology.tile_count(), [&](size_t t) { body(static_cast<int>(t)); });
}

} // namespace spindrift
