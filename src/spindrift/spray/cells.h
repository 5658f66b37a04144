// Droplets sorted into the cells of a grid, so that those that can meet within a step are near each other in memory.
//
// A droplet's reach is its radius and half its way in the step; it stands in the middle of its way. Two droplets can
// only meet if they are no farther apart than their reaches together. The grid has levels, each with cells twice as
// large as the one before; a droplet goes to the first whose cells are at least twice its reach, so one giant does not
// make the cells larger for all. Cells are numbered row by row: the three cells of a row around a place hold droplets
// that are consecutive in memory. Only cells with droplets take memory. Far from most droplets, where a cell's number
// would be too large, the outermost cell takes all.
#pragma once

#include "spindrift/field/tiles.h"
#include "spindrift/points/particles.h"

namespace spindrift {

// What droplets carry, see spray/spray.h.
constexpr const char *kRadiusAttribute = "radius", *kParentAttribute = "parent", *kAgeAttribute = "age",
                     *kOutcomeAttribute = "outcome", *kRestAttribute = "cooldown";

// How far a droplet is found by others: its way counts up to `search` radii.
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
        uint64_t base = 0;         // the number of its first cell, which like all on the outside stays empty
        int64_t row = 1, slab = 1; // steps of the number to the next cell along y and along x
        size_t begin = 0, end = 0; // of its cells among those that have droplets
    };
    struct Run { // of droplets
        size_t begin, end;
    };

    // Sorts the droplets (at least one), the same for any number of threads. `edge` is that of the smallest cells: it
    // is adapted from step to step, starts as 0 and is part of the state.
    void sort(Particles& droplets, const Reach& reach, float& edge);

    size_t cell_count() const { return cell_key_.size(); }
    Run cell(size_t c) const { return {first_[c], first_[c + 1]}; }
    uint64_t key(size_t c) const { return cell_key_[c]; }
    const std::vector<Level>& levels() const { return levels_; }
    // The first cell of [from, end) with at least this number, looked for from a guess on.
    size_t find(uint64_t key, size_t begin, size_t end, size_t guess) const;
    // Coordinates of a cell of a level.
    Vec3i coordinates(uint64_t key, const Level& level) const;
    // Numbers for each droplet that are free to be used until the next sort.
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
    Vec3i size_ = Vec3i::Ones(); // in the smallest cells
    float edge_ = 1;
    std::vector<Level> levels_;
    uint64_t key_count_ = 1;

    Buffer<uint64_t> key_, other_key_;
    Buffer<uint32_t> order_, other_order_;
    std::vector<uint64_t> cell_key_;
    std::vector<uint32_t> first_; // droplet of each cell, and the total
    std::vector<Vec3f> moved_vectors_;
    std::vector<float> moved_floats_;
    std::vector<int32_t> moved_ints_;
};

} // namespace spindrift
