// Builds the finest graph of the Poisson multigrid from the fine grid: assigns each cell to a connected piece of its
// 2x2x2 block and finds the edges between pieces.
#pragma once

#include "spindrift/field/row.h"
#include "spindrift/solvers/poisson.h"

namespace spindrift {

constexpr uint16_t kNoNode = 0xffff;

// Morton index of a 2x2x2 block within its tile, from its coordinates 0 to 3.
constexpr int block_number(int x, int y, int z)
{
    const auto spread = [](int b) { return (b & 1) | (b & 2) << 2; };
    return spread(x) << 2 | spread(y) << 1 | spread(z);
}

// The matrix around one tile.
struct MatrixView {
    TileView wx, wy, wz;
    const float* diagonal;

    MatrixView(const PoissonMatrix& m, int tile)
        : wx(m.face[0], tile), wy(m.face[1], tile), wz(m.face[2], tile), diagonal(m.diagonal.tile(tile))
    {
    }
    // Sum of the six face weights of each cell of a row, always added in this order, so that the diagonal of a cell
    // without a Dirichlet term equals it exactly.
    [[gnu::always_inline]] Row faces(int x, int y) const
    {
        return ((wx.at(x, y) + wx.above_x(x, y)) + (wy.at(x, y) + wy.above_y(x, y))) + (wz.at(x, y) + wz.above_z(x, y));
    }
};

// `tiles` are those with an active cell, ascending. Fills: for each tile of the topology its first node (and the
// total); for each cell its node relative to that (kNoNode if inactive); and all parts of the graph that
// GraphMultigrid::build() does not. `whole` tells which of `tiles` have every block in one piece; there a cell's node
// is its block's index.
void build_finest_graph(const PoissonMatrix& matrix, const std::vector<int>& tiles, std::vector<int>& first_node,
                        Field<uint16_t>& node_in_tile, std::vector<uint8_t>& whole, GraphLevel& graph);

} // namespace spindrift
