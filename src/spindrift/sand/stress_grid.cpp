// Where stresses act: dense tiles, the capacity of their cells, the mobility of their faces, and the matrices. Also
// spreads out sand that is too dense.
#include "spindrift/base/scratch.h"
#include "spindrift/sand/stress.h"
#include "spindrift/sand/tuning.h"

namespace spindrift {

namespace {

// The mean trilinear weights, along an axis, of the particles of a cell on the cell below, the cell itself and the cell
// above.
constexpr float kShare[3] = {0.125f, 0.75f, 0.125f};

// The volume fractions that result from splatting particles that fill these shares of cells, for a row of cells.
Row shared_out(const Block<float, 1>& shares, int x, int y)
{
    Row sum = splat(0);
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) {
            const float* row = &shares.at(x + i - 1, y + j - 1, 0);
            sum += kShare[i] * kShare[j] *
                   (kShare[1] * load_row_unaligned(row) +
                    kShare[0] * (load_row_unaligned(row - 1) + load_row_unaligned(row + 1)));
        }
    return sum;
}

// The same for one cell next to a sheet, over the cells on its own side.
float shared_out_in_sight(const Block<float, 1>& shares, int cell, CellMask27 seen)
{
    const Vec3i at = cell_in_tile(cell);
    float sum = 0, weights = 0;
    for (int slot = 0; slot < 27; ++slot) {
        if (!(seen >> slot & 1)) continue;
        const Vec3i step(slot / 9 - 1, slot / 3 % 3 - 1, slot % 3 - 1), there = at + step;
        const float w = kShare[step.x() + 1] * kShare[step.y() + 1] * kShare[step.z() + 1];
        sum += w * shares.at(there.x(), there.y(), there.z()), weights += w;
    }
    return sum / weights;
}

} // namespace

void Stress::find_dense()
{
    const Topology& all = grid_->topology;
    const size_t count = all.tile_count();
    std::vector<uint8_t> is_dense(count);
    parallel_for(
        count,
        [&](size_t t) {
            Row most = splat(0);
            const float* f = grid_->filled.tile(static_cast<int>(t));
            for (int o = 0; o < kTileCells; o += kTileSize) most = max(most, load_row(f + o));
            is_dense[t] = largest(most) > SandTuning::sparse;
        },
        16);
    std::vector<uint64_t> codes;
    tile_of_.clear();
    for (size_t t = 0; t < count; ++t)
        if (is_dense[t]) codes.push_back(all.codes()[t]), tile_of_.push_back(static_cast<int>(t));
    dense_before_ = std::move(dense_);
    dense_ = std::make_unique<Topology>(std::move(codes));
    const int none = dense_->tile_count();
    dense_of_.assign(count + 1, none);
    for (size_t d = 0; d < tile_of_.size(); ++d) dense_of_[tile_of_[d]] = static_cast<int>(d);

    // Carry stresses over to the new topology.
    const auto carry = [&](Field<float>& field) {
        carried_.reset_uninitialized(*dense_, 0);
        for_dense([&](int tile) {
            const int before = dense_before_ ? dense_before_->find(dense_->tile(tile)) : -1;
            if (before >= 0 && before != dense_before_->tile_count())
                std::copy_n(field.tile(before), kTileCells, carried_.tile(tile));
            else
                std::fill_n(carried_.tile(tile), kTileCells, 0.0f);
        });
        std::swap(field, carried_);
    };
    carry(q_);
    for (auto& s : s_) carry(s);

    filled_.reset_uninitialized(*dense_, 0);
    for_dense([&](int tile) { std::copy_n(grid_->filled.tile(tile_of_[tile]), kTileCells, filled_.tile(tile)); });
    for (auto* field : {&limit_, &edge_limit_[0], &edge_limit_[1], &edge_limit_[2], &edge_q_[0], &edge_q_[1],
                        &edge_q_[2], &b_, &lower_, &upper_, &change_})
        field->reset_uninitialized(*dense_, 0);
}

