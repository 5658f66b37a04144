// Multigrid levels of the viscous solver: active tiles, coarse operators, restriction and prolongation.
#include "spindrift/solvers/viscous_tile.h"

namespace spindrift {

using namespace viscous;

namespace {

// Eigenvalues of D^-1 (M + K) that the smoother must damp: what the next coarser level cannot represent begins at 2/24
// for divergence-free motions, and compression alternating from cell to cell along all axes has 24/24.
constexpr double kLowForSmoothing = 0.08;
constexpr int kSmootherDegree = 3;
// Up to this stiffness one level suffices: some smoothing steps solve it.
constexpr float kStiffnessForOneLevel = 1;
// Coarsening also stops here; a small but stiff level takes more smoothing steps.
constexpr size_t kFewTiles = 8;
constexpr int kMostSteps = 64;

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

// Inverts the row sums and finds the active tiles.
void ViscousSolver::analyse(Level& level)
{
    ViscousMatrix& m = *level.matrix;
    const Topology& topology = m.topology();
    const size_t count = topology.tile_count();
    std::vector<uint8_t> kind(count); // 0: inactive, 1: general, 2: uniform
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
        kViscousTilesPerTask);
    level.tiles.clear(), level.uniform.clear();
    for (size_t t = 0; t < count; ++t)
        if (kind[t]) level.tiles.push_back(static_cast<int>(t)), level.uniform.push_back(kind[t] == 2);
    level.partial.assign(level.tiles.size(), 0);
    // Active tiles are written before they are read; inactive ones are read by their neighbours.
    const auto clear = [&](auto& f) {
        for (auto& u : f.u) u.reset_uninitialized(topology, {});
        for_each_tile(topology, [&](int t) {
            if (!kind[t]) clear_tile(f, t);
        });
    };
    clear(level.r), clear(level.z), clear(level.scratch);
    if (level.matrix != &level.own_matrix) clear(r_), clear(p_), clear(q_);
}

// The coarse operator in the volume units of the fine one: doubling the cell size halves the differences, which
// quarters the weights. Weights are averages over the fine cells, edges and faces that form the coarse one.
void ViscousSolver::coarsen(const Level& fine, Level& coarse)
{
    const Topology& from = fine.topology();
    std::vector<uint64_t> codes;
    // Include tiles without active faces: edges on an upper wall belong to the tile behind it.
    for (int t = 0; t < from.tile_count(); ++t) {
        const Vec3i c = from.tile(t);
        codes.push_back(morton_of_tile({c.x() >> 1, c.y() >> 1, c.z() >> 1}));
    }
    coarse.own_topology = Topology(std::move(codes));
    coarse.matrix = &coarse.own_matrix;
    const Topology& topology = coarse.own_topology;
    coarse.finer.resize(topology.tile_count());
    ViscousMatrix& m = coarse.own_matrix;
    const ViscousMatrix& f = *fine.matrix;
    m.reset_uninitialized(topology);
    for_each_tile(topology, [&](int tile) {
        auto& finer = coarse.finer[tile];
        for (int s = 0; s < 27; ++s)
            finer[s] = from.find(topology.tile(tile) * 2 + Vec3i(s / 9 - 1, s / 3 % 3 - 1, s % 3 - 1));
        // The rows of the finer level at (x, y): parts of the two tiles that form one coarse row.
        struct Rows {
            Row low, high;
            Rows operator+(const Rows& other) const { return {low + other.low, high + other.high}; }
            // For each pair along z, its first number or its sum.
            Row first() const { return __builtin_shufflevector(low, high, 0, 2, 4, 6, 8, 10, 12, 14); }
            Row both() const { return first() + __builtin_shufflevector(low, high, 1, 3, 5, 7, 9, 11, 13, 15); }
        };
        const auto rows = [&](const Field<float>& field, int x, int y) {
            const auto half = [&](int dz) {
                const int t = finer[neighbour_slot(x >> 3, y >> 3, dz)];
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
            // Sum over the four fine faces that form a coarse one.
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
    // The lowest eigenvalue belongs to motion without dissipation, with mass 1 and a row sum of 1 + 24 stiffness. Take
    // enough steps to remove most of it.
    const double low = 1.0 / (1.0 + 24.0 * stiffness);
    const int degree = std::clamp(static_cast<int>(std::lround(std::sqrt(1 / low))), 2, kMostSteps);
    levels_[used_levels_ - 1]->steps = chebyshev(degree, low);
}

// Transpose of prolong(), over the eight fine faces that contribute to a coarse one.
void ViscousSolver::restrict_residual(const Level& fine, Level& coarse)
{
    parallel_for(coarse.tiles.size(), [&](size_t k) {
        const int tile = coarse.tiles[k];
        const auto& finer = coarse.finer[tile];
        for_each_axis([&]<int A>() {
            const Field<ShortFloat>& residual = fine.scratch.u[A];
            // The row of the finer level that begins at (x, y, 8 half), and the value before it.
            const auto place = [&](int x, int y, int dz) {
                const int t = finer[neighbour_slot(x >> 3, y >> 3, dz)];
                return residual.tile(t) + offset_in_tile(x & 7, y & 7, 0);
            };
            // The sums for half a row of coarse faces, from fine faces at (x, y, 8 half) and after.
            const auto restrict_half = [&](int x, int y, int half, float* to) {
                const auto row = [&](int dx, int dy) { return load_row(place(x + dx, y + dy, half)); };
                Row sum;
                if constexpr (A == 0)
                    sum = (row(0, 0) + row(0, 1)) + 0.5f * ((row(-1, 0) + row(-1, 1)) + (row(1, 0) + row(1, 1)));
                else if constexpr (A == 1)
                    sum = (row(0, 0) + row(1, 0)) + 0.5f * ((row(0, -1) + row(1, -1)) + (row(0, 1) + row(1, 1)));
                else
                    sum = (row(0, 0) + row(0, 1)) + (row(1, 0) + row(1, 1));
                [[maybe_unused]] const auto last = [&](int dx, int dy) {
                    return to_float(place(x + dx, y + dy, half - 1)[7]);
                };
                if constexpr (A == 2) {
                    const float before = (last(0, 0) + last(0, 1)) + (last(1, 0) + last(1, 1));
                    const Row low = shifted_from_below(sum, before);
                    for (int n = 0; n < 4; ++n) to[n] = sum[2 * n] + 0.5f * (low[2 * n] + sum[2 * n + 1]);
                } else
                    for (int n = 0; n < 4; ++n) to[n] = sum[2 * n] + sum[2 * n + 1];
            };
            ShortFloat* out = coarse.r.u[A].tile(tile);
            const float* inverse = coarse.matrix->inverse[A].tile(tile);
            for_each_row([&](int i, int j, int o) {
                alignas(32) float both[kTileSize];
                for (int half = 0; half < 2; ++half) restrict_half(2 * i, 2 * j, half, both + 4 * half);
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
        const auto& finer = coarse.finer[tile];
        VelocityPlane planes[10];
        const TilesAround tiles(coarse.z, tile);
        for (int x = 0; x <= kTileSize; ++x) planes[x].gather(tiles, x);
        for (int child = 0; child < 8; ++child) {
            const int ox = child >> 2, oy = child >> 1 & 1, oz = child & 1;
            const int to = finer[neighbour_slot(ox, oy, oz)];
            if (to == none) continue;
            for_each_axis([&]<int A>() {
                ShortFloat* out = fine.z.u[A].tile(to);
                const float* inverse = fine.matrix->inverse[A].tile(to);
                const auto from = [&](int x, int y, int dz) {
                    return load_quad(planes[4 * ox + x].u[A] + VelocityPlane::index(4 * oy + y) + 4 * oz + dz);
                };
                for_each_row([&](int x, int y, int o) {
                    const Quad here = from(x / 2, y / 2, 0);
                    const Quad between = 0.5f * (here + from(x / 2 + (A == 0), y / 2 + (A == 1), A == 2));
                    const bool odd = A == 0 ? x & 1 : A == 1 ? y & 1 : false;
                    const Quad even_z = odd ? between : here, odd_z = odd || A == 2 ? between : here;
                    const Row add = __builtin_shufflevector(even_z, odd_z, 0, 4, 1, 5, 2, 6, 3, 7);
                    store_row(out + o, load_row(out + o) + (load_row(inverse + o) > splat(0) ? add : splat(0)));
                });
            });
        }
    });
}

// Chebyshev steps for eigenvalues of D^-1 (M + K) from `low` to 1, the upper bound.
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

} // namespace spindrift
