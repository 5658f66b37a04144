#include "spindrift/solvers/finest_graph.h"

namespace spindrift {

namespace {

constexpr int kBlocks = 64; // per tile
constexpr size_t kGraphTilesPerTask = 8;

Vec3i block_place(int number)
{
    const auto gather = [](int n) { return (n & 1) | (n >> 2 & 2); };
    return {gather(number >> 2), gather(number >> 1), gather(number)};
}

// Offsets of the eight cells of a block from its corner: bit 2 of the index for x, bit 1 for y, bit 0 for z.
constexpr int kCell[8] = {0, 1, 8, 9, 64, 65, 72, 73};
// Those on the lower side of each axis.
constexpr int kLowerCells[3][4] = {{0, 1, 2, 3}, {0, 1, 4, 5}, {0, 2, 4, 6}};

int corner_of(const Vec3i& block) { return offset_in_tile(2 * block.x(), 2 * block.y(), 2 * block.z()); }

// Pieces of the blocks of one tile.
struct Pieces {
    std::array<uint16_t, kBlocks + 1> first; // first piece of each block, relative to the tile; and the total
    bool single(int block) const { return first[block + 1] - first[block] == 1; }
    int count() const { return first[kBlocks]; }
};

// For each of the eight cells of a block, a bit mask of the cells in the block that it shares an open face with.
std::array<uint8_t, 8> joined_within_block(const PoissonMatrix& m, int tile, int corner)
{
    std::array<uint8_t, 8> joined{};
    const float* faces[3] = {m.face[2].tile(tile), m.face[1].tile(tile), m.face[0].tile(tile)};
    for (int axis_bit = 0; axis_bit < 3; ++axis_bit)
        for (int c = 0; c < 8; ++c) {
            if (!(c >> axis_bit & 1)) continue; // the lower face of an upper cell
            if (!(faces[axis_bit][corner + kCell[c]] > 0)) continue;
            const int other = c ^ 1 << axis_bit;
            joined[c] |= static_cast<uint8_t>(1 << other);
            joined[other] |= static_cast<uint8_t>(1 << c);
        }
    return joined;
}

// Flood fill: all cells of the block connected to `piece`.
unsigned grown(unsigned piece, const std::array<uint8_t, 8>& joined)
{
    for (unsigned seen = 0; piece != seen;) {
        const unsigned added = piece & ~seen;
        seen = piece;
        for (int c = 0; c < 8; ++c)
            if (added >> c & 1) piece |= joined[c];
    }
    return piece;
}

// True if every cell of a tile is active and all faces within its blocks are open.
bool is_whole(const PoissonMatrix& m, int tile)
{
    const float* faces[3] = {m.face[0].tile(tile), m.face[1].tile(tile), m.face[2].tile(tile)};
    const Row upper = {0, 1, 0, 1, 0, 1, 0, 1};
    Row least = splat(1);
    for_each_row([&](int x, int y, int o) {
        least = min(least, load_row(m.diagonal.tile(tile) + o));
        least = min(least, load_row(faces[2] + o) + (splat(1) - upper));
        if (y & 1) least = min(least, load_row(faces[1] + o));
        if (x & 1) least = min(least, load_row(faces[0] + o));
    });
    return -largest(-least) > 0;
}

struct WholeTile {
    std::array<uint16_t, kTileCells> node;
    Pieces pieces;

