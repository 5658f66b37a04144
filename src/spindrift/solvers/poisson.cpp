#include "spindrift/solvers/poisson.h"

#include "spindrift/solvers/finest_graph.h"

namespace spindrift {

namespace {

constexpr size_t kPoissonTilesPerTask = 8;

// A x for one row, from differences: no cancellation beyond float resolution, and antisymmetric across every face.
[[gnu::always_inline]] inline Row apply(const MatrixView& m, const TileView& x, int i, int j, int offset)
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

// The same for unit weights.
[[gnu::always_inline]] inline Row apply_uniform(const TileView& x, int i, int j)
{
    const Row c = x.at(i, j);
    return ((c - x.below_x(i, j)) + (c - x.above_x(i, j))) + ((c - x.below_y(i, j)) + (c - x.above_y(i, j))) +
           ((c - x.below_z(i, j)) + (c - x.above_z(i, j)));
}

// Calls body(offset, (A x) row, (1 / diagonal) row) for the 64 rows of a tile.
template <class Body> inline void for_each_product(const PoissonMatrix& matrix, bool uniform, const Field<float>& x,
                                                   int tile, const Body& body)
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

// Calls body(offset, number) for the 16 columns of four blocks along z of a whole tile: the offset of the column's
// first cell and the index of its first block. The other three have indices 1, 8 and 9 higher.
template <class Body> inline void for_each_column_of_blocks(const Body& body)
{
    for (int x = 0; x < 4; ++x)
        for (int y = 0; y < 4; ++y) body(offset_in_tile(2 * x, 2 * y, 0), block_number(x, y, 0));
}

// Sums a tile's values over the cells of each of its nodes.
void sum_over_nodes(const float* values, const uint16_t* node, bool whole, std::span<float> sums)
{
    if (whole) {
        for_each_column_of_blocks([&](int o, int number) {
            const Row four = (load_row(values + o) + load_row(values + o + 8)) +
                             (load_row(values + o + 64) + load_row(values + o + 72));
            float* to = sums.data() + number;
            to[0] = four[0] + four[1], to[1] = four[2] + four[3], to[8] = four[4] + four[5], to[9] = four[6] + four[7];
        });
        return;
    }
    std::fill(sums.begin(), sums.end(), 0.0f);
    for (int i = 0; i < kTileCells; ++i)
        if (node[i] != kNoNode) sums[node[i]] += values[i];
}

// Adds the value of its node to each cell of a tile.
void add_from_nodes(const float* x, const uint16_t* node, bool whole, float* values)
{
    if (whole) {
        for_each_column_of_blocks([&](int o, int number) {
            const float* from = x + number;
            const Row add = {from[0], from[0], from[1], from[1], from[8], from[8], from[9], from[9]};
            for (const int cell : {o, o + 8, o + 64, o + 72}) store_row(values + cell, load_row(values + cell) + add);
        });
        return;
    }
    for (int i = 0; i < kTileCells; ++i)
        if (node[i] != kNoNode) values[i] += x[node[i]];
}

using Vec6d = Eigen::Matrix<double, 6, 1>;

template <class T> Vec6d sums_of(const PoissonColumns& columns, const Field<T>& x)
{
    const auto value = [&](size_t i) -> Vec6d {
        const PoissonColumns::Cell& cell = columns.cells[i];
        return static_cast<double>(x.tile(cell.tile)[cell.offset]) * cell.row.cast<double>();
    };
    return parallel_reduce(
        columns.cells.size(), Vec6d(Vec6d::Zero()), value,
        [](const Vec6d& a, const Vec6d& b) -> Vec6d { return a + b; }, 1024);
}

} // namespace

Vec6d PoissonColumns::sums(const Field<double>& x) const { return sums_of(*this, x); }

size_t PoissonSolver::bytes() const
{
    return node_in_tile_.bytes() + coarse_.bytes() + r_.bytes() + p_.bytes() + q_.bytes() + z_.bytes() +
           scratch_.bytes();
}

void PoissonSolver::set_matrix(const PoissonMatrix& matrix)
{
    matrix_ = &matrix;
    const Topology& topology = matrix.diagonal.topology();
    const size_t count = topology.tile_count();

    std::vector<uint8_t> kind(count); // 0: inactive
    parallel_for(
        count,
        [&](size_t t) {
            const int tile = static_cast<int>(t);
            if (takes_part(matrix.diagonal.tile(tile))) kind[t] = is_uniform(matrix, tile) ? 2 : 1;
        },
        kPoissonTilesPerTask);
    tiles_.clear(), tile_kind_.clear();
    for (size_t t = 0; t < count; ++t)
        if (kind[t]) {
            tiles_.push_back(static_cast<int>(t));
            tile_kind_.push_back(kind[t] == 2 ? TileKind::uniform : TileKind::general);
        }
    partial_.assign(tiles_.size(), 0);

    // Neighbours of active tiles are read (with zero weights), so they must hold finite numbers. Active tiles are
    // written before they are read.
    for (Field<float>* f : {&r_, &p_, &q_, &z_, &scratch_}) {
        f->reset_uninitialized(topology, 0);
        parallel_for(
            count,
            [&](size_t t) {
                if (!kind[t]) std::fill_n(f->tile(static_cast<int>(t)), kTileCells, 0.0f);
            },
            kPoissonTilesPerTask);
    }
    build_finest_graph(matrix, tiles_, first_node_, node_in_tile_, whole_, coarse_.finest());
    coarse_.build();
}

void PoissonSolver::make_compatible()
{
    if (!coarse_.has_closed_bodies()) return;
    const size_t nodes = coarse_.finest().size();
    std::vector<double> sum(nodes, 0.0), count(nodes, 0.0);
    parallel_for(
        tiles_.size(),
        [&](size_t k) {
            const uint16_t* node = node_in_tile_.tile(tiles_[k]);
            const float* r = r_.tile(tiles_[k]);
            const size_t first = first_node_[tiles_[k]];
            for (int i = 0; i < kTileCells; ++i)
                if (node[i] != kNoNode) sum[first + node[i]] += r[i], count[first + node[i]] += 1;
        },
        kPoissonTilesPerTask);
    const std::vector<double> mean = coarse_.null_space_means(std::move(sum), std::move(count));
    parallel_for(
        tiles_.size(),
        [&](size_t k) {
            const uint16_t* node = node_in_tile_.tile(tiles_[k]);
            float* r = r_.tile(tiles_[k]);
            const size_t first = first_node_[tiles_[k]];
            for (int i = 0; i < kTileCells; ++i)
                if (node[i] != kNoNode) r[i] = static_cast<float>(r[i] - mean[first + node[i]]);
        },
        kPoissonTilesPerTask);
}

// z = M^-1 r: one multigrid cycle. On entry scratch_ holds the first Jacobi step from zero.
void PoissonSolver::precondition()
{
    const PoissonMatrix& m = *matrix_;
    const auto uniform = [&](size_t k) { return tile_kind_[k] == TileKind::uniform; };
    const auto second_jacobi_step = [&](const Field<float>& from, Field<float>& to) {
        parallel_for(
            tiles_.size(),
            [&](size_t k) {
                const float *r = r_.tile(tiles_[k]), *x = from.tile(tiles_[k]);
                float* out = to.tile(tiles_[k]);
                for_each_product(m, uniform(k), from, tiles_[k], [&](int o, Row ax, Row inverse) {
                    store_row(out + o, load_row(x + o) + kJacobiSecond * inverse * (load_row(r + o) - ax));
                });
            },
            kPoissonTilesPerTask);
    };
    second_jacobi_step(scratch_, z_);

    // Restrict the residual.
    GraphLevel& coarse = coarse_.finest();
    parallel_for(
        tiles_.size(),
        [&](size_t k) {
            alignas(64) float residual[kTileCells];
            const float* r = r_.tile(tiles_[k]);
            for_each_product(m, uniform(k), z_, tiles_[k],
                             [&](int o, Row ax, Row) { store_row(residual + o, load_row(r + o) - ax); });
            const size_t first = first_node_[tiles_[k]];
            const size_t end = first_node_[tiles_[k] + 1];
            sum_over_nodes(residual, node_in_tile_.tile(tiles_[k]), whole_[k],
                           std::span(coarse.b).subspan(first, end - first));
        },
        kPoissonTilesPerTask);
    coarse_.solve();

    // Prolong, then smooth in reverse order.
    parallel_for(
        tiles_.size(),
        [&](size_t k) {
            const float* x = coarse.x.data() + first_node_[tiles_[k]];
            add_from_nodes(x, node_in_tile_.tile(tiles_[k]), whole_[k], z_.tile(tiles_[k]));
        },
        kPoissonTilesPerTask);
    second_jacobi_step(z_, scratch_);
    parallel_for(
        tiles_.size(),
        [&](size_t k) {
            const float *r = r_.tile(tiles_[k]), *x = scratch_.tile(tiles_[k]);
            float* out = z_.tile(tiles_[k]);
            RowSum rz;
            for_each_product(m, uniform(k), scratch_, tiles_[k], [&](int o, Row ax, Row inverse) {
                const Row z = load_row(x + o) + kJacobiFirst * inverse * (load_row(r + o) - ax);
                store_row(out + o, z);
                rz.add_product(load_row(r + o), z);
            });
            partial_[k] = rz.total();
        },
        kPoissonTilesPerTask);
}

// q = A p; returns p . q
double PoissonSolver::multiply_and_dot(std::span<const PoissonColumns> columns)
{
    parallel_for(
        tiles_.size(),
        [&](size_t k) {
            const float* p = p_.tile(tiles_[k]);
            float* q = q_.tile(tiles_[k]);
            RowSum pq;
            for_each_product(*matrix_, tile_kind_[k] == TileKind::uniform, p_, tiles_[k], [&](int o, Row ap, Row) {
                store_row(q + o, ap);
                pq.add_product(load_row(p + o), ap);
            });
            partial_[k] = pq.total();
        },
        kPoissonTilesPerTask);
    double sum = 0;
    for (const double s : partial_) sum += s;
    for (const PoissonColumns& body : columns) {
        const Vec6d down = sums_of(body, p_), up = body.c * down;
        parallel_for(
            body.cells.size(),
            [&](size_t i) {
                const PoissonColumns::Cell& cell = body.cells[i];
                q_.tile(cell.tile)[cell.offset] += static_cast<float>(cell.row.cast<double>().dot(up));
            },
            1024);
        sum += down.dot(up);
    }
    return sum;
}

PoissonResult PoissonSolver::solve(const Field<float>& b, Field<double>& x, double tolerance, int max_iterations,
                                   std::span<const PoissonColumns> columns)
{
    const auto total = [&] {
        double sum = 0;
        for (const double s : partial_) sum += s;
        return sum;
    };
    x.reset(matrix_->diagonal.topology(), 0);
    parallel_for(
        tiles_.size(),
        [&](size_t k) {
            const float *from = b.tile(tiles_[k]), *d = matrix_->diagonal.tile(tiles_[k]);
            float *r = r_.tile(tiles_[k]), *p = p_.tile(tiles_[k]), *q = q_.tile(tiles_[k]);
            for (int i = 0; i < kTileCells; ++i) r[i] = d[i] > 0 ? from[i] : 0, p[i] = q[i] = 0;
        },
        kPoissonTilesPerTask);
    make_compatible();

    // x += alpha p, r -= alpha q, and the first Jacobi step of the next cycle; leaves r . r in partial_.
    const auto advance = [&](double alpha) {
        const float a = static_cast<float>(alpha);
        parallel_for(
            tiles_.size(),
            [&](size_t k) {
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
            },
            kPoissonTilesPerTask);
        return total();
    };

    PoissonResult result;
    const double norm2 = advance(0);
    if (!(norm2 > 0)) return result;
    double rz = 0;
    while (result.iterations < max_iterations) {
        // Rounding leaves a mean in r that does not shrink with r, and the coarse levels would amplify it.
        if (result.iterations > 0) make_compatible();
        precondition();
        const double rz_next = total();
        const float beta = static_cast<float>(rz > 0 ? rz_next / rz : 0);
        rz = rz_next;
        parallel_for(
            tiles_.size(),
            [&](size_t k) {
                float* p = p_.tile(tiles_[k]);
                const float* z = z_.tile(tiles_[k]);
                for (int o = 0; o < kTileCells; o += kTileSize)
                    store_row(p + o, load_row(z + o) + beta * load_row(p + o));
            },
            kPoissonTilesPerTask);
        const double pq = multiply_and_dot(columns);
        ++result.iterations;
        if (!(pq > 0)) break; // below float resolution
        result.relative_residual = std::sqrt(advance(rz / pq) / norm2);
        if (result.relative_residual <= tolerance) return result;
    }
    result.converged = false;
    return result;
}

} // namespace spindrift
