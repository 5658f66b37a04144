// Separates pairs of agents that are too close [Narain 2011, section 4.3.3].
//
// Differences from [Narain 2011]:
// - A Jacobi iteration: each agent moves itself by what its neighbours ask for, all from the same positions, so that
//   the result does not depend on an order or on threads.
// - Agents are moved to a distance somewhat larger than the minimum, as the paper recommends, until no pair is closer
//   than the minimum or the iterations are used up. In a dense crowd these displacements conflict: a few last
//   iterations separate only the pairs that are still, or have become, too close. With rho_max at half the closest
//   packing and pairs separated to 1.25 times the minimum, hardly any agent comes closer than the minimum.
// - After the first iterations of either kind only active cells are processed: those with, or next to, agents that are
//   too close. In a camp of 100 thousand most of the time went into the others.
#pragma once

#include "spindrift/crowd/continuum.h"
#include "spindrift/crowd/walls.h"

namespace spindrift {

struct SeparationRules {
    float distance = 1.25f;                      // to which agents are separated, relative to the minimum
    int min_iterations = 2, max_iterations = 12; // to that distance
    int last_iterations = 20;                    // to the minimum, at most
};

class Separation {
  public:
    struct Report {
        int iterations = 0;
        size_t too_close = 0; // small cells with an agent closer to another than the minimum, before the last iteration
    };
    // Agents must be sorted into the cells, whose edge must be at least the largest distance. Velocities get the
    // displacement divided by dt added.
    Report run(Agents& agents, const AgentCells& cells, const Continuum& continuum, const CrowdWalls* walls,
               const SeparationRules& rules, float dt);
    size_t bytes() const;

  private:
    struct Scene {
        const Agents& agents;
        const AgentCells& cells;
        const Continuum& continuum;
        const CrowdWalls* walls;
        float distance; // to which agents are separated, relative to the minimum
        float least;    // below which they are too close, relative to the minimum
    };
    template <bool kAlike> size_t iterate(const Scene& scene, bool everywhere);
    bool is_active(const AgentCells& cells, int row, int column, int count) const;
    void copy_positions(const AgentCells& cells, int row, int column, int count);
    template <bool kAlike> bool move_cell(const Scene& scene, int row, int column);
    void stop_at_walls(const Scene& scene, int row);

    // With a few more entries than agents, for reading whole vectors.
    std::vector<float> x_, y_, next_x_, next_y_;
    std::vector<float> radius_, weight_; // used if agents differ
    // For each small cell, with a margin of one: whether an agent is too close to another, now and in the last
    // iteration.
    std::vector<uint8_t> close_, close_before_;
};

} // namespace spindrift