    WholeTile()
    {
        for (int b = 0; b <= kBlocks; ++b) pieces.first[b] = static_cast<uint16_t>(b);
        for (int c = 0; c < kTileCells; ++c) {
            const Vec3i cell = cell_in_tile(c) / 2;
            node[c] = static_cast<uint16_t>(block_number(cell.x(), cell.y(), cell.z()));
        }
    }
};

// Numbers the connected pieces of each block of a tile, block by block. Returns whether the tile is whole.
bool label(const PoissonMatrix& m, int tile, uint16_t* node, Pieces& pieces)
{
    if (is_whole(m, tile)) {
        static const WholeTile whole;
        std::memcpy(node, whole.node.data(), sizeof whole.node);
        pieces = whole.pieces;
        return true;
    }
    const float* diagonal = m.diagonal.tile(tile);
    uint16_t next = 0;
    for (int b = 0; b < kBlocks; ++b) {
        const int corner = corner_of(block_place(b));
        pieces.first[b] = next;
        unsigned left = 0; // active cells without a number
        for (int c = 0; c < 8; ++c) {
            const bool takes_part = diagonal[corner + kCell[c]] > 0;
            left |= static_cast<unsigned>(takes_part) << c;
            node[corner + kCell[c]] = kNoNode;
        }
        if (!left) continue;
        const auto joined = joined_within_block(m, tile, corner);
        while (left) {
            const unsigned piece = grown(left & (0u - left), joined);
            for (int c = 0; c < 8; ++c)
                if (piece >> c & 1) node[corner + kCell[c]] = next;
            left &= ~piece;
            ++next;
        }
    }
    pieces.first[kBlocks] = next;
    return false;
}

// Edges of a range of consecutive nodes.
struct Edges {
    std::vector<int> count, neighbour;
    std::vector<float> weight;

    void clear() { count.clear(), neighbour.clear(), weight.clear(); }
    void add(size_t first, int to, float w)
    {
        size_t e = first;
        while (e < neighbour.size() && neighbour[e] != to) ++e;
        if (e == neighbour.size()) neighbour.push_back(to), weight.push_back(0);
        weight[e] += w;
    }
};

class EdgeFinder {
  public:
    EdgeFinder(const PoissonMatrix& m, const std::vector<int>& first_node, const Field<uint16_t>& node_in_tile,
               const std::vector<Pieces>& pieces, const std::vector<int>& pieces_of)
        : m_(m), topology_(m.diagonal.topology()), first_node_(first_node), node_in_tile_(node_in_tile),
          pieces_(pieces), pieces_of_(pieces_of)
    {
    }

    // Appends half the sum of the face weights from each piece of a block to each piece outside it.
    void find(int tile, int block, Edges& out) const
    {
        const Pieces& own = pieces_[pieces_of_[tile]];
        for (int piece = own.first[block]; piece < own.first[block + 1]; ++piece) {
            const size_t first = out.neighbour.size();
            for (int axis = 0; axis < 3; ++axis)
                for (int side = -1; side <= 1; side += 2)
                    across(tile, block, piece, own.single(block), axis, side, first, out);
            out.count.push_back(static_cast<int>(out.neighbour.size() - first));
        }
    }

  private:
    void across(int tile, int block, int piece, bool single, int axis, int side, size_t first, Edges& out) const
    {
        Vec3i place = block_place(block), step = Vec3i::Zero();
        const int corner = corner_of(place);
        place[axis] += side;
        if (place[axis] < 0 || place[axis] > 3) step[axis] = side, place[axis] &= 3;
        const int other_tile = topology_.neighbour(tile, step.x(), step.y(), step.z());
        const int other_corner = corner_of(place), axis_bit = 2 - axis;
        const float* weights = m_.face[axis].tile(side < 0 ? tile : other_tile) + (side < 0 ? corner : other_corner);

        // The four faces between the blocks; each is the lower face of a cell on the upper side whose bit for this axis
        // is off.
        const auto& cells = kLowerCells[axis];
        const float w[4] = {weights[kCell[cells[0]]], weights[kCell[cells[1]]], weights[kCell[cells[2]]],
                            weights[kCell[cells[3]]]};
        const float sum = (w[0] + w[1]) + (w[2] + w[3]);
        if (!(sum > 0)) return;
        const Pieces& others = pieces_[pieces_of_[other_tile]];
        const int other_block = block_number(place.x(), place.y(), place.z());
        if (single && others.single(other_block)) { // one edge between the two blocks
            out.neighbour.push_back(first_node_[other_tile] + others.first[other_block]);
            out.weight.push_back(0.5f * sum);
            return;
        }
        const uint16_t *own_node = node_in_tile_.tile(tile) + corner,
                       *other_node = node_in_tile_.tile(other_tile) + other_corner;
        const int upper = 1 << axis_bit;
        for (int k = 0; k < 4; ++k) {
            const int own_cell = side < 0 ? cells[k] : cells[k] | upper,
                      other_cell = side < 0 ? cells[k] | upper : cells[k];
            if (!(w[k] > 0) || own_node[kCell[own_cell]] != piece) continue;
            out.add(first, first_node_[other_tile] + other_node[kCell[other_cell]], 0.5f * w[k]);
        }
    }

