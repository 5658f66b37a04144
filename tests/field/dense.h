// Random sparse grids, and dense arrays as a reference.
#pragma once

#include "spindrift/base/random.h"
#include "spindrift/field/tiles.h"

#include <set>
#include <tuple>

namespace spindrift {

template <class Body> void for_each_cell(const Vec3i& min, const Vec3i& max, const Body& body)
{
    for (int x = min.x(); x < max.x(); ++x)
        for (int y = min.y(); y < max.y(); ++y)
            for (int z = min.z(); z < max.z(); ++z) body(Vec3i(x, y, z));
}

inline std::tuple<int, int, int> key_of(const Vec3i& c) { return {c.x(), c.y(), c.z()}; }

// Each tile of the tile box [min, max) with the given probability, in random order, some of them twice.
inline std::vector<Vec3i> random_tiles(const Vec3i& min, const Vec3i& max, float chance, uint64_t seed)
{
    Random random(seed);
    std::vector<Vec3i> tiles;
    for_each_cell(min, max, [&](const Vec3i& t) {
        if (random.uniform() < chance) tiles.push_back(t);
    });
    for (size_t i = tiles.size(); i > 1; --i) std::swap(tiles[i - 1], tiles[random.bits() % i]);
    for (size_t i = 0, count = tiles.size(); i < count; i += 3) tiles.push_back(tiles[i]);
    return tiles;
}

inline Topology topology_of(const std::vector<Vec3i>& tiles)
{
    std::vector<uint64_t> codes;
    for (const Vec3i& t : tiles) codes.push_back(morton_of_tile(t));
    return Topology(std::move(codes));
}

template <class T> T& value_at(Field<T>& field, const Vec3i& cell)
{
    return field.tile(field.topology().find(tile_of_cell(cell)))[offset_of_cell(cell)];
}

// One value per cell of a box, with a background outside.
template <class T> class Dense {
  public:
    Dense(const Vec3i& min_cell, const Vec3i& max_cell, T background)
        : min(min_cell), max(max_cell), background_(background),
          values_(static_cast<size_t>((max_cell - min_cell).prod()), background)
    {
    }
    bool contains(const Vec3i& c) const { return (c.array() >= min.array()).all() && (c.array() < max.array()).all(); }
    T& at(const Vec3i& c) { return values_[number(c)]; }
    T get(const Vec3i& c) const { return contains(c) ? values_[number(c)] : background_; }

    Vec3i min, max;

  private:
    size_t number(const Vec3i& c) const
    {
        const Vec3i p = c - min, size = max - min;
        return (static_cast<size_t>(p.x()) * size.y() + p.y()) * static_cast<size_t>(size.z()) +
               static_cast<size_t>(p.z());
    }
    T background_;
    std::vector<T> values_;
};

// Calls body(cell, value) for every cell of a field.
template <class T, class Body> void for_each_value(Field<T>& field, const Body& body)
{
    for (int t = 0; t < field.topology().tile_count(); ++t)
        for (int o = 0; o < kTileCells; ++o) body(field.topology().first_cell(t) + cell_in_tile(o), field.tile(t)[o]);
}

// A field of random numbers, and the same numbers in a dense box one tile larger than the topology.
struct RandomField {
    Topology topology;
    Field<float> field;
    Dense<float> dense;

    RandomField(const Vec3i& min_tile, const Vec3i& max_tile, float chance, float background, uint64_t seed)
        : topology(topology_of(random_tiles(min_tile, max_tile, chance, seed))), field(topology, 0, background),
          dense((min_tile.array() - 1).matrix() * kTileSize, (max_tile.array() + 1).matrix() * kTileSize, background)
    {
        Random random(seed, 1);
        for_each_value(field, [&](const Vec3i& cell, float& value) {
            value = random.uniform(-1, 1);
            dense.at(cell) = value;
        });
    }
    RandomField(const RandomField&) = delete;
};

} // namespace spindrift