// The volume fraction of a cell when all the volume around it is full: what solids leave free, under the weights with
// which particles are splatted. Particles near a wall are partly splatted to cells beyond it, which is no lack of sand.
// Next to sheets they are splatted only to cells on their own side, which also get the volume that a sheet cuts off.
void Stress::find_capacity(const SolidCells& room, Field<float>& capacity) const
{
    capacity.reset_uninitialized(*dense_, 1);
    for_dense([&](int tile) {
        auto& volumes = thread_scratch<Block<float, 1>>();
        float* out = capacity.tile(tile);
        if (!room.gather_volumes(grid_->topology, tile_of_[tile], volumes)) {
            std::fill_n(out, kTileCells, 1.0f);
            return;
        }
        const Sight* sight = room.sight();
        const int tile_of_sand = tile_of_[tile];
        if (!sight || !sight->blocked(tile_of_sand)) {
            for_each_row([&](int x, int y, int o) { store_row(out + o, shared_out(volumes, x, y)); });
            return;
        }
        // Volume beyond the free part of its own cube is not splatted to other cells.
        auto& free = thread_scratch<Block<float, 1>>();
        room.gather_both_sides(grid_->topology, tile_of_sand, volumes, free);
        for_each_row([&](int x, int y, int o) {
            const Row more = load_row_unaligned(&volumes.at(x, y, 0)) - load_row_unaligned(&free.at(x, y, 0));
            Row shared = shared_out(free, x, y);
            for (int z = 0; z < kTileSize; ++z)
                if (const CellMask27 seen = sight->cells_from_center(tile_of_sand, o + z); seen != kAllCells)
                    shared[z] = shared_out_in_sight(free, o + z, seen);
            store_row(out + o, max(splat(0), more + shared));
        });
    });
}

// A cell at the surface of a pile is not full, because the surface cuts it, and yet its sand rests on what is below.
// Its capacity ends at its highest particles: otherwise the surface would have no pressure and no friction, fall a
// little in every step and creep downhill. Cells without particles of their own keep their capacity: sand that could
// not rise into them would be jammed under a lid. So do cells whose sand rises.
void Stress::find_heaps()
{
    heap_.reset_uninitialized(*dense_, 1);
    const int up = grid_->up, side = grid_->up_sign > 0 ? -1 : 1;
    const float slow = slow_speed();
    for_dense([&](int d) {
        auto& heaped = thread_scratch<Block<float, 1>>();
        auto& filled = thread_scratch<Block<float, 1>>();
        auto& room = thread_scratch<Block<float, 1>>();
        const int tile = tile_of_[d];
        heaped.gather(grid_->heaped, tile), filled.gather(grid_->filled, tile);
        const bool near_solid = solid_cells_->gather_volumes(grid_->topology, tile, room);
        const Vec3i down = side * Vec3i::Unit(up);
        for_each_row([&](int x, int y, int o) {
            const Row below = load_row_unaligned(&filled.at(x + down.x(), y + down.y(), down.z()));
            RowMask supported = below > splat(SandTuning::support);
            if (near_solid) supported |= load_row_unaligned(&room.at(x + down.x(), y + down.y(), down.z())) == splat(0);
            supported &= load_row_unaligned(&heaped.at(x, y, 0)) > splat(0);
            Row rising = load_row(grid_->velocity.u[up].tile(tile) + o);
            if (solids_->colliders_move()) rising -= load_row(frame_.u[up].tile(tile) + o);
            supported &= grid_->up_sign * rising < splat(slow);
            const Row capacity = load_row(capacity_.tile(d) + o);
            store_row(heap_.tile(d) + o, supported ? min(capacity, shared_out(heaped, x, y)) : capacity);
        });
        const Sight* sight = solid_cells_->sight();
        if (!sight || !sight->blocked(tile)) return;
        // The same next to sheets, which support what rests on them.
        for (int c = 0; c < kTileCells; ++c) {
            const CellMask27 seen = sight->cells_from_center(tile, c);
            if (seen == kAllCells) continue;
            const Vec3i at = cell_in_tile(c), below = at + down;
            const bool on_sheet = !(seen >> neighbour_slot(down.x(), down.y(), down.z()) & 1);
            float rising = grid_->velocity.u[up].tile(tile)[c];
            if (solids_->colliders_move()) rising -= frame_.u[up].tile(tile)[c];
            const bool supported = (on_sheet || filled.at(below.x(), below.y(), below.z()) > SandTuning::support ||
                                    room.at(below.x(), below.y(), below.z()) == 0) &&
                                   heaped.at(at.x(), at.y(), at.z()) > 0 && grid_->up_sign * rising < slow;
            const float capacity = capacity_.tile(d)[c];
            heap_.tile(d)[c] = supported ? capacity * shared_out_in_sight(heaped, c, seen) : capacity;
        }
    });
}