    const PoissonMatrix& m_;
    const Topology& topology_;
    const std::vector<int>& first_node_;
    const Field<uint16_t>& node_in_tile_;
    const std::vector<Pieces>& pieces_;
    const std::vector<int>& pieces_of_; // for each tile, its index in pieces_
};

// Half the Dirichlet terms of each node of a tile.
void sum_ties(const PoissonMatrix& m, int tile, const uint16_t* node, float* ties)
{
    const MatrixView view(m, tile);
    for_each_row([&](int x, int y, int o) {
        const Row tie = load_row(view.diagonal + o) - view.faces(x, y);
        for (int i = 0; i < kTileSize; ++i)
            if (node[o + i] != kNoNode) ties[node[o + i]] += 0.5f * tie[i];
    });
}

} // namespace

void build_finest_graph(const PoissonMatrix& matrix, const std::vector<int>& tiles, std::vector<int>& first_node,
                        Field<uint16_t>& node_in_tile, std::vector<uint8_t>& whole, GraphLevel& graph)
{
    const Topology& topology = matrix.diagonal.topology();
    node_in_tile.reset_uninitialized(topology, kNoNode);
    std::vector<Pieces> pieces(tiles.size());
    std::vector<int> pieces_of(topology.tile_count() + 1, 0);
    whole.resize(tiles.size());
    parallel_for(
        tiles.size(), [&](size_t k) { whole[k] = label(matrix, tiles[k], node_in_tile.tile(tiles[k]), pieces[k]); },
        kGraphTilesPerTask);

    first_node.assign(topology.tile_count() + 1, 0);
    int total = 0;
    for (size_t t = 0, k = 0; t < first_node.size(); ++t) {
        first_node[t] = total;
        if (k == tiles.size() || tiles[k] != static_cast<int>(t)) continue;
        pieces_of[t] = static_cast<int>(k);
        total += pieces[k++].count();
    }

    // Find edges in chunks of tiles, each with its own lists, then concatenate them.
    const EdgeFinder finder(matrix, first_node, node_in_tile, pieces, pieces_of);
    std::vector<Edges> edges((tiles.size() + kGraphTilesPerTask - 1) / kGraphTilesPerTask);
    graph.dirichlet.assign(total, 0);
    graph.block.resize(total), graph.first_edge.assign(static_cast<size_t>(total) + 1, 0);
    parallel_chunks(tiles.size(), kGraphTilesPerTask, [&](size_t begin, size_t end) {
        Edges& out = edges[begin / kGraphTilesPerTask];
        for (size_t k = begin; k < end; ++k) {
            const size_t node = first_node[tiles[k]];
            sum_ties(matrix, tiles[k], node_in_tile.tile(tiles[k]), graph.dirichlet.data() + node);
            const uint64_t tile_code = topology.codes()[tiles[k]];
            for (int b = 0; b < kBlocks; ++b) {
                finder.find(tiles[k], b, out);
                for (int n = pieces[k].first[b]; n < pieces[k].first[b + 1]; ++n)
                    graph.block[node + n] = tile_code << 6 | static_cast<uint64_t>(b);
            }
        }
    });
    std::vector<size_t> first_of(edges.size() + 1, 0);
    for (size_t c = 0; c < edges.size(); ++c) first_of[c + 1] = first_of[c] + edges[c].neighbour.size();
    graph.neighbour.resize(first_of.back()), graph.weight.resize(first_of.back());
    parallel_for(edges.size(), [&](size_t c) {
        size_t node = first_node[tiles[c * kGraphTilesPerTask]];
        size_t e = first_of[c];
        for (const int count : edges[c].count)
            graph.first_edge[++node] = static_cast<int>(e += static_cast<size_t>(count));
        std::copy(edges[c].neighbour.begin(), edges[c].neighbour.end(),
                  graph.neighbour.begin() + static_cast<long>(first_of[c]));
        std::copy(edges[c].weight.begin(), edges[c].weight.end(),
                  graph.weight.begin() + static_cast<long>(first_of[c]));
    });
}

} // namespace spindrift
