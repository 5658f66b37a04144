// Pairs of agents that are too close are moved apart (document 000, section 4.3.3). Each agent looks at its neighbours
// and moves itself, all from the same places (a Jacobi iteration): nothing depends on an order, or on threads.
//
// Agents are moved to a distance somewhat larger than the least one, as the document found to be smoother, until no
// pair is closer than the least distance or there were enough iterations. In a dense crowd these pushes are at odds
// with each other: a few last iterations part those who are still too close, or have become so, and nobody else.
// After the first of either kind only those go on in whose cell, or in one beside it, somebody was too close.
#pragma once

#include "spindrift/crowd/continuum.h"
#include "spindrift/crowd/walls.h"

namespace spindrift {

struct SeparationRules {
    float distance = 1.25f;                      // that agents are moved apart to, beside the least
    int min_iterations = 2, max_iterations = 12; // to that distance
    int last_iterations = 20;                    // to the least, at most
};

class Separation {
  public:
    struct Report {
        int iterations = 0;
        size_t too_close = 0; // small cells with an agent closer to another than the least distance, before the last
                              // iteration
    };
    // Agents must have been sorted into the cells, whose edge must not be less than the largest distance. Velocities
    // get their share of the motion in the time dt.
    Report run(Agents& agents, const AgentCells& cells, const Continuum& continuum, const CrowdWalls* walls,
               const SeparationRules& rules, float dt);
    size_t bytes() const;

  private:
    struct Scene {
        const Agents& agents;
        const AgentCells& cells;
        const Continuum& continuum;
        const CrowdWalls* walls;
        float distance; // that agents are moved apart to, beside the least
        float enough;   // below which they are too close, beside the least
    };
    template <bool kAlike> size_t iterate(const Scene& scene, bool everywhere);
    bool goes_on(const AgentCells& cells, int row, int column, int count) const;
    void stay(const AgentCells& cells, int row, int column, int count);
    template <bool kAlike> bool move_cell(const Scene& scene, int row, int column);
    void keep_out(const Scene& scene, int row);

    // With a few more entries than agents, for reading whole vectors.
    std::vector<float> x_, y_, next_x_, next_y_;
    std::vector<float> radius_, weight_; // of agents that are not all alike
    // Of small cells, with a margin of one around them: whether somebody is too close to another, now and before.
    std::vector<uint8_t> close_, close_before_;
};

} // namespace spindrift
