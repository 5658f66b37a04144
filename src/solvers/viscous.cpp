#include "solvers/viscous.h"

#include <numeric>

namespace spindrift {

namespace {

constexpr size_t kTilesPerTask = 4;
// The two Jacobi factors of the smoother, the roots of a Chebyshev polynomial on the upper part of the spectrum (0.7 to
// 3.5; 3 is the largest eigenvalue inside the liquid). Applied in this order before the coarse correction, in reverse
// after it.
constexpr float kJacobiFirst = 0.3236f, kJacobiSecond = 0.9f;
// Below this a level's smoother does all there is to do.
constexpr float kLeastStiffness = 0.3f;
// Up to this, plain Jacobi takes less time in all, measured on dam breaks of 64 and 128 cells: a cycle costs as much as
// five of its steps, and converges no better than by a factor of two.
constexpr float kMostForJacobi = 17;
constexpr int kCoarsestSweeps = 4;
constexpr size_t kMostLevels = 12, kFewTiles = 8;

constexpr int other_axis(int a, int b) { return 3 - a - b; }

// A tile's velocity and one face around it. As a Block, but laid out for speed: rows begin at a multiple of a cache
// line and the margin lies around them, so that few loads cross a line, and a row is gathered with its two ends at
// once.
struct VelocityBlock {
    static constexpr int kStrideY = 16, kStrideX = 10 * kStrideY;
    alignas(64) float u[3][10 * kStrideX + kTileSize];

    // Index of a row's first cell, x and y in [-1, 8].
    static constexpr int index(int x, int y) { return (x + 1) * kStrideX + (y + 1) * kStrideY + kTileSize; }

