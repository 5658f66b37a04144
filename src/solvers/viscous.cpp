#include "solvers/viscous.h"

namespace spindrift {

namespace {

constexpr size_t kTilesPerTask = 4;
// The eigenvalues of D^-1 (M + K) that a level's smoother is for: what the next coarser level cannot see begins at 2/24
// for motions without divergence, and what is squeezed from cell to cell along all axes has 24/24.
constexpr double kLowForSmoothing = 0.08;
constexpr int kSmootherDegree = 3;
// Up to this stiffness a level needs no coarser one: some steps of the smoother solve it.
constexpr float kStiffnessForOneLevel = 1;
// Coarsening also ends here; what is stiff and yet small takes more steps.
constexpr size_t kFewTiles = 8;
constexpr int kMostSteps = 64;

constexpr int other_axis(int a, int b) { return 3 - a - b; }

// A tile of velocities and the 26 around it, see neighbour_slot().
template <class T> struct TilesAround {
    const T* u[3][27];
    template <class Velocity> TilesAround(const Velocity& field, int tile)
    {
        const auto& neighbours = field.u[0].topology().neighbours(tile);
        for (int a = 0; a < 3; ++a)
            for (size_t n = 0; n < 27; ++n) u[a][n] = field.u[a].tile(neighbours[n]);
    }
};

template <class Velocity> TilesAround(const Velocity& field, int tile)
    -> TilesAround<std::remove_cvref_t<decltype(*field.u[0].tile(0))>>;

inline float to_float(float x) { return x; }

// One plane x of a tile's velocity and one face around it. Rows begin at a multiple of a cache line and the margin lies
// around them, so that few loads cross a line, and a row is gathered with its two ends at once.
struct VelocityPlane {
    static constexpr int kStride = 16;
    alignas(64) float u[3][10 * kStride + kTileSize];

    // Index of a row's first cell, y in [-1, 8].
    static constexpr int index(int y) { return (y + 1) * kStride + kTileSize; }

    // x in [-1, 8].
    template <class T> [[gnu::always_inline]] void gather(const TilesAround<T>& tiles, int x)
    {
        const int plane = offset_in_tile(x & 7, 0, 0);
        for (int a = 0; a < 3; ++a) {
            const T* const* beside = tiles.u[a] + neighbour_slot(x >> 3, -1, -1);
            const auto copy = [&](int dy, int y, float* to) {
                const T* const* along_z = beside + 3 * (dy + 1);
                const int from = plane + y * kTileSize;
                store_row(to, load_row(along_z[1] + from));
                to[-1] = to_float(along_z[0][from + 7]), to[kTileSize] = to_float(along_z[2][from]);
            };
            copy(-1, 7, u[a] + index(-1));
            for (int y = 0; y < kTileSize; ++y) copy(0, y, u[a] + index(y));
            copy(1, 0, u[a] + index(8));
        }
    }
};

// The weighted stress in the cells and at the edges of one plane: each counts for the faces on both sides, and that of
// an edge for two components. A row's neighbours along z come from the row itself and one number more.
struct StressPlane {
    Row xx[8], xy[9], xz[8]; // between this plane of faces and the one below
    Row yy[9], yz[9], zz[8]; // in this plane
    float xz_above[8], yz_above[8], zz_below[8];

