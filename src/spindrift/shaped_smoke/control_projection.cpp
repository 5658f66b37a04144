#include "spindrift/shaped_smoke/control_projection.h"

namespace spindrift {

namespace {

// 1 where all six faces of a cell are stored: an upper face belongs to the next cell.
void find_whole_cells(const Topology& topology, Field<float>& inside)
{
    inside.reset(topology, 1, 0);
    for_each_tile(topology, [&](int tile) {
        for (int a = 0; a < 3; ++a) {
            const Vec3i up = Vec3i::Unit(a);
            if (topology.neighbour(tile, up.x(), up.y(), up.z()) != topology.tile_count()) continue;
            for (int c = 0; c < kTileCells; ++c)
                if (cell_in_tile(c)[a] == kTileSize - 1) inside.tile(tile)[c] = 0;
        }
    });
}

// Outflow of the cells of a row, in units of velocity.
struct RowOutflow {
    TileView u, v, w;
    RowOutflow(const MacField& velocity, int tile)
        : u(velocity.u[0], tile), v(velocity.u[1], tile), w(velocity.u[2], tile)
    {
    }
    Row at(int x, int y) const
    {
        return u.above_x(x, y) - u.at(x, y) + v.above_y(x, y) - v.at(x, y) + w.above_z(x, y) - w.at(x, y);
    }
};

} // namespace

void ControlProjection::set_up_matrix(const Topology& topology)
{
    find_whole_cells(topology, inside_);
    matrix_.reset(topology);
    for_each_tile(topology, [&](int tile) {
        const TileView inside(inside_, tile);
        for_each_row([&](int x, int y, int o) {
            const Row here = inside.at(x, y);
            const Row below[3] = {inside.below_x(x, y), inside.below_y(x, y), inside.below_z(x, y)};
            for (int a = 0; a < 3; ++a) store_row(matrix_.face[a].tile(tile) + o, here * below[a]);
            store_row(matrix_.diagonal.tile(tile) + o, 6 * here); // a missing neighbour has zero pressure
        });
    });
    solver_.set_matrix(matrix_);
}

PoissonResult ControlProjection::project(MacField& velocity, double tolerance)
{
    const Topology& topology = velocity.u[0].topology();
    set_up_matrix(topology);
    b_.reset_uninitialized(topology, 0);
    for_each_tile(topology, [&](int tile) {
        const RowOutflow out(velocity, tile);
        for_each_row([&](int x, int y, int o) {
            store_row(b_.tile(tile) + o, -load_row(inside_.tile(tile) + o) * out.at(x, y));
        });
    });
    const PoissonResult result = solver_.solve(b_, s_, tolerance);
    for_each_tile(topology, [&](int tile) {
        const double* s = s_.tile(tile);
        for (int a = 0; a < 3; ++a)
            for (int c = 0; c < kTileCells; ++c) {
                const Topology::Cell below = topology.next_cell(tile, c, a, -1);
                const bool takes_part = inside_.tile(tile)[c] > 0 || inside_.tile(below.tile)[below.offset] > 0;
                if (takes_part)
                    velocity.u[a].tile(tile)[c] -= static_cast<float>(s[c] - s_.tile(below.tile)[below.offset]);
            }
    });
    return result;
}

double rms_divergence(const MacField& velocity, float voxel)
{
    const Topology& topology = velocity.u[0].topology();
    Field<float> inside;
    find_whole_cells(topology, inside);
    struct Sums {
        double squares = 0, cells = 0;
    };
    const Sums sums = parallel_reduce(
        topology.tile_count(), Sums{},
        [&](size_t t) {
            const int tile = static_cast<int>(t);
            const RowOutflow out(velocity, tile);
            RowSum squares, cells;
            for_each_row([&](int x, int y, int o) {
                const Row counts = load_row(inside.tile(tile) + o), d = counts * out.at(x, y);
                squares.add_product(d, d), cells.add_product(counts, counts);
            });
            return Sums{squares.total(), cells.total()};
        },
        [](const Sums& a, const Sums& b) {
            return Sums{a.squares + b.squares, a.cells + b.cells};
        });
    return sums.cells > 0 ? std::sqrt(sums.squares / sums.cells) / static_cast<double>(voxel) : 0;
}

} // namespace spindrift
