// Which droplets collide within a step (document 003, Algorithm 3): each with at most one other, and as far as
// possible with the one that it meets first.
#pragma once

#include "spindrift/spray/cells.h"

namespace spindrift {

// A pair of droplets (their places in the list, first < second) and when they touch first, from the start of the step
// [s]; below zero if they overlap from the start.
struct Meeting {
    float time;
    uint32_t first, second;
};

class Pairing {
  public:
    // The pairs, in an order that does not depend on threads. Droplets whose entry of `rest` is above zero do not take
    // part. The droplets must just have been sorted into `cells`.
    const std::vector<Meeting>& find(const Particles& droplets, DropletCells& cells, const Reach& reach);
    // True if a droplet is in one of the pairs.
    bool paired(size_t droplet) const { return first_meeting_[droplet] == kPaired; }
    // All meetings that were found in the search, paired or not.
    size_t meetings() const { return found_; }
    size_t bytes() const;

  private:
    void search(const Particles& droplets, DropletCells& cells, const Reach& reach);
    void pair_up();

    static constexpr uint64_t kPaired = 0, kNone = ~uint64_t{0};
    std::vector<std::vector<Meeting>> meetings_; // of each part of the cells
    std::vector<Meeting> pairs_;
    Buffer<float> reach_;               // of each droplet; negative for those that rest
    uint64_t* first_meeting_ = nullptr; // of each droplet: its time and the other droplet
    size_t found_ = 0;
};

} // namespace spindrift
