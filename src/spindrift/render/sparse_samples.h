// Values at the points of a sparse grid, for rays. Each tile of 8x8x8 also stores the first layer of its upper
// neighbours, so that interpolation between eight points never leaves a tile. Rays walk from tile to tile and skip
// missing ones.
#pragma once

#include "spindrift/field/tiles.h"
#include "spindrift/render/optics.h"

#include <optional>

namespace spindrift {

// The positions of the points, and the tiles that exist.
class SparseSampleGrid {
  public:
    static constexpr int kEdge = kTileSize + 1, kPoints = kEdge * kEdge * kEdge; // of a tile with the additional layer

    SparseSampleGrid() = default;
    // `origin` is the position of point (0,0,0).
    SparseSampleGrid(Topology topology, float spacing, const Vec3f& origin);

    const Topology& topology() const { return topology_; }
    int tile_count() const { return topology_.tile_count(); }
    float spacing() const { return spacing_; }
    const Box3f& bounds() const { return bounds_; }
    int tiles_across() const { return size_.maxCoeff(); } // along the longest edge of the box of all tiles
    Vec3f position(const Vec3i& point) const { return origin_ + spacing_ * point.cast<float>(); }
    // In units of the spacing: integers are points.
    Vec3f coordinates(const Vec3f& position) const { return (position - origin_) / spacing_; }
    int tile_at(const Vec3i& tile) const;

    // The points of a tile are numbered with z fastest.
    static int number(const Vec3i& in_tile) { return (in_tile.x() * kEdge + in_tile.y()) * kEdge + in_tile.z(); }
    Vec3i point(int tile, int i) const { return topology_.first_cell(tile) + point_in_tile(i); }
    static Vec3i point_in_tile(int i) { return {i / (kEdge * kEdge), i / kEdge % kEdge, i % kEdge}; }

    // Calls visit(tile, coordinates in the tile at the start, their change with distance, start, end) for each tile
    // along a ray between two distances, in order, until it returns false.
    template <class Visit> void walk(const Ray& ray, float near, float far, const Visit& visit) const;

  private:
    Topology topology_;
    float spacing_ = 1;
    Vec3f origin_ = Vec3f::Zero();
    Box3f bounds_;
    Vec3i low_ = Vec3i::Zero(), size_ = Vec3i::Zero(); // the box of tiles
    std::vector<int> table_;                           // of tile indices in that box, unless it is too large
};

// The eight points around a position in a tile: the first of them, and the interpolation weights along each axis.
struct Between {
    int first;
    float x, y, z;

