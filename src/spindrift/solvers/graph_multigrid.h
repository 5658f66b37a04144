// The coarse levels of the Poisson solver: a multigrid hierarchy of weighted graphs.
//
// A node of level 1 is a connected piece of a 2x2x2 block of cells, a node of level k+1 a connected piece of a 2x2x2
// block of blocks. A block that a thin wall cuts in two thus becomes two nodes, and the coarse levels know a maze as
// well as the fine grid does. Nodes are kept in Morton order, so that the children of a node are consecutive and
// everything is built without searching. Coarsening goes on until no edges are left: every connected body of liquid has
// then become one node, which is how closed pockets without a free surface (a null space) are found.
//
// Transfers are piecewise constant, the coarse operator is the Galerkin sum halved (face area over distance), the
// smoother a pair of Jacobi steps whose factors damp the upper part of the spectrum, and level 2 and below are visited
// twice (a W-cycle), which makes up for the plain transfers. All of it is linear and symmetric, as plain CG wants it.
#pragma once

#include "spindrift/base/math.h"

#include <vector>

namespace spindrift {

// The two Jacobi factors of the smoother: applied in this order before the coarse correction, in reverse after it.
constexpr float kJacobiFirst = 0.6f, kJacobiSecond = 1.4f;

struct GraphLevel {
    std::vector<uint64_t> block;   // Morton code of the node's block: nodes of one block are consecutive
    int to_parent = 3;             // by how many bits to shift it for the block of the node's parent
    std::vector<int> first_edge;   // size() + 1
    std::vector<int> neighbour;    // of each edge
    std::vector<float> weight;     // of each edge
    std::vector<float> dirichlet;  // what ties a node to the free surface
    std::vector<float> diagonal;   // dirichlet + sum of weights
    std::vector<int> parent;       // on the next level; -1 for a node without edges
    std::vector<int> chunk;        // starts of chunks of nodes, and the total: a chunk holds whole families of siblings
    std::vector<int> chunk_parent; // the first parent of each chunk, and the total
    std::vector<float> x, b, scratch;

    int size() const { return static_cast<int>(dirichlet.size()); }
    size_t bytes() const;
};

class GraphMultigrid {
  public:
    // Level 1, to be filled (all but parent, diagonal and the vectors) before build().
    GraphLevel& finest();
    // Makes the coarser levels.
    void build();
    // x of the finest level approximates the solution for its b.
    void solve() { cycle(0, true); }

    // For each node of the finest level, the mean that must be taken from the right-hand side so that every body
    // without a free surface has a solution; `sum` and `count` are the totals over the cells of each finest node.
    std::vector<double> null_space_means(std::vector<double> sum, std::vector<double> count) const;
    // True if there is any such body.
    bool has_closed_bodies() const { return has_closed_bodies_; }
    int level_count() const { return used_levels_; }
    size_t bytes() const;

  private:
    void cycle(int level, bool from_zero);
    void coarsen(int level);

    std::vector<GraphLevel> levels_; // kept when a later system needs fewer, for their memory
    int used_levels_ = 0;
    bool has_closed_bodies_ = false;
};

} // namespace spindrift