    // Of plane x in [0, 8]. `weight` has rows cell(x, y) and edge(axis, x, y), and their values beyond the tile along
    // z: cell_below_z(x, y) and edge_above_z(axis, x, y).
    template <class Weight> [[gnu::always_inline]] void compute(const VelocityPlane& below, const VelocityPlane& here,
                                                                const Weight& weight, int x)
    {
        constexpr int kY = VelocityPlane::kStride;
        const auto at = [](const float* p) { return load_row_unaligned(p); };
        for (int y = 0; y <= kTileSize; ++y) {
            const int i = VelocityPlane::index(y);
            const float *u = here.u[0] + i, *v = here.u[1] + i, *w = here.u[2] + i;
            if (y < kTileSize) {
                const float* z = below.u[2] + i;
                xx[y] = weight.cell(x - 1, y) * (at(u) - at(below.u[0] + i));
                xz[y] = weight.edge(1, x, y) * ((at(u) - at(u - 1)) + (at(w) - at(z)));
                xz_above[y] = weight.edge_above_z(1, x, y) * ((u[8] - u[7]) + (w[8] - z[8]));
            }
            if (x + y < 2 * kTileSize)
                xy[y] = weight.edge(2, x, y) * ((at(u) - at(u - kY)) + (at(v) - at(below.u[1] + i)));
            if (x == kTileSize) continue;
            yy[y] = weight.cell(x, y - 1) * (at(v) - at(v - kY));
            yz[y] = weight.edge(0, x, y) * ((at(v) - at(v - 1)) + (at(w) - at(w - kY)));
            if (y == kTileSize) continue;
            yz_above[y] = weight.edge_above_z(0, x, y) * ((v[8] - v[7]) + (w[8] - w[8 - kY]));
            zz[y] = weight.cell(x, y) * (at(w + 1) - at(w));
            zz_below[y] = weight.cell_below_z(x, y) * (w[0] - w[-1]);
        }
    }
    // K u for the rows of this plane; `next` is the plane above.
    Row force_x(const StressPlane& next, int y) const
    {
        return (xx[y] - next.xx[y]) + (xy[y] - xy[y + 1]) + (xz[y] - shifted_from_above(xz[y], xz_above[y]));
    }
    Row force_y(const StressPlane& next, int y) const
    {
        return (yy[y] - yy[y + 1]) + (xy[y] - next.xy[y]) + (yz[y] - shifted_from_above(yz[y], yz_above[y]));
    }
    Row force_z(const StressPlane& next, int y) const
    {
        return (shifted_from_below(zz[y], zz_below[y]) - zz[y]) + (xz[y] - next.xz[y]) + (yz[y] - yz[y + 1]);
    }
};

struct UniformWeight {
    float cell_weight, edge_weight;
    Row cell(int, int) const { return splat(cell_weight); }
    Row edge(int, int, int) const { return splat(edge_weight); }
    float cell_below_z(int, int) const { return cell_weight; }
    float edge_above_z(int, int, int) const { return edge_weight; }
};

struct TileWeight {
    TileView cells, edges[3];
    TileWeight(const ViscousMatrix& m, int tile)
        : cells(m.cell, tile), edges{{m.edge[0], tile}, {m.edge[1], tile}, {m.edge[2], tile}}
    {
    }
    // x or y may be one below the tile.
    Row cell(int x, int y) const
    {
        return load_row(x < 0   ? cells.x_low + offset_in_tile(7, y, 0)
                        : y < 0 ? cells.y_low + offset_in_tile(x, 7, 0)
                                : cells.center + offset_in_tile(x, y, 0));
    }
    // x or y may be one above the tile.
    Row edge(int axis, int x, int y) const
    {
        const TileView& e = edges[axis];
        return load_row(x > 7   ? e.x_high + offset_in_tile(0, y, 0)
                        : y > 7 ? e.y_high + offset_in_tile(x, 0, 0)
                                : e.center + offset_in_tile(x, y, 0));
    }
    float cell_below_z(int x, int y) const { return cells.z_low[offset_in_tile(x, y, 7)]; }
    float edge_above_z(int axis, int x, int y) const { return edges[axis].z_high[offset_in_tile(x, y, 0)]; }
};

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

// Of the magnitudes in a row of K: a cell's term couples two faces with equal weights, an edge's four.
inline Row sum_of_magnitudes(const Weights& w)
{
    return 2 * (w.cell_low + w.cell_high) + 4 * ((w.edge_low[0] + w.edge_high[0]) + (w.edge_low[1] + w.edge_high[1]));
}

// Calls body.operator()<0>(), <1>() and <2>().
template <class Body> [[gnu::always_inline]] inline void for_each_axis(const Body& body)
{
    body.template operator()<0>(), body.template operator()<1>(), body.template operator()<2>();
}

// Calls body(axis, offset, K u) for the rows of a tile, plane by plane: only three of them are ever held. Before each
// plane ahead(x) is called.
template <class Velocity, class Weight, class Ahead, class Body> [[gnu::always_inline]] inline void
for_each_force(const Velocity& u, int tile, const Weight& weight, const Ahead& ahead, const Body& body)
{
    VelocityPlane velocity[2];
    StressPlane stress[2];
    const TilesAround tiles(u, tile);
    velocity[1].gather(tiles, -1);
    for (int x = 0; x <= kTileSize; ++x) {
        const int now = x & 1, before = 1 - now;
        velocity[now].gather(tiles, x);
        stress[now].compute(velocity[before], velocity[now], weight, x);
        if (x == 0) continue;
        ahead(x - 1);
        for (int y = 0; y < kTileSize; ++y) {
            const int o = offset_in_tile(x - 1, y, 0);
            body(0, o, stress[before].force_x(stress[now], y));
            body(1, o, stress[before].force_y(stress[now], y));
            body(2, o, stress[before].force_z(stress[now], y));
        }
    }
}

// Calls body(axis, offset, K x, mass, inverse) for the rows of a tile.
template <class Velocity, class Ahead, class Body> inline void
multiply_tile(const ViscousMatrix& m, bool uniform, const Velocity& x, int tile, const Ahead& ahead, const Body& body)
{
    if (uniform) {
        const Row one = splat(1), inverse = splat(m.inverse[0].tile(tile)[0]);
        for_each_force(x, tile, UniformWeight{m.cell.tile(tile)[0], m.edge[0].tile(tile)[0]}, ahead,
                       [&](int a, int o, Row force) { body(a, o, force, one, inverse); });
        return;
    }
    const float* mass[3] = {m.mass[0].tile(tile), m.mass[1].tile(tile), m.mass[2].tile(tile)};
    const float* inverse[3] = {m.inverse[0].tile(tile), m.inverse[1].tile(tile), m.inverse[2].tile(tile)};
    for_each_force(x, tile, TileWeight(m, tile), ahead, [&](int a, int o, Row force) {
        body(a, o, force, load_row(mass[a] + o), load_row(inverse[a] + o));
    });
}

// Has a plane of a tile brought near the processor.
template <class T> inline void prefetch_plane(const T* tile, int x)
{
    constexpr int line = 64 / sizeof(T);
    for (int c = 0; c < offset_in_tile(1, 0, 0); c += line)
        __builtin_prefetch(tile + offset_in_tile(x, 0, 0) + c, 0, 2);
}

template <class Velocity> void clear_tile(Velocity& field, int tile)
{
    for (auto& u : field.u) std::memset(u.tile(tile), 0, kTileCells * sizeof *u.tile(tile));
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
    size_t sum = r_.bytes() + p_.bytes() + q_.bytes();
    for (const auto& l : levels_)
        sum += l->own_topology.bytes() + l->own_matrix.bytes() + l->r.bytes() + l->z.bytes() + l->scratch.bytes();
    return sum;
}

// Calls body(index in level.tiles, tile, ahead) for all of these. The body is to call ahead(x) for each plane x, which
// has that plane of the next tile fetched, of `fields` and the matrix: there are too many arrays for the processor to
// foresee, and too much in a tile to ask for it at once.
template <class Body, class... Fields>
void ViscousSolver::for_each_tile_ahead(const Level& level, const Body& body, const Fields&... fields)
{
    const ViscousMatrix& m = *level.matrix;
    parallel_for(
        level.tiles.size(),
        [&](size_t k) {
            const size_t next = std::min(k + 1, level.tiles.size() - 1);
            const int next_tile = level.tiles[next];
            const bool weights = !level.uniform[next];
            body(k, level.tiles[k], [&](int x) {
                const auto fetch = [&](const auto& field) { prefetch_plane(field.tile(next_tile), x); };
                for (int a = 0; a < 3; ++a) (fetch(fields.u[a]), ...);
                if (!weights) return;
                fetch(m.cell);
                for (int a = 0; a < 3; ++a) fetch(m.mass[a]), fetch(m.inverse[a]), fetch(m.edge[a]);
            });
        },
        kTilesPerTask);
}

// Calls body(index in level.tiles, axis, offset, K x, mass, inverse) for all rows that may take part.
template <class X, class Body, class... Fields>
void ViscousSolver::for_each_product(const Level& level, const X& x, const Body& body, const Fields&... others)
{
    for_each_tile_ahead(
        level,
        [&](size_t k, int tile, const auto& ahead) {
            multiply_tile(*level.matrix, level.uniform[k], x, tile, ahead,
                          [&](int a, int o, Row kx, Row mass, Row inverse) { body(k, a, o, kx, mass, inverse); });
        },
        x, others...);
}

// Inverts the sums of rows and finds out which tiles take part.
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
                    const Row closed = load_row(inverse + o), sum = load_row(mass + o) + sum_of_magnitudes(w);
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
    const auto clear = [&](auto& f) {
        for (auto& u : f.u) u.reset_uninitialized(topology, {});
        for_each_tile(topology, [&](int t) {
            if (!kind[static_cast<size_t>(t)]) clear_tile(f, t);
        });
    };
    clear(level.r), clear(level.z), clear(level.scratch);
    if (level.matrix != &level.own_matrix) clear(r_), clear(p_), clear(q_);
}

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
        // The rows of the finer level at (x, y): the parts of the two tiles that make up one row here.
        struct Rows {
            Row low, high;
            Rows operator+(const Rows& other) const { return {low + other.low, high + other.high}; }
            // Of each two numbers along z the first one, or their sum.
            Row first() const { return __builtin_shufflevector(low, high, 0, 2, 4, 6, 8, 10, 12, 14); }
            Row both() const { return first() + __builtin_shufflevector(low, high, 1, 3, 5, 7, 9, 11, 13, 15); }
        };
        const auto rows = [&](const Field<float>& field, int x, int y) {
            const auto half = [&](int dz) {
                const int t = finer[static_cast<size_t>(neighbour_slot(x >> 3, y >> 3, dz))];
                return load_row(field.tile(t) + offset_in_tile(x & 7, y & 7, 0));
            };
            return Rows{half(0), half(1)};
        };
        const auto closed_rows = [&](const Field<float>& inverse, int x, int y) {
            const Rows r = rows(inverse, x, y);
            const Row zero = splat(0), one = splat(1);
            return Rows{r.low < zero ? one : zero, r.high < zero ? one : zero};
        };
        for_each_row([&](int i, int j, int o) {
            const int x = 2 * i, y = 2 * j;
            const auto four = [&](const Field<float>& field) {
                return (rows(field, x, y) + rows(field, x, y + 1)) +
                       (rows(field, x + 1, y) + rows(field, x + 1, y + 1));
            };
            store_row(m.cell.tile(tile) + o, (0.25f / 8) * four(f.cell).both());
            store_row(m.edge[0].tile(tile) + o,
                      (0.25f / 2) * (rows(f.edge[0], x, y) + rows(f.edge[0], x + 1, y)).first());
            store_row(m.edge[1].tile(tile) + o,
                      (0.25f / 2) * (rows(f.edge[1], x, y) + rows(f.edge[1], x, y + 1)).first());
            store_row(m.edge[2].tile(tile) + o, (0.25f / 2) * rows(f.edge[2], x, y).both());
            // The sum over the four finer faces that make up one.
            const auto sum_over_face = [&](int a, const auto& at) {
                const Rows here = at(x, y);
                return a == 0   ? (here + at(x, y + 1)).both()
                       : a == 1 ? (here + at(x + 1, y)).both()
                                : ((here + at(x, y + 1)) + (at(x + 1, y) + at(x + 1, y + 1))).first();
            };
            for (int a = 0; a < 3; ++a) {
                const auto mass = [&](int p, int q) { return rows(f.mass[a], p, q); };
                const auto closed = [&](int p, int q) { return closed_rows(f.inverse[a], p, q); };
                store_row(m.mass[a].tile(tile) + o, 0.25f * sum_over_face(a, mass));
                store_row(m.inverse[a].tile(tile) + o,
                          sum_over_face(a, closed) >= splat(2) ? splat(kClosedFace) : splat(0));
            }
        });
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
    for (used_levels_ = 1; stiffness > kStiffnessForOneLevel && levels_[used_levels_ - 1]->tiles.size() > kFewTiles;
         stiffness *= 0.25f, ++used_levels_) {
        Level &fine = level(used_levels_ - 1), &coarse = level(used_levels_);
        fine.steps = chebyshev(kSmootherDegree, kLowForSmoothing);
        coarsen(fine, coarse);
        analyse(coarse);
    }
    // The lowest eigenvalue is that of a motion without friction, whose mass is 1 beside a sum of 1 + 24 stiffness.
    // Enough steps to take off most of it.
    const double low = 1.0 / (1.0 + 24.0 * stiffness);
    const int degree = std::clamp(static_cast<int>(std::lround(std::sqrt(1 / low))), 2, kMostSteps);
    levels_[used_levels_ - 1]->steps = chebyshev(degree, low);
}

