// Coarse levels of the Poisson solver: a multigrid hierarchy of weighted graphs.
//
// A node of level 1 is a connected piece of a 2x2x2 block of cells; a node of level k+1 is a connected piece of a 2x2x2
// block of blocks [Dick 2016]. A block that a thin wall cuts becomes two nodes, so the coarse levels represent a maze
// as well as the fine grid does. Nodes are in Morton order: the children of a node are consecutive, and levels are
// built without searching. Coarsening continues until no edges are left. Every connected body of liquid is then a
// single node, which identifies closed pockets without a free surface (a null space).
//
// Transfers are piecewise constant; the coarse operator is half the Galerkin sum (face area over distance); the
// smoother is a pair of Jacobi steps whose factors damp the upper part of the spectrum. Level 2 and below are visited
// twice (W-cycle), which compensates for the simple transfers. All of it is linear and symmetric, as CG requires.
#pragma once

#include "spindrift/base/math.h"

#include <vector>

namespace spindrift {

// Jacobi factors of the smoother: in this order before the coarse correction, in reverse after it.
constexpr float kJacobiFirst = 0.6f, kJacobiSecond = 1.4f;

struct GraphLevel {
    std::vector<uint64_t> block;   // Morton code of the node's block; nodes of one block are consecutive
    int to_parent = 3;             // right shift from a block's code to that of its parent block
    std::vector<int> first_edge;   // size() + 1 entries
    std::vector<int> neighbour;    // per edge
    std::vector<float> weight;     // per edge
    std::vector<float> dirichlet;  // coupling of a node to the free surface
    std::vector<float> diagonal;   // dirichlet + sum of weights
    std::vector<int> parent;       // node on the next level; -1 for a node without edges
    std::vector<int> chunk;        // first node of each chunk, and the total; chunks hold whole families of siblings
    std::vector<int> chunk_parent; // first parent of each chunk, and the total
    std::vector<float> x, b, scratch;

    int size() const { return static_cast<int>(dirichlet.size()); }
    size_t bytes() const;
};

class GraphMultigrid {
  public:
    // Level 1; fill all but parent, diagonal and the vectors before build().
    GraphLevel& finest();
    // Builds the coarser levels.
    void build();
    // One cycle: x of the finest level approximates the solution for its b.
    void solve() { cycle(0, true); }

    // For each node of the finest level, the mean to subtract from the right-hand side so that every body without a
    // free surface has a solution; `sum` and `count` are totals over the cells of each finest node.
    std::vector<double> null_space_means(std::vector<double> sum, std::vector<double> count) const;
    // True if such a body exists.
    bool has_closed_bodies() const { return has_closed_bodies_; }
    int level_count() const { return used_levels_; }
    size_t bytes() const;

  private:
    void cycle(int level, bool from_zero);
    void coarsen(int level);

    std::vector<GraphLevel> levels_; // may exceed used_levels_, to keep memory for later systems
    int used_levels_ = 0;
    bool has_closed_bodies_ = false;
};

} // namespace spindrift
