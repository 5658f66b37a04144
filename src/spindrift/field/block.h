// A tile and a margin of H cells around it, copied into one small dense array, so that stencil kernels reach neighbours
// by plain indexing.
#pragma once

#include "spindrift/field/tiles.h"

namespace spindrift {

// Contents of the margin where a tile is missing: the field's background, or the nearest existing value.
enum class Margin { background, nearest };

template <class T, int H> struct Block {
    static_assert(H >= 1 && H <= kTileSize);
    static constexpr int kSize = kTileSize + 2 * H;
    static constexpr int kStrideY = kSize, kStrideX = kSize * kSize;
    alignas(64) T data[kSize * kSize * kSize];

    // Index of a cell in tile coordinates, each in [-H, 8 + H).
    static constexpr int index(int x, int y, int z) { return ((x + H) * kSize + y + H) * kSize + z + H; }
    T& at(int x, int y, int z) { return data[index(x, y, z)]; }
    const T& at(int x, int y, int z) const { return data[index(x, y, z)]; }

    void gather(const Field<T>& field, int tile, Margin margin = Margin::background)
    {
        gather(
            field.topology(), tile, [&](int t) { return field.tile(t); }, margin);
    }
    // The same with values(t) returning the 512 values of tile t.
    template <class Values>
    void gather(const Topology& topology, int tile, const Values& values, Margin margin = Margin::background)
    {
        for (int dx = -1; dx <= 1; ++dx)
            for (int dy = -1; dy <= 1; ++dy) {
                const auto neighbour = [&](int dz) { return topology.neighbour(tile, dx, dy, dz); };
                const int missing = topology.tile_count();
                const bool whole = neighbour(-1) != missing && neighbour(0) != missing && neighbour(1) != missing;
                if (whole || margin == Margin::background)
                    copy_rows(values(neighbour(-1)), values(neighbour(0)), values(neighbour(1)), dx, dy);
                else
                    for (int dz = -1; dz <= 1; ++dz) copy_part(topology, tile, values, {dx, dy, dz}, margin);
            }
    }

    void subtract(T factor, const Block& other)
    {
        for (int i = 0; i < kSize * kSize * kSize; ++i) data[i] -= factor * other.data[i];
    }

  private:
    // Range of the block's cells along x or y that lie in the neighbour d.
    static constexpr int low_of(int d) { return d < 0 ? -H : d * kTileSize; }
    static constexpr int high_of(int d) { return d > 0 ? kTileSize + H : (d + 1) * kTileSize; }

    // Copies the rows in the neighbours (dx, dy): the end of the tile below along z, the tile, the start of the one
    // above.
    void copy_rows(const T* before, const T* here, const T* after, int dx, int dy)
    {
        for (int x = low_of(dx); x < high_of(dx); ++x)
            for (int y = low_of(dy); y < high_of(dy); ++y) {
                const int row = offset_in_tile(x & 7, y & 7, 0);
                T* out = &at(x, y, -H);
                std::memcpy(out, before + row + kTileSize - H, sizeof(T) * H);
                std::memcpy(out + H, here + row, sizeof(T) * kTileSize);
                std::memcpy(out + H + kTileSize, after + row, sizeof(T) * H);
            }
    }
    // Copies the part of the block that lies in the neighbour `step`.
    template <class Values>
    void copy_part(const Topology& topology, int tile, const Values& values_of, const Vec3i& step, Margin margin)
    {
        int source = topology.neighbour(tile, step.x(), step.y(), step.z());
        Vec3i from = step; // neighbour to copy from
        if (source == topology.tile_count() && margin == Margin::nearest) {
            from = nearest_existing(topology, tile, step);
            source = topology.neighbour(tile, from.x(), from.y(), from.z());
        }
        const T* values = values_of(source);
        Vec3i low, high;
        for (int a = 0; a < 3; ++a) low[a] = low_of(step[a]), high[a] = high_of(step[a]);
        const auto local = [&](int c, int a) { return std::clamp(c - from[a] * kTileSize, 0, kTileSize - 1); };
        const int count = high.z() - low.z();
        for (int x = low.x(); x < high.x(); ++x)
            for (int y = low.y(); y < high.y(); ++y) {
                const T* row = values + offset_in_tile(local(x, 0), local(y, 1), 0);
                T* out = &at(x, y, low.z());
                if (from.z() == step.z())
                    std::copy_n(row + low.z() - from.z() * kTileSize, count, out);
                else
                    std::fill_n(out, count, row[step.z() > 0 ? kTileSize - 1 : 0]);
            }
    }

    static Vec3i nearest_existing(const Topology& topology, int tile, const Vec3i& step)
    {
        // Drop one axis of the step, then two; the tile itself always exists.
        for (int given_up = 1; given_up <= 2; ++given_up)
            for (int a = 2; a >= 0; --a) {
                Vec3i from = given_up == 1 ? step : Vec3i(0, 0, 0);
                from[a] = given_up == 1 ? 0 : step[a];
                if (topology.neighbour(tile, from.x(), from.y(), from.z()) != topology.tile_count()) return from;
            }
        return {0, 0, 0};
    }
};

} // namespace spindrift