    void gather(const MacField& field, int tile)
    {
        const auto& neighbours = field.u[0].topology().neighbours(tile);
        for (int dx = -1; dx <= 1; ++dx)
            for (int dy = -1; dy <= 1; ++dy) {
                const auto part = [&](const Field<float>& f, int dz) {
                    return f.tile(neighbours[static_cast<size_t>(neighbour_slot(dx, dy, dz))]);
                };
                const int x0 = dx < 0 ? -1 : dx * kTileSize, x1 = dx > 0 ? kTileSize + 1 : (dx + 1) * kTileSize;
                const int y0 = dy < 0 ? -1 : dy * kTileSize, y1 = dy > 0 ? kTileSize + 1 : (dy + 1) * kTileSize;
                for (int a = 0; a < 3; ++a) {
                    const float *low = part(field.u[a], -1), *mid = part(field.u[a], 0), *high = part(field.u[a], 1);
                    for (int x = x0; x < x1; ++x)
                        for (int y = y0; y < y1; ++y) {
                            const int from = offset_in_tile(x & 7, y & 7, 0);
                            float* to = u[a] + index(x, y);
                            store_row(to, load_row(mid + from));
                            to[-1] = low[from + 7], to[kTileSize] = high[from];
                        }
                }
            }
    }
};
constexpr int kStride[3] = {VelocityBlock::kStrideX, VelocityBlock::kStrideY, 1};

// The weights around the faces of component A of one row: cells below and above the face, edges below and above along
// the two other axes.
struct Weights {
    Row cell_low, cell_high;
    Row edge_low[2], edge_high[2];
};

inline Row below(const TileView& v, int axis, int x, int y)
{
    return axis == 0 ? v.below_x(x, y) : axis == 1 ? v.below_y(x, y) : v.below_z(x, y);
}
inline Row above(const TileView& v, int axis, int x, int y)
{
    return axis == 0 ? v.above_x(x, y) : axis == 1 ? v.above_y(x, y) : v.above_z(x, y);
}

struct MatrixTile {
    TileView cell, edge[3];
    MatrixTile(const ViscousMatrix& m, int tile)
        : cell(m.cell, tile), edge{{m.edge[0], tile}, {m.edge[1], tile}, {m.edge[2], tile}}
    {
    }
    template <int A> [[gnu::always_inline]] Weights at(int x, int y) const
    {
        Weights w;
        w.cell_low = below(cell, A, x, y), w.cell_high = cell.at(x, y);
        for (int n = 0; n < 2; ++n) {
            const int b = (A + 1 + n) % 3;
            const TileView& e = edge[other_axis(A, b)];
            w.edge_low[n] = e.at(x, y), w.edge_high[n] = above(e, b, x, y);
        }
        return w;
    }
};

// K u for one row of component A; i is the row's place in the block. From differences: exact for what float can tell
// apart.
template <int A> [[gnu::always_inline]] inline Row viscous(const VelocityBlock& u, int i, const Weights& w)
{
    const auto load = [&](int axis, int at) { return load_row_unaligned(u.u[axis] + at); };
    const Row c = load(A, i);
    Row sum = w.cell_low * (c - load(A, i - kStride[A])) - w.cell_high * (load(A, i + kStride[A]) - c);
#pragma GCC unroll 2
    for (int n = 0; n < 2; ++n) {
        const int b = (A + 1 + n) % 3, s = kStride[b];
        const Row low = (c - load(A, i - s)) + (load(b, i) - load(b, i - kStride[A]));
        const Row high = (load(A, i + s) - c) + (load(b, i + s) - load(b, i + s - kStride[A]));
        sum += w.edge_low[n] * low - w.edge_high[n] * high;
    }
    return sum;
}

inline Row sum_of(const Weights& w)
{
    return (w.cell_low + w.cell_high) + ((w.edge_low[0] + w.edge_high[0]) + (w.edge_low[1] + w.edge_high[1]));
}

// Calls body.operator()<0>(), <1>() and <2>().
template <class Body> [[gnu::always_inline]] inline void for_each_axis(const Body& body)
{
    body.template operator()<0>(), body.template operator()<1>(), body.template operator()<2>();
}

// Calls body(axis, offset, K x, mass, inverse of the diagonal) for the rows of a tile.
template <class Body>
inline void multiply_tile(const ViscousMatrix& m, bool uniform, const MacField& x, int tile, const Body& body)
{
    thread_local VelocityBlock kept;
    auto& block = kept;
    block.gather(x, tile);
    if (uniform) {
        const Row cell = splat(m.cell.tile(tile)[0]), edge = splat(m.edge[0].tile(tile)[0]);
        const Weights w{cell, cell, {edge, edge}, {edge, edge}};
        const Row one = splat(1), inverse = splat(m.inverse[0].tile(tile)[0]);
        for_each_axis([&]<int A>() {
            for_each_row([&](int i, int j, int o) {
                body(A, o, viscous<A>(block, VelocityBlock::index(i, j), w), one, inverse);
            });
        });
        return;
    }
    const MatrixTile weights(m, tile);
    for_each_axis([&]<int A>() {
        const float *mass = m.mass[A].tile(tile), *inverse = m.inverse[A].tile(tile);
        for_each_row([&](int i, int j, int o) {
            const Row k = viscous<A>(block, VelocityBlock::index(i, j), weights.at<A>(i, j));
            body(A, o, k, load_row(mass + o), load_row(inverse + o));
        });
    });
}

void clear_tile(MacField& field, int tile)
{
    for (auto& u : field.u) std::fill_n(u.tile(tile), kTileCells, 0.0f);
}

} // namespace

void ViscousMatrix::reset_uninitialized(const Topology& topology)
{
    cell.reset_uninitialized(topology, 0);
    for (int a = 0; a < 3; ++a)
        for (Field<float>* f : {&mass[a], &edge[a], &inverse[a]}) f->reset_uninitialized(topology, 0);
}

size_t ViscousMatrix::bytes() const
{
    size_t sum = cell.bytes();
    for (int a = 0; a < 3; ++a) sum += mass[a].bytes() + edge[a].bytes() + inverse[a].bytes();
    return sum;
}

double ViscousSolver::Level::total() const
{
    double sum = 0;
    for (const double s : partial) sum += s;
    return sum;
}

size_t ViscousSolver::bytes() const
{
    size_t sum = p_.bytes() + q_.bytes();
    for (const auto& l : levels_)
        sum += l->own_topology.bytes() + l->own_matrix.bytes() + l->r.bytes() + l->z.bytes() + l->scratch.bytes();
    return sum;
}

// Calls body(index in level.tiles, axis, offset, K x, mass, inverse of the diagonal) for all rows that may take part.
template <class Body> void ViscousSolver::for_each_product(const Level& level, const MacField& x, const Body& body)
{
    parallel_for(
        level.tiles.size(),
        [&](size_t k) {
            multiply_tile(*level.matrix, level.uniform[k], x, level.tiles[k],
                          [&](int a, int o, Row kx, Row mass, Row inverse) { body(k, a, o, kx, mass, inverse); });
        },
        kTilesPerTask);
}

// Inverts the diagonal and finds out which tiles take part.
void ViscousSolver::analyse(Level& level)
{
    ViscousMatrix& m = *level.matrix;
    const Topology& topology = m.topology();
    const size_t count = static_cast<size_t>(topology.tile_count());
    std::vector<uint8_t> kind(count); // 0: takes no part, 1: general, 2: uniform
    parallel_for(
        count,
        [&](size_t t) {
            const int tile = static_cast<int>(t);
            const MatrixTile weights(m, tile);
            const Row zero = splat(0), cell = splat(m.cell.tile(tile)[0]), edge = splat(m.edge[0].tile(tile)[0]);
            Row most = zero, off = zero;
            for_each_axis([&]<int A>() {
                const float* mass = m.mass[A].tile(tile);
                float* inverse = m.inverse[A].tile(tile);
                for_each_row([&](int i, int j, int o) {
                    const Weights w = weights.at<A>(i, j);
                    const Row closed = load_row(inverse + o), sum = load_row(mass + o) + sum_of(w);
                    store_row(inverse + o, closed < zero ? closed : inverse_or_zero(sum));
                    most = max(most, closed < zero ? zero : sum);
                    const auto differs = [&](Row a, Row b) { off = a == b ? off : splat(1); };
                    differs(load_row(mass + o), splat(1)), differs(w.cell_low, cell), differs(w.cell_high, cell);
                    differs(w.edge_low[0], edge), differs(w.edge_high[0], edge);
                    differs(w.edge_low[1], edge), differs(w.edge_high[1], edge), differs(min(closed, zero), zero);
                });
            });
            kind[t] = !(largest(most) > 0) ? 0 : largest(off) > 0 ? 1 : 2;
        },
        kTilesPerTask);
    level.tiles.clear(), level.uniform.clear();
    for (size_t t = 0; t < count; ++t)
        if (kind[t]) level.tiles.push_back(static_cast<int>(t)), level.uniform.push_back(kind[t] == 2);
    level.partial.assign(level.tiles.size(), 0);
    // Tiles that take part are written before they are read; the others are read by their neighbours.
    const auto clear = [&](MacField& f) {
        for (auto& u : f.u) u.reset_uninitialized(topology, 0);
        for_each_tile(topology, [&](int t) {
            if (!kind[static_cast<size_t>(t)]) clear_tile(f, t);
        });
    };
    clear(level.r), clear(level.z), clear(level.scratch);
    if (level.matrix != &level.own_matrix) clear(p_), clear(q_);
}

namespace {

// Values of the finer level around twice the place of a coarse tile: coordinates from -8 to 23.
struct FinerTiles {
    const std::array<int, 27>& tiles;
    float operator()(const Field<float>& f, int x, int y, int z) const
    {
        const int t = tiles[static_cast<size_t>(neighbour_slot((x >> 3), (y >> 3), (z >> 3)))];
        return f.tile(t)[offset_in_tile(x & 7, y & 7, z & 7)];
    }
};

} // namespace

// The coarse operator in the finer one's units of volume: half the differences' scale squared is a quarter of the
// weight. Weights are those of the fine cells, edges and faces that make up the coarse one.
void ViscousSolver::coarsen(const Level& fine, Level& coarse)
{
    const Topology& from = fine.topology();
    std::vector<uint64_t> codes;
    // All tiles, also those without a face that takes part: edges on an upper wall belong to the tile behind it.
    for (int t = 0; t < from.tile_count(); ++t) {
        const Vec3i c = from.tile(t);
        codes.push_back(morton_of_tile({c.x() >> 1, c.y() >> 1, c.z() >> 1}));
    }
    coarse.own_topology = Topology(std::move(codes));
    coarse.matrix = &coarse.own_matrix;
    const Topology& topology = coarse.own_topology;
    coarse.finer.resize(static_cast<size_t>(topology.tile_count()));
    ViscousMatrix& m = coarse.own_matrix;
    const ViscousMatrix& f = *fine.matrix;
    m.reset_uninitialized(topology);
    for_each_tile(topology, [&](int tile) {
        auto& finer = coarse.finer[static_cast<size_t>(tile)];
        for (int s = 0; s < 27; ++s)
            finer[static_cast<size_t>(s)] =
                from.find(topology.tile(tile) * 2 + Vec3i(s / 9 - 1, s / 3 % 3 - 1, s % 3 - 1));
        const FinerTiles at{finer};
        for (int c = 0; c < kTileCells; ++c) {
            const Vec3i p = cell_in_tile(c) * 2;
            float cells = 0;
            for (int k = 0; k < 8; ++k) cells += at(f.cell, p.x() + (k >> 2), p.y() + (k >> 1 & 1), p.z() + (k & 1));
            m.cell.tile(tile)[c] = 0.25f * cells / 8;
            for (int a = 0; a < 3; ++a) {
                const Vec3i along = Vec3i::Unit(a), b = Vec3i::Unit((a + 1) % 3), d = Vec3i::Unit((a + 2) % 3);
                const auto value = [&](const Field<float>& field, const Vec3i& q) {
                    return at(field, q.x(), q.y(), q.z());
                };
                m.edge[a].tile(tile)[c] = 0.25f * 0.5f * (value(f.edge[a], p) + value(f.edge[a], p + along));
                float mass = 0;
                int closed = 0;
                for (const Vec3i& q : {p, Vec3i(p + b), Vec3i(p + d), Vec3i(p + b + d)}) {
                    mass += value(f.mass[a], q);
                    closed += value(f.inverse[a], q) < 0;
                }
                m.mass[a].tile(tile)[c] = 0.25f * mass;
                m.inverse[a].tile(tile)[c] = closed >= 2 ? kClosedFace : 0;
            }
        }
    });
}

void ViscousSolver::set_matrix(ViscousMatrix& matrix, float stiffness)
{
    const auto level = [&](size_t n) -> Level& {
        if (levels_.size() <= n) levels_.push_back(std::make_unique<Level>());
        return *levels_[n];
    };
    level(0).matrix = &matrix;
    analyse(level(0));
    used_levels_ = 1;
    if (stiffness <= kMostForJacobi) return;
    for (; stiffness > kLeastStiffness && used_levels_ < kMostLevels &&
           levels_[used_levels_ - 1]->tiles.size() > kFewTiles;
         stiffness *= 0.25f, ++used_levels_) {
        Level& coarse = level(used_levels_);
        coarsen(*levels_[used_levels_ - 1], coarse);
        analyse(coarse);
    }
}

// The transpose of prolong(), over the eight faces that stand for a coarse one.
void ViscousSolver::restrict_residual(const Level& fine, Level& coarse)
{
    parallel_for(coarse.tiles.size(), [&](size_t k) {
        const int tile = coarse.tiles[k];
        const auto& finer = coarse.finer[static_cast<size_t>(tile)];
        for_each_axis([&]<int A>() {
            const Field<float>& residual = fine.scratch.u[A];
            // The row of the finer level that begins at (x, y, 8 half), and the value in front of it.
            const auto place = [&](int x, int y, int dz) {
                const int t = finer[static_cast<size_t>(neighbour_slot(x >> 3, y >> 3, dz))];
                return residual.tile(t) + offset_in_tile(x & 7, y & 7, 0);
            };
            float* out = coarse.r.u[A].tile(tile);
            const float* inverse = coarse.matrix->inverse[A].tile(tile);
            for_each_row([&](int i, int j, int o) {
                alignas(32) float both[kTileSize];
                for (int half = 0; half < 2; ++half) {
                    const int x = 2 * i, y = 2 * j;
                    const auto row = [&](int dx, int dy) { return load_row(place(x + dx, y + dy, half)); };
                    Row sum;
                    if constexpr (A == 0)
                        sum = (row(0, 0) + row(0, 1)) + 0.5f * ((row(-1, 0) + row(-1, 1)) + (row(1, 0) + row(1, 1)));
                    else if constexpr (A == 1)
                        sum = (row(0, 0) + row(1, 0)) + 0.5f * ((row(0, -1) + row(1, -1)) + (row(0, 1) + row(1, 1)));
                    else
                        sum = (row(0, 0) + row(0, 1)) + (row(1, 0) + row(1, 1));
                    float* to = both + 4 * half;
                    if constexpr (A == 2) {
                        const auto last = [&](int dx, int dy) { return place(x + dx, y + dy, half - 1)[7]; };
                        const float before = (last(0, 0) + last(0, 1)) + (last(1, 0) + last(1, 1));
                        const Row low = shifted_from_below(sum, before);
                        for (int n = 0; n < 4; ++n) to[n] = sum[2 * n] + 0.5f * (low[2 * n] + sum[2 * n + 1]);
                    } else
                        for (int n = 0; n < 4; ++n) to[n] = sum[2 * n] + sum[2 * n + 1];
                }
                store_row(out + o, load_row(inverse + o) > splat(0) ? 0.125f * load_row(both) : splat(0));
            });
        });
    });
}

// Adds the coarse solution: linear along a component's own axis, constant across it.
void ViscousSolver::prolong(const Level& coarse, Level& fine)
{
    const int none = fine.topology().tile_count();
    parallel_for(coarse.tiles.size(), [&](size_t k) {
        const int tile = coarse.tiles[k];
        const auto& finer = coarse.finer[static_cast<size_t>(tile)];
        thread_local VelocityBlock kept;
        auto& block = kept;
        block.gather(coarse.z, tile);
        for (int child = 0; child < 8; ++child) {
            const int ox = child >> 2, oy = child >> 1 & 1, oz = child & 1;
            const int to = finer[static_cast<size_t>(neighbour_slot(ox, oy, oz))];
            if (to == none) continue;
            for_each_axis([&]<int A>() {
                float* out = fine.z.u[A].tile(to);
                const float *inverse = fine.matrix->inverse[A].tile(to), *from = block.u[A];
                for_each_row([&](int x, int y, int o) {
                    const float* at = from + VelocityBlock::index(4 * ox + x / 2, 4 * oy + y / 2) + 4 * oz;
                    const Quad here = load_quad(at), next = load_quad(at + kStride[A]);
                    const Quad between = 0.5f * (here + next);
                    const bool odd = A == 0 ? x & 1 : A == 1 ? y & 1 : false;
                    const Quad even_z = odd ? between : here, odd_z = odd || A == 2 ? between : here;
                    const Row add = __builtin_shufflevector(even_z, odd_z, 0, 4, 1, 5, 2, 6, 3, 7);
                    store_row(out + o, load_row(out + o) + (load_row(inverse + o) > splat(0) ? add : splat(0)));
                });
            });
        }
    });
}

// to = from + factor D^-1 (r - (M + K) from); leaves r . to in `partial`.
void ViscousSolver::smooth(Level& level, const MacField& from, MacField& to, float factor)
{
    parallel_for(
        level.tiles.size(),
        [&](size_t k) {
            const int tile = level.tiles[k];
            RowSum product;
            multiply_tile(
                *level.matrix, level.uniform[k], from, tile, [&](int a, int o, Row kx, Row mass, Row inverse) {
                    const Row x = load_row(from.u[a].tile(tile) + o), r = load_row(level.r.u[a].tile(tile) + o);
                    const Row next = x + factor * max(inverse, splat(0)) * (r - (mass * x + kx));
                    store_row(to.u[a].tile(tile) + o, next);
                    product.add_product(r, next);
                });
            level.partial[k] = product.total();
        },
        kTilesPerTask);
}

// z = an approximate solution for r.
void ViscousSolver::cycle(size_t number)
{
    Level& level = *levels_[number];
    parallel_for( // the first step of the smoother, from zero; r is zero at closed faces
        level.tiles.size(),
        [&](size_t k) {
            const int tile = level.tiles[k];
            for (int a = 0; a < 3; ++a) {
                const float *r = level.r.u[a].tile(tile), *inverse = level.matrix->inverse[a].tile(tile);
                float* x = level.scratch.u[a].tile(tile);
                for (int o = 0; o < kTileCells; o += kTileSize)
                    store_row(x + o, kJacobiFirst * load_row(inverse + o) * load_row(r + o));
            }
        },
        kTilesPerTask);
    smooth(level, level.scratch, level.z, kJacobiSecond);
    if (number + 1 == used_levels_) {
        for (int sweep = 1; sweep < kCoarsestSweeps; ++sweep) {
            smooth(level, level.z, level.scratch, kJacobiFirst);
            smooth(level, level.scratch, level.z, kJacobiSecond);
        }
        return;
    }
    for_each_product(level, level.z, [&](size_t k, int a, int o, Row kx, Row mass, Row inverse) {
        const int tile = level.tiles[k];
        const Row residual =
            load_row(level.r.u[a].tile(tile) + o) - (mass * load_row(level.z.u[a].tile(tile) + o) + kx);
        store_row(level.scratch.u[a].tile(tile) + o, inverse > splat(0) ? residual : splat(0));
    });
    restrict_residual(level, *levels_[number + 1]);
    cycle(number + 1);
    prolong(*levels_[number + 1], level);
    smooth(level, level.z, level.scratch, kJacobiSecond);
    smooth(level, level.scratch, level.z, kJacobiFirst);
}

ViscousResult ViscousSolver::solve(MacField& velocity, double tolerance, int max_iterations, const MacField* load)
{
    Level& fine = *levels_[0];
    ViscousResult result;
    result.levels = static_cast<int>(used_levels_);
    const bool jacobi = used_levels_ == 1; // z = D^-1 r then need not be stored

    // r = load + M u0 - (M + K) u0 = load - K u0; closed faces have their part in it, and stay as they are.
    for_each_product(fine, velocity, [&](size_t k, int a, int o, Row kx, Row, Row inverse) {
        const int tile = fine.tiles[k];
        const Row r = load ? load_row(load->u[a].tile(tile) + o) - kx : -kx;
        store_row(fine.r.u[a].tile(tile) + o, inverse > splat(0) ? r : splat(0));
    });

    // p = z + beta p
    const auto turn = [&](float beta) {
        parallel_for(
            fine.tiles.size(),
            [&](size_t k) {
                const int tile = fine.tiles[k];
                for (int a = 0; a < 3; ++a) {
                    float* p = p_.u[a].tile(tile);
                    const float *z = fine.z.u[a].tile(tile), *r = fine.r.u[a].tile(tile);
                    const float* inverse = fine.matrix->inverse[a].tile(tile);
                    for (int o = 0; o < kTileCells; o += kTileSize) {
                        const Row next = jacobi ? load_row(inverse + o) * load_row(r + o) : load_row(z + o);
                        store_row(p + o, beta == 0 ? next : next + beta * load_row(p + o));
                    }
                }
            },
            kTilesPerTask);
    };
    // q = (M + K) p; returns p . q
    const auto multiply_and_dot = [&] {
        parallel_for(
            fine.tiles.size(),
            [&](size_t k) {
                const int tile = fine.tiles[k];
                RowSum pq;
                multiply_tile(*fine.matrix, fine.uniform[k], p_, tile,
                              [&](int a, int o, Row kp, Row mass, Row inverse) {
                                  const Row p = load_row(p_.u[a].tile(tile) + o), q = mass * p + kp;
                                  store_row(q_.u[a].tile(tile) + o, inverse > splat(0) ? q : splat(0));
                                  pq.add_product(p, q);
                              });
                fine.partial[k] = pq.total();
            },
            kTilesPerTask);
        return fine.total();
    };
    // u += alpha p, r -= alpha q; for Jacobi, leaves r . z in `partial`.
    const auto advance = [&](float alpha) {
        parallel_for(
            fine.tiles.size(),
            [&](size_t k) {
                const int tile = fine.tiles[k];
                RowSum rz;
                for (int a = 0; a < 3; ++a) {
                    float *u = velocity.u[a].tile(tile), *r = fine.r.u[a].tile(tile);
                    const float *p = p_.u[a].tile(tile), *q = q_.u[a].tile(tile);
                    const float* inverse = fine.matrix->inverse[a].tile(tile);
                    for (int o = 0; o < kTileCells; o += kTileSize) {
                        store_row(u + o, load_row(u + o) + alpha * load_row(p + o));
                        const Row next = load_row(r + o) - alpha * load_row(q + o);
                        store_row(r + o, next);
                        if (jacobi) rz.add_product(next, load_row(inverse + o) * next);
                    }
                }
                fine.partial[k] = rz.total();
            },
            kTilesPerTask);
    };
    if (jacobi) { // p and q are written before they are read, but not here yet
        turn(0);
        parallel_for(
            fine.tiles.size(), [&](size_t k) { clear_tile(q_, fine.tiles[k]); }, kTilesPerTask);
        advance(0);
    }

    // What each iteration takes off the squared energy norm of the error (Hestenes and Stiefel 1952). The last few took
    // nearly all that was left before them (Strakos and Tichy 2002), and what is left now is to that as that is to what
    // the few before them took.
    const ptrdiff_t few = jacobi ? 4 : 1;
    std::vector<double> taken;
    double rz = 0, all_taken = 0;
    while (result.iterations < max_iterations) {
        if (!jacobi) cycle(0);
        const double next = fine.total(); // r . z
        if (!(next > 0)) return result;
        turn(static_cast<float>(rz > 0 ? next / rz : 0));
        rz = next;
        const double pq = multiply_and_dot();
        ++result.iterations;
        if (!(pq > 0)) break; // nothing left that float can resolve
        advance(static_cast<float>(rz / pq));
        taken.push_back(rz * rz / pq);
        all_taken += taken.back();
        if (static_cast<ptrdiff_t>(taken.size()) < 2 * few) continue;
        const double last = std::accumulate(taken.end() - few, taken.end(), 0.0);
        const double before = std::accumulate(taken.end() - 2 * few, taken.end() - few, 0.0);
        result.relative_error = std::sqrt(last * std::min(1.0, last / before) / all_taken);
        if (result.relative_error <= tolerance) return result;
    }
    result.converged = false;
    return result;
}

void ViscousSolver::multiply(const MacField& x, MacField& out)
{
    Level& fine = *levels_[0];
    p_.reset(fine.topology(), 0), out.reset(fine.topology(), 0);
    for (const int tile : fine.tiles)
        for (int a = 0; a < 3; ++a)
            for (int c = 0; c < kTileCells; ++c)
                if (fine.matrix->inverse[a].tile(tile)[c] > 0) p_.u[a].tile(tile)[c] = x.u[a].tile(tile)[c];
    for_each_product(fine, p_, [&](size_t k, int a, int o, Row kx, Row mass, Row inverse) {
        const Row y = mass * load_row(p_.u[a].tile(fine.tiles[k]) + o) + kx;
        store_row(out.u[a].tile(fine.tiles[k]) + o, inverse > splat(0) ? y : splat(0));
    });
}

} // namespace spindrift
