// Pairs of droplets that collide within a step [Jones 2018, Algorithm 3]: each droplet is in at most one pair, as far
// as possible with the droplet that it meets first.
//
// Difference from [Jones 2018]: droplets search around the midpoint of their displacement and up to `spray.search`
// radii of it, not around its start, which misses most fast droplets.
#pragma once

#include "spindrift/spray/cells.h"

namespace spindrift {

// A pair of droplets (indices, first < second) and the time of first contact from the start of the step [s]; negative
// if they overlap at the start.
struct Meeting {
    float time;
    uint32_t first, second;
};

class Pairing {
  public:
    // The pairs, in an order that does not depend on the number of threads. Skips droplets whose "cooldown" is above
    // zero. The droplets must have been sorted into `cells` just before.
    const std::vector<Meeting>& find(const Particles& droplets, DropletCells& cells, const Reach& reach);
    // True if a droplet is in one of the pairs.
    bool paired(size_t droplet) const { return first_meeting_[droplet] == kPaired; }
    // Number of meetings found, paired or not.
    size_t meetings() const { return found_; }
    size_t bytes() const;

  private:
    void search(const Particles& droplets, DropletCells& cells, const Reach& reach);
    void pair_up();

    static constexpr uint64_t kPaired = 0, kNone = ~uint64_t{0};
    std::vector<std::vector<Meeting>> meetings_; // of each block of cells
    std::vector<Meeting> pairs_;
    Buffer<float> reach_;               // of each droplet; negative during its cooldown
    uint64_t* first_meeting_ = nullptr; // of each droplet: rank of the time, and the other droplet
    size_t found_ = 0;
};

} // namespace spindrift
