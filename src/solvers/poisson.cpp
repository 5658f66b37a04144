#include "solvers/poisson.h"

#include "field/row.h"

#include <bit>

namespace spindrift {

namespace {

constexpr uint16_t kNoNode = 0xffff;
constexpr size_t kTilesPerTask = 8;

// The matrix around one tile.
struct MatrixView {
    TileView wx, wy, wz;
    const float* diagonal;

    MatrixView(const PoissonMatrix& m, int tile)
        : wx(m.face[0], tile), wy(m.face[1], tile), wz(m.face[2], tile), diagonal(m.diagonal.tile(tile))
    {
    }
};

// A x for one row, from differences: exact for what float can tell apart, and antisymmetric across every face.
inline Row apply(const MatrixView& m, const TileView& x, int i, int j, int offset)
{
    const Row c = x.at(i, j);
    const Row wx0 = m.wx.at(i, j), wx1 = m.wx.above_x(i, j);
    const Row wy0 = m.wy.at(i, j), wy1 = m.wy.above_y(i, j);
    const Row wz0 = m.wz.at(i, j), wz1 = m.wz.above_z(i, j);
    const Row faces = ((wx0 + wx1) + (wy0 + wy1)) + (wz0 + wz1);
    Row sum = (load_row(m.diagonal + offset) - faces) * c;
    sum += wx0 * (c - x.below_x(i, j)) + wx1 * (c - x.above_x(i, j));
    sum += wy0 * (c - x.below_y(i, j)) + wy1 * (c - x.above_y(i, j));
    sum += wz0 * (c - x.below_z(i, j)) + wz1 * (c - x.above_z(i, j));
    return sum;
}

// The same where every weight is 1.
inline Row apply_uniform(const TileView& x, int i, int j)
{
    const Row c = x.at(i, j);
    return ((c - x.below_x(i, j)) + (c - x.above_x(i, j))) + ((c - x.below_y(i, j)) + (c - x.above_y(i, j))) +
           ((c - x.below_z(i, j)) + (c - x.above_z(i, j)));
}

// Calls body(offset, (A x) row, (1 / diagonal) row) for the 64 rows of a tile.
template <class Body>
inline void for_each_product(const PoissonMatrix& matrix, bool uniform, const Field<float>& x, int tile, const Body& body)
{
    const TileView view(x, tile);
    if (uniform) {
        const Row sixth = splat(1.0f / 6);
        for_each_row([&](int i, int j, int offset) { body(offset, apply_uniform(view, i, j), sixth); });
    } else {
        const MatrixView m(matrix, tile);
        for_each_row([&](int i, int j, int offset) {
            body(offset, apply(m, view, i, j, offset), inverse_or_zero(load_row(m.diagonal + offset)));
        });
    }
}

bool is_uniform(const PoissonMatrix& matrix, int tile)
{
    const MatrixView m(matrix, tile);
    const Row one = splat(1);
    Row off = splat(0);
    for_each_row([&](int i, int j, int offset) {
        const auto differs = [&](Row w) { off += (w - one) * (w - one); };
        differs(m.wx.at(i, j)), differs(m.wx.above_x(i, j)), differs(m.wy.at(i, j)), differs(m.wy.above_y(i, j));
        differs(m.wz.at(i, j)), differs(m.wz.above_z(i, j)), differs(load_row(m.diagonal + offset) - splat(5));
    });
    for (int k = 0; k < 8; ++k)
        if (off[k] != 0) return false;
    return true;
}

bool takes_part(const float* diagonal)
{
    for (int i = 0; i < kTileCells; ++i)
        if (diagonal[i] > 0) return true;
    return false;
}

// Morton number of a 2x2x2 block within its tile.
inline int block_number(int bx, int by, int bz)
{
    const auto spread = [](int b) { return (b & 1) | (b & 2) << 2; };
    return spread(bx) << 2 | spread(by) << 1 | spread(bz);
}
inline Vec3i block_corner(int number)
{
    const auto gather = [](int n) { return (n & 1) | (n >> 2 & 2); };
    return 2 * Vec3i(gather(number >> 2), gather(number >> 1), gather(number));
}

// Offsets of the eight cells of a block from its corner's offset, bit 2 of the index for x, bit 1 for y, bit 0 for z.
constexpr int kCorner[8] = {0, 1, 8, 9, 64, 65, 72, 73};

// For each of the eight cells of a block, a mask of the cells in the block that it is joined to by a face of weight > 0.
std::array<uint8_t, 8> joined_within_block(const PoissonMatrix& m, int tile, int corner)
{
    std::array<uint8_t, 8> joined{};
    const float* faces[3] = {m.face[2].tile(tile), m.face[1].tile(tile), m.face[0].tile(tile)};
    for (int axis_bit = 0; axis_bit < 3; ++axis_bit)
        for (int c = 0; c < 8; ++c) {
            if (!(c >> axis_bit & 1)) continue; // the lower face of an upper cell
            if (!(faces[axis_bit][corner + kCorner[c]] > 0)) continue;
            const int other = c ^ 1 << axis_bit;
            joined[static_cast<size_t>(c)] |= static_cast<uint8_t>(1 << other);
            joined[static_cast<size_t>(other)] |= static_cast<uint8_t>(1 << c);
        }
    return joined;
}

} // namespace

size_t PoissonSolver::bytes() const
{
    return node_in_tile_.bytes() + coarse_.bytes() + r_.bytes() + p_.bytes() + q_.bytes() + z_.bytes() + scratch_.bytes();
}

void PoissonSolver::set_matrix(const PoissonMatrix& matrix)
{
    matrix_ = &matrix;
    const Topology& topology = matrix.diagonal.topology();
    const size_t count = static_cast<size_t>(topology.tile_count());

    std::vector<uint8_t> kind(count); // 0: takes no part
    parallel_for(count, [&](size_t t) {
        const int tile = static_cast<int>(t);
        if (takes_part(matrix.diagonal.tile(tile))) kind[t] = is_uniform(matrix, tile) ? 2 : 1;
    }, kTilesPerTask);
    tiles_.clear(), tile_kind_.clear();
    for (size_t t = 0; t < count; ++t)
        if (kind[t]) {
            tiles_.push_back(static_cast<int>(t));
            tile_kind_.push_back(kind[t] == 2 ? TileKind::uniform : TileKind::general);
        }
    partial_.assign(tiles_.size(), 0);

    // Neighbours of the tiles that take part are read (times a weight of zero), so they must hold numbers.
    for (Field<float>* f : {&r_, &p_, &q_, &z_, &scratch_}) f->reset(topology, 0);
    build_finest_graph();
    coarse_.build();
}

void PoissonSolver::build_finest_graph()
{
    const PoissonMatrix& m = *matrix_;
    const Topology& topology = m.diagonal.topology();
    node_in_tile_.reset_uninitialized(topology, kNoNode);
    first_node_.assign(static_cast<size_t>(topology.tile_count()) + 1, 0);

    // Label the connected pieces of every 2x2x2 block.
    std::vector<int> nodes_of(tiles_.size());
    std::vector<std::array<uint8_t, 65>> first_in_block(tiles_.size()); // a tile has at most 255 pieces: see below
    std::vector<std::vector<uint8_t>> block_of(tiles_.size());
    parallel_for(tiles_.size(), [&](size_t k) {
        const int tile = tiles_[k];
        uint16_t* node = node_in_tile_.tile(tile);
        const float* diagonal = m.diagonal.tile(tile);
        int next = 0;
        for (int b = 0; b < 64; ++b) {
            const Vec3i corner_cell = block_corner(b);
            const int corner = offset_in_tile(corner_cell.x(), corner_cell.y(), corner_cell.z());
            unsigned left = 0; // cells that take part and are not labelled yet
            for (int c = 0; c < 8; ++c)
                if (diagonal[corner + kCorner[c]] > 0)
                    left |= 1u << c;
                else
                    node[corner + kCorner[c]] = kNoNode;
            if (!left) continue;
            const auto joined = joined_within_block(m, tile, corner);
            while (left) {
                unsigned piece = left & (0u - left), seen = 0;
                while (piece != seen) {
                    const unsigned grow = piece & ~seen;
                    seen = piece;
                    for (int c = 0; c < 8; ++c)
                        if (grow >> c & 1) piece |= joined[static_cast<size_t>(c)];
                }
                for (int c = 0; c < 8; ++c)
                    if (piece >> c & 1) node[corner + kCorner[c]] = static_cast<uint16_t>(next);
                left &= ~piece;
                block_of[k].push_back(static_cast<uint8_t>(b));
                ++next;
            }
        }
        nodes_of[k] = next;
    }, kTilesPerTask);

    int total = 0;
    for (size_t t = 0, k = 0; t < first_node_.size(); ++t) {
        first_node_[t] = total;
        if (k < tiles_.size() && tiles_[k] == static_cast<int>(t)) total += nodes_of[k++];
    }

    // Edges of each node, tile by tile: half the sum of the weights of the faces to each neighbouring node.
    struct Edges {
        std::vector<int> count, neighbour;
        std::vector<float> weight, dirichlet;
    };
    std::vector<Edges> edges(tiles_.size());
    const auto node_at = [&](int tile, int offset) {
        const uint16_t n = node_in_tile_.tile(tile)[offset];
        return n == kNoNode ? -1 : first_node_[static_cast<size_t>(tile)] + n;
    };
    parallel_for(tiles_.size(), [&](size_t k) {
        const int tile = tiles_[k];
        Edges& out = edges[k];
        out.count.assign(static_cast<size_t>(nodes_of[k]), 0);
        out.dirichlet.assign(static_cast<size_t>(nodes_of[k]), 0);
        const uint16_t* node = node_in_tile_.tile(tile);
        size_t n = 0;
        const auto& around = topology.neighbours(tile);
        while (n < block_of[k].size()) {
            const Vec3i corner = block_corner(block_of[k][n]);
            size_t end = n;
            while (end < block_of[k].size() && block_of[k][end] == block_of[k][n]) ++end;
            for (; n < end; ++n) {
                const size_t first = out.neighbour.size();
                float dirichlet = 0;
                for (int c = 0; c < 8; ++c) {
                    const Vec3i cell = corner + Vec3i(c >> 2, c >> 1 & 1, c & 1);
                    const int offset = offset_in_tile(cell.x(), cell.y(), cell.z());
                    if (node[offset] != n) continue;
                    float faces[6];
                    for (int axis = 0; axis < 3; ++axis)
                        for (int side = 0; side < 2; ++side) {
                            // The neighbour across this face, and the cell whose lower face it is.
                            Vec3i other = cell;
                            other[axis] += side ? 1 : -1;
                            const bool out_of_tile = other[axis] < 0 || other[axis] > 7;
                            Vec3i step = Vec3i::Zero();
                            if (out_of_tile) step[axis] = side ? 1 : -1;
                            const int other_tile =
                                out_of_tile ? around[static_cast<size_t>(neighbour_slot(step.x(), step.y(), step.z()))] : tile;
                            const int other_offset = offset_of_cell(other);
                            const float w = side ? m.face[axis].tile(other_tile)[other_offset] : m.face[axis].tile(tile)[offset];
                            faces[2 * axis + side] = w;
                            if (!(w > 0)) continue;
                            const int neighbour = node_at(other_tile, other_offset);
                            if (neighbour == first_node_[static_cast<size_t>(tile)] + static_cast<int>(n)) continue;
                            size_t e = first;
                            while (e < out.neighbour.size() && out.neighbour[e] != neighbour) ++e;
                            if (e == out.neighbour.size()) out.neighbour.push_back(neighbour), out.weight.push_back(0);
                            out.weight[e] += 0.5f * w;
                        }
                    const float sum = ((faces[0] + faces[1]) + (faces[2] + faces[3])) + (faces[4] + faces[5]);
                    dirichlet += 0.5f * (m.diagonal.tile(tile)[offset] - sum);
                }
                out.dirichlet[n] = dirichlet;
                out.count[n] = static_cast<int>(out.neighbour.size() - first);
            }
        }
    }, kTilesPerTask);

    GraphLevel& graph = coarse_.finest();
    graph.first_edge.assign(static_cast<size_t>(total) + 1, 0);
    graph.dirichlet.resize(static_cast<size_t>(total)), graph.block.resize(static_cast<size_t>(total));
    std::vector<size_t> first_of_tile(tiles_.size() + 1, 0);
    for (size_t k = 0; k < tiles_.size(); ++k) first_of_tile[k + 1] = first_of_tile[k] + edges[k].neighbour.size();
    graph.neighbour.resize(first_of_tile.back()), graph.weight.resize(first_of_tile.back());
    parallel_for(tiles_.size(), [&](size_t k) {
        const size_t node = static_cast<size_t>(first_node_[static_cast<size_t>(tiles_[k])]);
        const uint64_t tile_code = topology.codes()[static_cast<size_t>(tiles_[k])];
        size_t e = first_of_tile[k];
        for (size_t n = 0; n < edges[k].count.size(); ++n) {
            e += static_cast<size_t>(edges[k].count[n]);
            graph.first_edge[node + n + 1] = static_cast<int>(e);
            graph.dirichlet[node + n] = edges[k].dirichlet[n];
            graph.block[node + n] = tile_code << 6 | block_of[k][n];
        }
        std::copy(edges[k].neighbour.begin(), edges[k].neighbour.end(), graph.neighbour.begin() + static_cast<long>(first_of_tile[k]));
        std::copy(edges[k].weight.begin(), edges[k].weight.end(), graph.weight.begin() + static_cast<long>(first_of_tile[k]));
    }, kTilesPerTask);
}

void PoissonSolver::make_compatible()
{
    const size_t nodes = static_cast<size_t>(coarse_.finest().size());
    std::vector<double> sum(nodes, 0.0), count(nodes, 0.0);
    parallel_for(tiles_.size(), [&](size_t k) {
        const uint16_t* node = node_in_tile_.tile(tiles_[k]);
        const float* r = r_.tile(tiles_[k]);
        const size_t first = static_cast<size_t>(first_node_[static_cast<size_t>(tiles_[k])]);
        for (int i = 0; i < kTileCells; ++i)
            if (node[i] != kNoNode) sum[first + node[i]] += r[i], count[first + node[i]] += 1;
    }, kTilesPerTask);
    const std::vector<double> mean = coarse_.null_space_means(std::move(sum), std::move(count));
    parallel_for(tiles_.size(), [&](size_t k) {
        const uint16_t* node = node_in_tile_.tile(tiles_[k]);
        float* r = r_.tile(tiles_[k]);
        const size_t first = static_cast<size_t>(first_node_[static_cast<size_t>(tiles_[k])]);
        for (int i = 0; i < kTileCells; ++i)
            if (node[i] != kNoNode) r[i] = static_cast<float>(r[i] - mean[first + node[i]]);
    }, kTilesPerTask);
}

// z = M^-1 r: one multigrid cycle. On entry scratch_ holds the first Jacobi step from zero.
void PoissonSolver::precondition()
{
    const PoissonMatrix& m = *matrix_;
    const auto uniform = [&](size_t k) { return tile_kind_[k] == TileKind::uniform; };

    parallel_for(tiles_.size(), [&](size_t k) {
        const float *r = r_.tile(tiles_[k]), *x = scratch_.tile(tiles_[k]);
        float* out = z_.tile(tiles_[k]);
        for_each_product(m, uniform(k), scratch_, tiles_[k], [&](int o, Row ax, Row inverse) {
            store_row(out + o, load_row(x + o) + kJacobiSecond * inverse * (load_row(r + o) - ax));
        });
    }, kTilesPerTask);

    // Restrict the residual.
    GraphLevel& coarse = coarse_.finest();
    parallel_for(tiles_.size(), [&](size_t k) {
        alignas(64) float residual[kTileCells];
        const float* r = r_.tile(tiles_[k]);
        for_each_product(m, uniform(k), z_, tiles_[k],
                         [&](int o, Row ax, Row) { store_row(residual + o, load_row(r + o) - ax); });
        const uint16_t* node = node_in_tile_.tile(tiles_[k]);
        const size_t first = static_cast<size_t>(first_node_[static_cast<size_t>(tiles_[k])]);
        const size_t end = static_cast<size_t>(first_node_[static_cast<size_t>(tiles_[k]) + 1]);
        std::fill(coarse.b.begin() + static_cast<long>(first), coarse.b.begin() + static_cast<long>(end), 0.0f);
        float* b = coarse.b.data() + first;
        for (int i = 0; i < kTileCells; ++i)
            if (node[i] != kNoNode) b[node[i]] += residual[i];
    }, kTilesPerTask);
    coarse_.solve();

    // Prolong, then smooth in reverse order.
    parallel_for(tiles_.size(), [&](size_t k) {
        const uint16_t* node = node_in_tile_.tile(tiles_[k]);
        const float* x = coarse.x.data() + first_node_[static_cast<size_t>(tiles_[k])];
        float* z = z_.tile(tiles_[k]);
        for (int i = 0; i < kTileCells; ++i)
            if (node[i] != kNoNode) z[i] += x[node[i]];
    }, kTilesPerTask);
    parallel_for(tiles_.size(), [&](size_t k) {
        const float *r = r_.tile(tiles_[k]), *x = z_.tile(tiles_[k]);
        float* out = scratch_.tile(tiles_[k]);
        for_each_product(m, uniform(k), z_, tiles_[k], [&](int o, Row ax, Row inverse) {
            store_row(out + o, load_row(x + o) + kJacobiSecond * inverse * (load_row(r + o) - ax));
        });
    }, kTilesPerTask);
    parallel_for(tiles_.size(), [&](size_t k) {
        const float *r = r_.tile(tiles_[k]), *x = scratch_.tile(tiles_[k]);
        float* out = z_.tile(tiles_[k]);
        RowSum rz;
        for_each_product(m, uniform(k), scratch_, tiles_[k], [&](int o, Row ax, Row inverse) {
            const Row z = load_row(x + o) + kJacobiFirst * inverse * (load_row(r + o) - ax);
            store_row(out + o, z);
            rz.add_product(load_row(r + o), z);
        });
        partial_[k] = rz.total();
    }, kTilesPerTask);
}

// q = A p; returns p . q
double PoissonSolver::multiply_and_dot()
{
    parallel_for(tiles_.size(), [&](size_t k) {
        const float* p = p_.tile(tiles_[k]);
        float* q = q_.tile(tiles_[k]);
        RowSum pq;
        for_each_product(*matrix_, tile_kind_[k] == TileKind::uniform, p_, tiles_[k], [&](int o, Row ap, Row) {
            store_row(q + o, ap);
            pq.add_product(load_row(p + o), ap);
        });
        partial_[k] = pq.total();
    }, kTilesPerTask);
    double sum = 0;
    for (const double s : partial_) sum += s;
    return sum;
}

PoissonResult PoissonSolver::solve(const Field<float>& b, Field<double>& x, double tolerance, int max_iterations)
{
    const auto total = [&] {
        double sum = 0;
        for (const double s : partial_) sum += s;
        return sum;
    };
    x.reset(matrix_->diagonal.topology(), 0);
    parallel_for(tiles_.size(), [&](size_t k) {
        const float *from = b.tile(tiles_[k]), *d = matrix_->diagonal.tile(tiles_[k]);
        float *r = r_.tile(tiles_[k]), *p = p_.tile(tiles_[k]);
        for (int i = 0; i < kTileCells; ++i) r[i] = d[i] > 0 ? from[i] : 0, p[i] = 0;
    }, kTilesPerTask);
    make_compatible();

    // x += alpha p, r -= alpha q, and the first Jacobi step of the next cycle; leaves r . r in partial_.
    const auto advance = [&](double alpha) {
        const float a = static_cast<float>(alpha);
        parallel_for(tiles_.size(), [&](size_t k) {
            double* xs = x.tile(tiles_[k]);
            const float *p = p_.tile(tiles_[k]), *q = q_.tile(tiles_[k]), *d = matrix_->diagonal.tile(tiles_[k]);
            float *r = r_.tile(tiles_[k]), *s = scratch_.tile(tiles_[k]);
            RowSum rr;
            for (int o = 0; o < kTileCells; o += kTileSize) {
                if (a != 0)
                    for (int i = o; i < o + kTileSize; ++i) xs[i] += static_cast<double>(a) * p[i];
                const Row next = load_row(r + o) - a * load_row(q + o);
                store_row(r + o, next);
                store_row(s + o, kJacobiFirst * inverse_or_zero(load_row(d + o)) * next);
                rr.add_product(next, next);
            }
            partial_[k] = rr.total();
        }, kTilesPerTask);
        return total();
    };

    PoissonResult result;
    const double norm2 = advance(0);
    if (!(norm2 > 0)) return result;
    double rz = 0;
    while (result.iterations < max_iterations) {
        precondition();
        const double rz_next = total();
        const float beta = static_cast<float>(rz > 0 ? rz_next / rz : 0);
        rz = rz_next;
        parallel_for(tiles_.size(), [&](size_t k) {
            float* p = p_.tile(tiles_[k]);
            const float* z = z_.tile(tiles_[k]);
            for (int o = 0; o < kTileCells; o += kTileSize)
                store_row(p + o, load_row(z + o) + beta * load_row(p + o));
        }, kTilesPerTask);
        const double pq = multiply_and_dot();
        ++result.iterations;
        if (!(pq > 0)) break; // nothing left that float can resolve
        result.relative_residual = std::sqrt(advance(rz / pq) / norm2);
        if (result.relative_residual <= tolerance) return result;
    }
    result.converged = false;
    return result;
}

} // namespace spindrift
