#include "spindrift/solvers/viscous_tile.h"

namespace spindrift {

using namespace viscous;

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

// Calls body(index in level.tiles, tile, ahead) for all of level.tiles. The body calls ahead(x) for each plane x, which
// prefetches that plane of the next tile, of `fields` and the matrix: there are too many streams for the hardware
// prefetcher, and a tile is too large to prefetch at once.
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
        kViscousTilesPerTask);
}

// Calls body(index in level.tiles, axis, offset, K x, mass, inverse) for all rows of active tiles.
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

// One smoothing step from z to z, with the previous z, or zero, in `scratch`. Leaves r . z in `partial` if it is the
// last one.
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

// z = approximate solution for r.
void ViscousSolver::cycle(size_t number)
{
    Level& level = *levels_[number];
    const auto& steps = level.steps;
    const bool coarsest = number + 1 == used_levels_;
    parallel_for( // first step, from zero; r is zero at closed faces
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
        kViscousTilesPerTask);
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

    // r = load + M u0 - (M + K) u0 = load - K u0. Closed faces contribute to it and keep their velocity.
    for_each_product(fine, velocity, [&](size_t k, int a, int o, Row kx, Row, Row inverse) {
        const int tile = fine.tiles[k];
        const Row pull = load ? load_row(load->u[a].tile(tile) + o) - kx : -kx;
        const Row r = inverse > splat(0) ? pull : splat(0);
        store_row(r_.u[a].tile(tile) + o, r), store_row(fine.r.u[a].tile(tile) + o, r);
    });

    // Calls body(axis, tile, offset) for all rows of active tiles.
    const auto for_each_row_of_level = [&](const auto& body) {
        parallel_for(
            fine.tiles.size(),
            [&](size_t k) {
                for (int a = 0; a < 3; ++a)
                    for (int o = 0; o < kTileCells; o += kTileSize) body(a, fine.tiles[k], o);
            },
            kViscousTilesPerTask);
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

    // rz^2 / pq is the decrease of the squared energy norm of the error in each iteration [Hestenes 1952]. The last
    // decrease is nearly the whole error before it [Strakos 2002]; the remaining error is extrapolated from the ratio
    // of the last two decreases.
    double rz = 0, taken_before = 0, all_taken = 0;
    while (result.iterations < max_iterations) {
        cycle(0);
        const double next = fine.total(); // r . z
        if (!(next > 0)) return result;
        turn(static_cast<float>(rz > 0 ? next / rz : 0));
        rz = next;
        const double pq = multiply_and_dot();
        ++result.iterations;
        if (!(pq > 0)) break; // below float resolution
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
