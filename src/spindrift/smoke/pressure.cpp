#include "spindrift/smoke/pressure.h"

namespace spindrift {

void GasPressure::prepare(const Topology& topology, const Solids& solids, const SolidCells& cells, const Box3f& box,
                          float voxel, bool changed)
{
    topology_ = &topology, solids_ = &solids, cells_ = &cells, voxel_ = voxel;
    if (solids.moving()) solid_velocity_at_faces(topology, solids, cells, voxel, solid_velocity_);
    if (!changed) return;
    find_inside(box, voxel);
    set_up_matrix();
    solver_.set_matrix(matrix_);
    active_cells_ = static_cast<size_t>(parallel_sum(topology.tile_count(), [&](size_t t) {
        const float* d = matrix_.diagonal.tile(static_cast<int>(t));
        return static_cast<double>(std::count_if(d, d + kTileCells, [](float x) { return x > 0; }));
    }));
}

void GasPressure::find_inside(const Box3f& box, float voxel)
{
    inside_.reset(*topology_, 1, 0);
    for_each_tile(*topology_, [&](int tile) {
        const Vec3i first = topology_->first_cell(tile);
        for (int a = 0; a < 3; ++a) {
            // Cells from `low` up to `high` of the tile are inside.
            int low = 0, high = kTileSize;
            while (low < kTileSize && static_cast<float>(first[a] + low) + 0.5f < box.min[a]) ++low;
            while (high > 0 && static_cast<float>(first[a] + high) - 0.5f > box.max[a]) --high;
            const Vec3i up = Vec3i::Unit(a);
            const float end = (static_cast<float>(first[a] + kTileSize) + 1e-3f) * voxel;
            const bool wall = solids_->free_share(a, end, end) == 0;
            if (topology_->neighbour(tile, up.x(), up.y(), up.z()) == topology_->tile_count() && !wall)
                high = std::min(high, kTileSize - 1);
            if (low == 0 && high == kTileSize) continue;
            for (int c = 0; c < kTileCells; ++c)
                if (const int at = cell_in_tile(c)[a]; at < low || at >= high) inside_.tile(tile)[c] = 0;
        }
    });
}

void GasPressure::set_up_matrix()
{
    matrix_.reset(*topology_);
    for_each_tile(*topology_, [&](int tile) {
        const TileView inside(inside_, tile);
        const OpenView open(*cells_, *topology_, tile);
        for_each_row([&](int x, int y, int o) {
            const Row here = inside.at(x, y);
            const Row low[3] = {open.x.at(x, y), open.y.at(x, y), open.z.at(x, y)};
            const Row high[3] = {open.x.above_x(x, y), open.y.above_y(x, y), open.z.above_z(x, y)};
            const Row below[3] = {inside.below_x(x, y), inside.below_y(x, y), inside.below_z(x, y)};
            const Row above[3] = {inside.above_x(x, y), inside.above_y(x, y), inside.above_z(x, y)};
            Row faces = splat(0), outside = splat(0);
            for (int a = 0; a < 3; ++a) {
                const Row w_low = low[a] * here * below[a], w_high = high[a] * here * above[a];
                store_row(matrix_.face[a].tile(tile) + o, w_low);
                faces += w_low + w_high; // in the order in which the solver sums them
                outside += low[a] * here * (1 - below[a]) + high[a] * here * (1 - above[a]);
            }
            store_row(matrix_.diagonal.tile(tile) + o, faces + outside);
        });
    });
}

PoissonResult GasPressure::make_divergence_free(MacField& velocity, double tolerance)
{
    b_.reset_uninitialized(*topology_, 0);
    for_each_tile(*topology_, [&](int tile) {
        const OpenView open(*cells_, *topology_, tile);
        const bool moved = solids_->moving() && cells_->tile(tile);
        const Outflow out(open, velocity, moved ? &solid_velocity_ : nullptr, tile);
        for_each_row([&](int x, int y, int o) {
            const Row takes_part = load_row(matrix_.diagonal.tile(tile) + o);
            store_row(b_.tile(tile) + o, takes_part > splat(0) ? -out.at(x, y) : splat(0));
        });
    });
    const PoissonResult result = solver_.solve(b_, s_, tolerance);
    subtract_gradient(velocity);
    return result;
}

void GasPressure::extend(MacField& velocity)
{
    extrapolate(velocity, known_, 3, cells_->sight());
    slide_on_solids(velocity, *solids_, *cells_, voxel_);
}

// Only on open faces of cells in the system; these are the known faces.
void GasPressure::subtract_gradient(MacField& velocity)
{
    for (auto& k : known_.u) k.reset_uninitialized(*topology_, 0);
    for_each_tile(*topology_, [&](int tile) {
        const TileView inside(inside_, tile);
        const double* s = s_.tile(tile);
        for (int a = 0; a < 3; ++a) {
            const Vec3i down = -Vec3i::Unit(a);
            const double* s_below = s_.tile(topology_->neighbour(tile, down.x(), down.y(), down.z()));
            const float* open = cells_->open(tile, a);
            float *u = velocity.u[a].tile(tile), *known = known_.u[a].tile(tile);
            const int stride = a == 0 ? 64 : a == 1 ? 8 : 1, wrap = 7 * stride;
            for_each_row([&](int x, int y, int o) {
                const int at = a == 0 ? x : y; // position of the row along the axis, if that is not z
                alignas(32) float difference[kTileSize];
                if (a < 2) {
                    const double* below = at > 0 ? s + o - stride : s_below + o + wrap;
                    for (int z = 0; z < kTileSize; ++z) difference[z] = static_cast<float>(s[o + z] - below[z]);
                } else {
                    difference[0] = static_cast<float>(s[o] - s_below[o + wrap]);
                    for (int z = 1; z < kTileSize; ++z) difference[z] = static_cast<float>(s[o + z] - s[o + z - 1]);
                }
                const Row beside = a == 0 ? inside.below_x(x, y) : a == 1 ? inside.below_y(x, y) : inside.below_z(x, y);
                const Row flows = load_row(open + o) > splat(0) ? max(beside, inside.at(x, y)) : splat(0);
                store_row(u + o, load_row(u + o) - flows * load_row(difference));
                store_row(known + o, flows);
            });
        }
    });
}

size_t GasPressure::bytes() const
{
    return inside_.bytes() + solid_velocity_.bytes() + matrix_.bytes() + solver_.bytes() + b_.bytes() + s_.bytes() +
           known_.bytes();
}

} // namespace spindrift