// The transpose of prolong(), over the eight faces that stand for a coarse one.
void ViscousSolver::restrict_residual(const Level& fine, Level& coarse)
{
    parallel_for(coarse.tiles.size(), [&](size_t k) {
        const int tile = coarse.tiles[k];
        const auto& finer = coarse.finer[static_cast<size_t>(tile)];
        for_each_axis([&]<int A>() {
            const Field<ShortFloat>& residual = fine.scratch.u[A];
            // The row of the finer level that begins at (x, y, 8 half), and the value in front of it.
            const auto place = [&](int x, int y, int dz) {
                const int t = finer[static_cast<size_t>(neighbour_slot(x >> 3, y >> 3, dz))];
                return residual.tile(t) + offset_in_tile(x & 7, y & 7, 0);
            };
            ShortFloat* out = coarse.r.u[A].tile(tile);
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
                        const auto last = [&](int dx, int dy) { return to_float(place(x + dx, y + dy, half - 1)[7]); };
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
        VelocityPlane planes[10];
        const TilesAround tiles(coarse.z, tile);
        for (int x = 0; x <= kTileSize; ++x) planes[x].gather(tiles, x);
        for (int child = 0; child < 8; ++child) {
            const int ox = child >> 2, oy = child >> 1 & 1, oz = child & 1;
            const int to = finer[static_cast<size_t>(neighbour_slot(ox, oy, oz))];
            if (to == none) continue;
            for_each_axis([&]<int A>() {
                ShortFloat* out = fine.z.u[A].tile(to);
                const float* inverse = fine.matrix->inverse[A].tile(to);
                for_each_row([&](int x, int y, int o) {
                    const auto from = [&](int dx, int dy, int dz) {
                        return load_quad(planes[4 * ox + x / 2 + dx].u[A] + VelocityPlane::index(4 * oy + y / 2 + dy) +
                                         4 * oz + dz);
                    };
                    const Quad here = from(0, 0, 0), between = 0.5f * (here + from(A == 0, A == 1, A == 2));
                    const bool odd = A == 0 ? x & 1 : A == 1 ? y & 1 : false;
                    const Quad even_z = odd ? between : here, odd_z = odd || A == 2 ? between : here;
                    const Row add = __builtin_shufflevector(even_z, odd_z, 0, 4, 1, 5, 2, 6, 3, 7);
                    store_row(out + o, load_row(out + o) + (load_row(inverse + o) > splat(0) ? add : splat(0)));
                });
            });
        }
    });
}

// Steps of the Chebyshev iteration for eigenvalues of D^-1 (M + K) from `low` to 1, the largest there can be.
std::vector<ViscousSolver::Step> ViscousSolver::chebyshev(int degree, double low)
{
    const double middle = (1 + low) / 2, half = (1 - low) / 2;
    std::vector<Step> steps = {{static_cast<float>(1 / middle), 0}};
    double rho = half / middle;
    while (static_cast<int>(steps.size()) < degree) {
        const double next = 1 / (2 * middle / half - rho);
        steps.push_back({static_cast<float>(2 * next / half), static_cast<float>(next * rho)});
        rho = next;
    }
    return steps;
}

// One step from z to z, with what z was before in `scratch`, or zero. Leaves r . z in `partial` if it is the last one.
void ViscousSolver::smooth(Level& level, const Step& step, bool from_zero, bool last)
{
    const auto run = [&]<bool Momentum>() {
        const auto smooth_tile = [&](size_t k, int tile, const auto& ahead) {
            const ShortFloat *from[3], *right[3];
            ShortFloat* to[3];
            for (int a = 0; a < 3; ++a)
                from[a] = level.z.u[a].tile(tile), right[a] = level.r.u[a].tile(tile),
                to[a] = level.scratch.u[a].tile(tile);
            const float grow = from_zero ? 1 + step.momentum : 1;
            RowSum product;
            multiply_tile(*level.matrix, level.uniform[k], level.z, tile, ahead,
                          [&](int a, int o, Row kx, Row mass, Row inverse) {
                              const Row x = load_row(from[a] + o), r = load_row(right[a] + o);
                              const Row change = step.factor * max(inverse, splat(0)) * (r - (mass * x + kx));
                              Row next = grow * x + change;
                              if (Momentum) next += step.momentum * (x - load_row(to[a] + o));
                              store_row(to[a] + o, next);
                              if (last) product.add_product(r, next);
                          });
            level.partial[k] = product.total();
        };
        for_each_tile_ahead(level, smooth_tile, level.z, level.r, level.scratch);
    };
    step.momentum > 0 && !from_zero ? run.operator()<true>() : run.operator()<false>();
    for (int a = 0; a < 3; ++a) std::swap(level.z.u[a], level.scratch.u[a]);
}

// z = an approximate solution for r.
void ViscousSolver::cycle(size_t number)
{
    Level& level = *levels_[number];
    const auto& steps = level.steps;
    const bool coarsest = number + 1 == used_levels_;
    parallel_for( // the first step, from zero; r is zero at closed faces
        level.tiles.size(),
        [&](size_t k) {
            const int tile = level.tiles[k];
            for (int a = 0; a < 3; ++a) {
                const ShortFloat* r = level.r.u[a].tile(tile);
                const float* inverse = level.matrix->inverse[a].tile(tile);
                ShortFloat* z = level.z.u[a].tile(tile);
                for (int o = 0; o < kTileCells; o += kTileSize)
                    store_row(z + o, steps[0].factor * load_row(inverse + o) * load_row(r + o));
            }
        },
        kTilesPerTask);
    for (size_t i = 1; i < steps.size(); ++i) smooth(level, steps[i], i == 1, coarsest && i + 1 == steps.size());
    if (coarsest) return;
    const auto keep_residual = [&](size_t k, int a, int o, Row kx, Row mass, Row inverse) {
        const int tile = level.tiles[k];
        const Row residual =
            load_row(level.r.u[a].tile(tile) + o) - (mass * load_row(level.z.u[a].tile(tile) + o) + kx);
        store_row(level.scratch.u[a].tile(tile) + o, inverse > splat(0) ? residual : splat(0));
    };
    for_each_product(level, level.z, keep_residual, level.r);
    restrict_residual(level, *levels_[number + 1]);
    cycle(number + 1);
    prolong(*levels_[number + 1], level);
    for (size_t i = 0; i < steps.size(); ++i) smooth(level, steps[i], false, i + 1 == steps.size());
}

ViscousResult ViscousSolver::solve(MacField& velocity, double tolerance, int max_iterations, const MacField* load)
{
    Level& fine = *levels_[0];
    ViscousResult result;
    result.levels = static_cast<int>(used_levels_);

    // r = load + M u0 - (M + K) u0 = load - K u0; closed faces have their part in it, and stay as they are.
    for_each_product(fine, velocity, [&](size_t k, int a, int o, Row kx, Row, Row inverse) {
        const int tile = fine.tiles[k];
        const Row pull = load ? load_row(load->u[a].tile(tile) + o) - kx : -kx;
        const Row r = inverse > splat(0) ? pull : splat(0);
        store_row(r_.u[a].tile(tile) + o, r), store_row(fine.r.u[a].tile(tile) + o, r);
    });

    // Calls body(axis, tile, offset) for all rows that may take part.
    const auto for_each_row_of_level = [&](const auto& body) {
        parallel_for(
            fine.tiles.size(),
            [&](size_t k) {
                for (int a = 0; a < 3; ++a)
                    for (int o = 0; o < kTileCells; o += kTileSize) body(a, fine.tiles[k], o);
            },
            kTilesPerTask);
    };
    const auto turn = [&](float beta) { // p = z + beta p
        for_each_row_of_level([&](int a, int tile, int o) {
            const Row z = load_row(fine.z.u[a].tile(tile) + o);
            ShortFloat* p = p_.u[a].tile(tile) + o;
            store_row(p, beta == 0 ? z : z + beta * load_row(p));
        });
    };
    const auto multiply_and_dot = [&] { // q = (M + K) p; returns p . q
        const auto multiply_tile_and_dot = [&](size_t k, int tile, const auto& ahead) {
            RowSum pq;
            multiply_tile(*fine.matrix, fine.uniform[k], p_, tile, ahead,
                          [&](int a, int o, Row kp, Row mass, Row inverse) {
                              const Row p = load_row(p_.u[a].tile(tile) + o), q = mass * p + kp;
                              store_row(q_.u[a].tile(tile) + o, inverse > splat(0) ? q : splat(0));
                              pq.add_product(p, q);
                          });
            fine.partial[k] = pq.total();
        };
        for_each_tile_ahead(fine, multiply_tile_and_dot, p_);
        return fine.total();
    };
    const auto advance = [&](float alpha) { // u += alpha p, r -= alpha q
        for_each_row_of_level([&](int a, int tile, int o) {
            float *u = velocity.u[a].tile(tile) + o, *r = r_.u[a].tile(tile) + o;
            const Row left = load_row(r) - alpha * load_row(q_.u[a].tile(tile) + o);
            store_row(u, load_row(u) + alpha * load_row(p_.u[a].tile(tile) + o));
            store_row(r, left), store_row(fine.r.u[a].tile(tile) + o, left);
        });
    };

    // What each iteration takes off the squared energy norm of the error (Hestenes and Stiefel 1952). The last one took
    // nearly all that was left before it (Strakos and Tichy 2002), and what is left now is to that as that is to what
    // the one before it took.
    double rz = 0, taken_before = 0, all_taken = 0;
    while (result.iterations < max_iterations) {
        cycle(0);
        const double next = fine.total(); // r . z
        if (!(next > 0)) return result;
        turn(static_cast<float>(rz > 0 ? next / rz : 0));
        rz = next;
        const double pq = multiply_and_dot();
        ++result.iterations;
        if (!(pq > 0)) break; // nothing left that float can resolve
        advance(static_cast<float>(rz / pq));
        const double taken = rz * rz / pq;
        all_taken += taken;
        if (result.iterations > 1) {
            result.relative_error = std::sqrt(taken * std::min(1.0, taken / taken_before) / all_taken);
            if (result.relative_error <= tolerance) return result;
        }
        taken_before = taken;
    }
    result.converged = false;
    return result;
}

void ViscousSolver::multiply(const MacField& x, MacField& out)
{
    Level& fine = *levels_[0];
    MacField part;
    part.reset(fine.topology(), 0), out.reset(fine.topology(), 0);
    for (const int tile : fine.tiles)
        for (int a = 0; a < 3; ++a)
            for (int c = 0; c < kTileCells; ++c)
                if (fine.matrix->inverse[a].tile(tile)[c] > 0) part.u[a].tile(tile)[c] = x.u[a].tile(tile)[c];
    for_each_product(fine, part, [&](size_t k, int a, int o, Row kx, Row mass, Row inverse) {
        const Row y = mass * load_row(part.u[a].tile(fine.tiles[k]) + o) + kx;
        store_row(out.u[a].tile(fine.tiles[k]) + o, inverse > splat(0) ? y : splat(0));
    });
}

} // namespace spindrift