void Stress::find_excess(const SolidCells& room)
{
    find_capacity(room, capacity_);
    fullest_ = parallel_reduce(
        dense_->tile_count(), 0.0f,
        [&](size_t t) {
            const int tile = static_cast<int>(t);
            const float* filled = grid_->filled.tile(tile_of_[t]);
            Row most = splat(0);
            for (int o = 0; o < kTileCells; o += kTileSize) {
                const Row f = load_row(filled + o), c = load_row(capacity_.tile(tile) + o);
                const Row d = load_row(pressure_.diagonal().tile(tile) + o), zero = splat(0);
                // Ignore excess that cannot move.
                store_row(b_.tile(tile) + o, d > zero ? f - c : zero);
                most = max(most, d > zero ? 1 + f - c : zero);
            }
            return largest(most);
        },
        [](float a, float b) { return std::max(a, b); }, 16);
}

StressReport Stress::spread(MacField& displacement)
{
    StressReport report;
    displacement.reset(grid_->topology, 0);
    if (dense_->tile_count() == 0 || fullest_ <= 1 + SandTuning::too_full) return report;
    sharpen_excess();
    for_dense([&](int d) {
        std::fill_n(lower_.tile(d), kTileCells, 0.0f), std::fill_n(upper_.tile(d), kTileCells, kInfinity);
    });
    improve(pressure_, std::max(settings_.tolerance, 0.5f * SandTuning::too_full), SandTuning::push_iterations,
            report.spread_iterations);
    for_stressed_faces([&](int tile) {
        const TileView y = view(change_, tile);
        for_each_row([&](int i, int j, int o) {
            const Row here = y.at(i, j);
            const Row slope[3] = {here - y.below_x(i, j), here - y.below_y(i, j), here - y.below_z(i, j)};
            for (int a = 0; a < 3; ++a) {
                const Row through =
                    min(load_row(solid_cells_->open(tile, a) + o), load_row(grid_->at_faces.u[a].tile(tile) + o));
                const Row moved = -load_row(mobility_.u[a].tile(tile) + o) * slope[a] * inverse_or_zero(through);
                store_row(displacement.u[a].tile(tile) + o,
                          min(max(moved, splat(-SandTuning::farthest_push)), splat(SandTuning::farthest_push)));
            }
        });
    });
    return report;
}

// Moving particles by face displacements and splatting them again both blur: less than half of the excess of a single
// cell would go. Add a multiple of what the blur removes.
void Stress::sharpen_excess()
{
    Field<float>& sharp = lower_; // scratch: spread() sets lower_ afterwards
    for_dense([&](int d) {
        auto& excess = thread_scratch<Block<float, 1>>();
        excess.gather(b_, d);
        for_each_row([&](int x, int y, int o) {
            const Row e = load_row(b_.tile(d) + o);
            const Row taken = max(splat(0), e - shared_out(excess, x, y));
            store_row(sharp.tile(d) + o, e > splat(0) ? e + SandTuning::sharpening * taken : e);
        });
    });
    std::swap(b_, sharp);
}