    explicit Between(const Vec3f& in_tile)
    {
        const auto along = [](float u, float& rest) {
            const float inside = std::clamp(u, 0.0f, static_cast<float>(kTileSize));
            const int i = std::min(static_cast<int>(inside), kTileSize - 1);
            rest = inside - static_cast<float>(i);
            return i;
        };
        const int i = along(in_tile.x(), x), j = along(in_tile.y(), y), k = along(in_tile.z(), z);
        first = SparseSampleGrid::number({i, j, k});
    }
    // Interpolates value(i), the value of point i.
    template <class Value> auto mean(const Value& value) const
    {
        constexpr int e = SparseSampleGrid::kEdge;
        const auto along_z = [&](int i) { return value(i) + z * (value(i + 1) - value(i)); };
        const auto a = along_z(first), b = along_z(first + e), c = along_z(first + e * e),
                   d = along_z(first + e * e + e);
        const auto ab = a + y * (b - a), cd = c + y * (d - c);
        return ab + x * (cd - ab);
    }
};

template <class T> class SparseSamples {
  public:
    SparseSamples() = default;
    explicit SparseSamples(const SparseSampleGrid& grid)
        : grid_(&grid), values_(static_cast<size_t>(grid.tile_count()) * SparseSampleGrid::kPoints)
    {
    }
    bool empty() const { return values_.empty(); }
    const SparseSampleGrid& grid() const { return *grid_; }
    T* tile(int index) { return values_.data() + static_cast<size_t>(index) * SparseSampleGrid::kPoints; }
    const T* tile(int index) const { return values_.data() + static_cast<size_t>(index) * SparseSampleGrid::kPoints; }

    // Sets all points to value(point), which must depend only on the point.
    template <class Value> void fill(const Value& value)
    {
        const Topology& topology = grid_->topology();
        const auto neighbour = [&](int t, const Vec3i& in) {
            return topology.neighbour(t, in.x() / kTileSize, in.y() / kTileSize, in.z() / kTileSize);
        };
        const auto missing = [&](int t) { return t == topology.tile_count(); };
        for_each_tile(topology, [&](int t) {
            for (int i = 0; i < SparseSampleGrid::kPoints; ++i)
                if (const Vec3i in = SparseSampleGrid::point_in_tile(i);
                    neighbour(t, in) == t || missing(neighbour(t, in)))
                    tile(t)[i] = value(grid_->point(t, i));
        });
        for_each_tile(topology, [&](int t) { // the additional layer, from the neighbours
            for (int i = 0; i < SparseSampleGrid::kPoints; ++i) {
                const Vec3i in = SparseSampleGrid::point_in_tile(i);
                const int owner = neighbour(t, in);
                if (owner == t || missing(owner)) continue;
                tile(t)[i] = tile(owner)[SparseSampleGrid::number({in.x() & 7, in.y() & 7, in.z() & 7})];
            }
        });
    }
    // At a point; zero where there is no tile.
    T at(const Vec3i& point) const
    {
        const int t = grid_->tile_at(tile_of_cell(point));
        return t < grid_->tile_count()
                   ? tile(t)[SparseSampleGrid::number({point.x() & 7, point.y() & 7, point.z() & 7})]
                   : T();
    }
    // Interpolated at a position, if there is a tile.
    std::optional<T> find(const Vec3f& place) const
    {
        const Vec3f p = grid_->coordinates(place);
        const Vec3i home = tile_of_cell(Vec3i(floor_int(p.x()), floor_int(p.y()), floor_int(p.z())));
        const int t = grid_->tile_at(home);
        if (t >= grid_->tile_count()) return {};
        const T* values = tile(t);
        return Between(p - (home * kTileSize).cast<float>()).mean([values](int i) { return values[i]; });
    }

  private:
    const SparseSampleGrid* grid_ = nullptr;
    std::vector<T> values_;
};

// The number of equal steps between two distances that are no longer than `longest`, except for rounding.
inline int steps_between(float from, float to, float longest)
{
    return std::max(1, static_cast<int>(std::ceil((to - from) / longest - 0.01f)));
}

// Clips the interval of a ray to a box; empty if near > far.
inline void clip(const Ray& ray, const Box3f& box, float& near, float& far)
{
    for (int axis = 0; axis < 3; ++axis) {
        const float o = ray.origin[axis], d = ray.direction[axis];
        if (d == 0) {
            if (o < box.min[axis] || o > box.max[axis]) far = -kInfinity;
            continue;
        }
        const float a = (box.min[axis] - o) / d, b = (box.max[axis] - o) / d;
        near = std::max(near, std::min(a, b)), far = std::min(far, std::max(a, b));
    }
}

template <class Visit> void SparseSampleGrid::walk(const Ray& ray, float near, float far, const Visit& visit) const
{
    if (tile_count() == 0) return;
    clip(ray, bounds_, near, far);
    if (!(near < far)) return;
    const Vec3f start = coordinates(ray.origin), change = ray.direction / spacing_;
    // Along each axis: the current tile, the step to the next one, and the distance at which the ray leaves it.
    Vec3i tile, step;
    Vec3f exit, between;
    for (int axis = 0; axis < 3; ++axis) {
        const float at = (start[axis] + near * change[axis]) / kTileSize;
        tile[axis] = std::clamp(floor_int(at), low_[axis], low_[axis] + size_[axis] - 1);
        step[axis] = change[axis] < 0 ? -1 : 1;
        const float border = static_cast<float>((tile[axis] + (step[axis] > 0 ? 1 : 0)) * kTileSize);
        const bool moves = change[axis] != 0;
        exit[axis] = moves ? (border - start[axis]) / change[axis] : kInfinity;
        between[axis] = moves ? kTileSize / std::abs(change[axis]) : kInfinity;
    }
    for (float from = near; from < far;) {
        int axis = exit.x() < exit.y() ? 0 : 1;
        if (exit.z() < exit[axis]) axis = 2;
        const float to = std::min(exit[axis], far);
        if (to > from) {
            const int index = tile_at(tile);
            if (index < tile_count()) {
                const Vec3f in_tile = start + from * change - (tile * kTileSize).cast<float>();
                if (!visit(index, in_tile, change, from, to)) return;
            }
            from = to;
        }
        tile[axis] += step[axis], exit[axis] += between[axis];
        if (tile[axis] < low_[axis] || tile[axis] >= low_[axis] + size_[axis]) return;
    }
}

inline int SparseSampleGrid::tile_at(const Vec3i& tile) const
{
    const Vec3i in_box = tile - low_;
    if ((in_box.array() < 0).any() || (in_box.array() >= size_.array()).any()) return tile_count();
    if (table_.empty()) return topology_.find(tile);
    return table_[(static_cast<size_t>(in_box.x()) * size_.y() + in_box.y()) * size_.z() + in_box.z()];
}

} // namespace spindrift
