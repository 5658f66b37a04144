// Sorts droplets into the cells of a grid, so that droplets that can collide within a step are close in memory.
//
// A droplet's reach is its radius plus half its displacement in the step, and its position is the midpoint of that
// displacement. Two droplets can only collide if they are no farther apart than the sum of their reaches. The grid has
// levels, each with cells twice as large as the one before. A droplet goes to the first level whose cells are at least
// twice its reach, so that one giant droplet does not enlarge the cells of all. Cells are numbered row by row: the
// three cells of a row around a place hold consecutive droplets. Only occupied cells take memory. Where cell numbers
// would overflow, far from most droplets, the outermost cell collects all droplets beyond it.
#pragma once

#include "spindrift/field/tiles.h"
#include "spindrift/points/particles.h"

namespace spindrift {

// Attributes of droplets, see spray/spray.h.
constexpr const char *kRadiusAttribute = "radius", *kParentAttribute = "parent", *kAgeAttribute = "age",
                     *kOutcomeAttribute = "outcome", *kRestAttribute = "cooldown";

// Radius within which others find a droplet. Its displacement counts up to `search` radii.
struct Reach {
    float half_step, search;
    Vec3f middle(const Vec3f& x, const Vec3f& v) const { return x + half_step * v; }
    float operator()(const Vec3f& v, float radius) const
    {
        return radius + std::min(half_step * v.norm(), search * radius);
    }
};

class DropletCells {
  public:
    struct Level {
        uint64_t base = 0;         // number of its first cell; cells on the border of a level stay empty
        int64_t row = 1, slab = 1; // increments of the cell number along y and along x
        size_t begin = 0, end = 0; // range among the occupied cells
    };
    struct Run { // range of droplets
        size_t begin, end;
    };

    // Sorts the droplets (at least one); the order does not depend on the number of threads. `edge` is the size of the
    // smallest cells. It starts as 0, is adapted from step to step and is part of the state.
    void sort(Particles& droplets, const Reach& reach, float& edge);

    size_t cell_count() const { return cell_key_.size(); }
    Run cell(size_t c) const { return {first_[c], first_[c + 1]}; }
    uint64_t key(size_t c) const { return cell_key_[c]; }
    const std::vector<Level>& levels() const { return levels_; }
    // The first occupied cell in [begin, end) whose number is at least `key`. The search starts at `guess`.
    size_t find(uint64_t key, size_t begin, size_t end, size_t guess) const;
    // Coordinates of a cell of a level.
    Vec3i coordinates(uint64_t key, const Level& level) const;
    // Scratch arrays with one entry per droplet, valid until the next sort.
    Buffer<uint64_t>& spare() { return other_key_; }
    std::vector<float>& spare_floats() { return moved_floats_; }
    size_t bytes() const;

  private:
    void make_levels(float edge);
    void number(const Particles& droplets, const Reach& reach);
    double list_cells();

    struct Extent {
        Box3f box;
        float largest_reach;
    };
    Extent extent_{};
    Vec3f origin_ = Vec3f::Zero();
    Vec3i size_ = Vec3i::Ones(); // of the grid, in cells of the finest level
    float edge_ = 1;
    std::vector<Level> levels_;
    uint64_t key_count_ = 1;

    Buffer<uint64_t> key_, other_key_;
    Buffer<uint32_t> order_, other_order_;
    std::vector<uint64_t> cell_key_;
    std::vector<uint32_t> first_; // first droplet of each cell, and the total
    std::vector<Vec3f> moved_vectors_;
    std::vector<float> moved_floats_;
    std::vector<int32_t> moved_ints_;
};

} // namespace spindrift