// The mobility w of each face: volume over mass. A face at the surface, where full cells end, holds half of its
// capacity and is accelerated twice as much: pressure falls to zero within half a cell. Emptier faces get less, or a
// few particles would be shot away. The open share of a face limits w.
void Stress::find_mobility()
{
    const Topology& all = grid_->topology;
    for (auto& w : mobility_.u) w.reset_uninitialized(all, 0);
    for_each_tile(all, [&](int tile) {
        for (int a = 0; a < 3; ++a) {
            const float *share = grid_->at_faces.u[a].tile(tile), *open = solid_cells_->open(tile, a);
            float* w = mobility_.u[a].tile(tile);
            for (int o = 0; o < kTileCells; o += kTileSize) {
                Row m = min(load_row(open + o), 2 * load_row(share + o));
                if (grid_->several) m *= load_row(grid_->lightness.u[a].tile(tile) + o);
                store_row(w + o, m);
            }
        }
    });
}

// (5.47)
void Stress::set_pressure_matrix()
{
    pressure_.reset(*dense_, {true, true, true});
    for_dense([&](int d) {
        const int tile = tile_of_[d];
        const TileView w[3] = {{mobility_.u[0], tile}, {mobility_.u[1], tile}, {mobility_.u[2], tile}};
        for_each_row([&](int x, int y, int o) {
            const Row below[3] = {w[0].at(x, y), w[1].at(x, y), w[2].at(x, y)};
            for (int a = 0; a < 3; ++a) store_row(pressure_.weight(a).tile(d) + o, below[a]);
            store_row(pressure_.diagonal().tile(d) + o,
                      below[0] + below[1] + below[2] + w[0].above_x(x, y) + w[1].above_y(x, y) + w[2].above_z(x, y));
        });
    });
    pressure_.prepare();
}

// (5.45), (5.49) of the five components. A shear lies on edges: the upper faces that it acts on are those of its own
// cell, the lower ones those of the cells below.
void Stress::set_friction_matrices()
{
    axial_.reset(*dense_, {true, true, true});
    lateral_.reset(*dense_, {true, false, true});
    shear_[0].reset(*dense_, {true, true, false}), shear_[1].reset(*dense_, {false, true, true});
    shear_[2].reset(*dense_, {true, false, true});
    for_dense([&](int d) {
        const int tile = tile_of_[d];
        const TileView u(mobility_.u[0], tile), v(mobility_.u[1], tile), w(mobility_.u[2], tile);
        for_each_row([&](int x, int y, int o) {
            const auto put = [&](Field<float>& field, Row value) { store_row(field.tile(d) + o, value); };
            const Row u0 = u.at(x, y), v0 = v.at(x, y), w0 = w.at(x, y);
            const Row u1 = u.above_x(x, y), v1 = v.above_y(x, y), w1 = w.above_z(x, y);
            put(axial_.weight(0), 0.25f * u0), put(axial_.weight(1), v0), put(axial_.weight(2), 0.25f * w0);
            put(axial_.diagonal(), v0 + v1 + 0.25f * (u0 + u1 + w0 + w1));
            put(lateral_.weight(0), u0), put(lateral_.weight(2), w0), put(lateral_.diagonal(), u0 + u1 + w0 + w1);
            const Row u_y = u.below_y(x, y), v_x = v.below_x(x, y), v_z = v.below_z(x, y), w_y = w.below_y(x, y);
            const Row u_z = u.below_z(x, y), w_x = w.below_x(x, y);
            put(shear_[0].weight(1), u_y), put(shear_[0].weight(0), v_x);
            put(shear_[0].diagonal(), u0 + u_y + v0 + v_x);
            put(shear_[1].weight(2), v_z), put(shear_[1].weight(1), w_y);
            put(shear_[1].diagonal(), v0 + v_z + w0 + w_y);
            put(shear_[2].weight(2), u_z), put(shear_[2].weight(0), w_x);
            put(shear_[2].diagonal(), u0 + u_z + w0 + w_x);
        });
    });
    for (TileMatrix* m : {&axial_, &lateral_, &shear_[0], &shear_[1], &shear_[2]}) m->prepare();
}

} // namespace spindrift
