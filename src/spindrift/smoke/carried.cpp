#include "spindrift/smoke/carried.h"

#include "spindrift/base/scratch.h"

namespace spindrift {

void CarriedValues::start(std::shared_ptr<const Topology> topology)
{
    topology_ = std::move(topology);
    for (SmokeScalar& scalar : scalars) scalar.value.reset(*topology_, 0);
}

void CarriedValues::move_to(std::shared_ptr<const Topology> topology)
{
    std::vector<int> from(topology->tile_count());
    for_each_tile(*topology, [&](int tile) { from[tile] = topology_->find(topology->tile(tile)); });
    for (SmokeScalar& scalar : scalars) {
        scalar.next.reset_uninitialized(*topology, 0);
        for_each_tile(*topology, [&](int tile) {
            std::copy_n(scalar.value.tile(from[tile]), kTileCells, scalar.next.tile(tile));
        });
        std::swap(scalar.value, scalar.next);
    }
    topology_ = std::move(topology);
}

void CarriedValues::prepare(const SolidCells& cells, const Box3f& open, bool keep_mass)
{
    // Outflow through open sides in a step is not known well enough to distinguish it from advection errors.
    constexpr double kNegligible = 1e-6;
    kept_.assign(scalars.size(), std::nullopt);
    for (size_t i = 0; i < scalars.size() && keep_mass; ++i) {
        const double before = sum(i, cells);
        if (before != 0 && beside_open_sides(scalars[i].value, open) <= kNegligible * std::abs(before))
            kept_[i] = before;
    }
    extend_into_solids(cells);
}

std::vector<AdvectedField> CarriedValues::fields()
{
    std::vector<AdvectedField> all;
    for (SmokeScalar& scalar : scalars) all.push_back({Location::center, &scalar.value, &scalar.next});
    return all;
}

void CarriedValues::finish(const SolidCells& cells)
{
    for (SmokeScalar& scalar : scalars) std::swap(scalar.value, scalar.next);
    for (size_t i = 0; i < scalars.size(); ++i)
        if (kept_[i]) restore_sum(i, *kept_[i], cells);
    clear_solids(cells);
}

void CarriedValues::fade(float dt)
{
    for (SmokeScalar& scalar : scalars) {
        if (scalar.dissipation == 0) continue;
        const float left = std::exp(-scalar.dissipation * dt);
        for_each_tile(*topology_, [&](int tile) {
            float* v = scalar.value.tile(tile);
            for (int o = 0; o < kTileCells; o += kTileSize) store_row(v + o, left * load_row(v + o));
        });
    }
}

double CarriedValues::sum(size_t scalar, const SolidCells& cells) const
{
    const Field<float>& value = scalars[scalar].value;
    return parallel_sum(topology_->tile_count(), [&](size_t t) {
        const int tile = static_cast<int>(t);
        const SolidTile* solid = cells.tile(tile);
        RowSum total;
        for (int o = 0; o < kTileCells; o += kTileSize)
            total.add_product(load_row(value.tile(tile) + o), solid ? load_row(solid->volume + o) : splat(1));
        return total.total();
    });
}

size_t CarriedValues::bytes() const
{
    size_t total = scratch.bytes();
    for (const SmokeScalar& scalar : scalars) total += scalar.value.bytes() + scalar.next.bytes();
    return total;
}

namespace {

// Extrapolates two layers of a tile's values into solids. Values do not pass through sheets. `volume` is the open share
// of each cell; that of filled cells is set to 1.
void extend_into_solids(const Topology& topology, int tile, const Sight* sight, Block<float, 2>& value,
                        Block<float, 2>& volume)
{
    using B = Block<float, 2>;
    constexpr int steps[6] = {B::kStrideX, -B::kStrideX, B::kStrideY, -B::kStrideY, 1, -1};
    constexpr int slots[6] = {neighbour_slot(1, 0, 0),  neighbour_slot(-1, 0, 0), neighbour_slot(0, 1, 0),
                              neighbour_slot(0, -1, 0), neighbour_slot(0, 0, 1),  neighbour_slot(0, 0, -1)};
    const auto seen_from = [&](const Vec3i& cell) { // in cells relative to the tile's corner
        if (!sight) return kAllCells;
        const Vec3i step = tile_of_cell(cell);
        return sight->cells_from_center(topology.neighbour(tile, step.x(), step.y(), step.z()), offset_of_cell(cell));
    };
    const auto fill = [&](int x, int y, int z) {
        const int i = B::index(x, y, z);
        if (volume.data[i] > 0) return;
        float sum = 0, count = 0;
        const CellMask27 seen = seen_from({x, y, z});
        for (int k = 0; k < 6; ++k)
            if (volume.data[i + steps[k]] > 0 && (seen >> slots[k] & 1)) sum += value.data[i + steps[k]], count += 1;
        if (count > 0) value.data[i] = sum / count, volume.data[i] = -1; // filled
    };
    for (int layer = 0; layer < 2; ++layer) {
        const int rim = layer == 0 ? 1 : 0; // the first layer is needed in the margin too
        for (int x = -rim; x < kTileSize + rim; ++x)
            for (int y = -rim; y < kTileSize + rim; ++y)
                for (int z = -rim; z < kTileSize + rim; ++z) fill(x, y, z);
        for (float& v : volume.data)
            if (v == -1) v = 1; // a source for the next layer
    }
}

} // namespace

// So that interpolation near a wall does not fade.
void CarriedValues::extend_into_solids(const SolidCells& cells)
{
    const std::vector<int>& near = cells.near();
    const auto touched = [&](size_t k) {
        const float* volume = cells.tile(near[k])->volume;
        return std::any_of(volume, volume + kTileCells, [](float v) { return v == 0; });
    };
    std::vector<float> next(near.size() * kTileCells);
    for (SmokeScalar& scalar : scalars) {
        parallel_for(near.size(), [&](size_t k) {
            if (!touched(k)) return;
            const int tile = near[k];
            auto& value = thread_scratch<Block<float, 2>>();
            auto& volume = thread_scratch<Block<float, 2>>();
            value.gather(scalar.value, tile, Margin::nearest);
            cells.gather_volumes(*topology_, tile, volume);
            const bool parted = cells.sight() && cells.sight()->blocked(tile);
            spindrift::extend_into_solids(*topology_, tile, parted ? cells.sight() : nullptr, value, volume);
            for (int c = 0; c < kTileCells; ++c) {
                const Vec3i p = cell_in_tile(c);
                next[k * kTileCells + c] = value.at(p.x(), p.y(), p.z());
            }
        });
        parallel_for(near.size(), [&](size_t k) {
            if (touched(k)) std::copy_n(next.data() + k * kTileCells, kTileCells, scalar.value.tile(near[k]));
        });
    }
}

void CarriedValues::clear_solids(const SolidCells& cells)
{
    const std::vector<int>& near = cells.near();
    parallel_for(near.size(), [&](size_t k) {
        const float* volume = cells.tile(near[k])->volume;
        for (SmokeScalar& scalar : scalars)
            for (int o = 0; o < kTileCells; o += kTileSize) {
                float* v = scalar.value.tile(near[k]) + o;
                store_row(v, load_row(volume + o) > splat(0) ? load_row(v) : splat(0));
            }
    });
}

// Sum over the outermost cells at open sides.
double CarriedValues::beside_open_sides(const Field<float>& value, const Box3f& open) const
{
    return parallel_sum(topology_->tile_count(), [&](size_t t) {
        const int tile = static_cast<int>(t);
        const Vec3f first = topology_->first_cell(tile).cast<float>();
        double total = 0;
        for (int a = 0; a < 3; ++a)
            for (const float end : {open.min[a], open.max[a]}) {
                if (!(end >= first[a] && end <= first[a] + kTileSize)) continue;
                for (int c = 0; c < kTileCells; ++c)
                    if (std::abs(first[a] + static_cast<float>(cell_in_tile(c)[a]) + 0.5f - end) <= 1)
                        total += static_cast<double>(std::abs(value.tile(tile)[c]));
            }
        return total;
    });
}

// Semi-Lagrangian advection does not conserve the sum. Restores it by moving each value towards the lower or upper
// bound of the values that it was interpolated from, which changes only cells in gradients and creates no new extremes
// [Bermejo 2002].
void CarriedValues::restore_sum(size_t index, double before, const SolidCells& cells)
{
    Field<float>& value = scalars[index].value;
    const double excess = sum(index, cells) - before;
    const Field<float>& bound = (excess > 0 ? scratch.low : scratch.high)[index];
    const double room = parallel_sum(topology_->tile_count(), [&](size_t t) {
        const int tile = static_cast<int>(t);
        const SolidTile* solid = cells.tile(tile);
        RowSum total;
        for (int o = 0; o < kTileCells; o += kTileSize)
            total.add_product(load_row(value.tile(tile) + o) - load_row(bound.tile(tile) + o),
                              solid ? load_row(solid->volume + o) : splat(1));
        return total.total();
    });
    if (room == 0) return;
    const float share = static_cast<float>(std::clamp(excess / room, 0.0, 1.0));
    for_each_tile(*topology_, [&](int tile) {
        for (int o = 0; o < kTileCells; o += kTileSize) {
            float* v = value.tile(tile) + o;
            store_row(v, load_row(v) + share * (load_row(bound.tile(tile) + o) - load_row(v)));
        }
    });
}

void average_blocks(const Field<float>& fine, int refine, const Topology& coarse, Field<float>& mean)
{
    mean.reset(coarse, 0);
    const int across = kTileSize / refine; // coarse cells per fine tile and axis
    const float share = 1.0f / static_cast<float>(refine * refine * refine);
    for_each_tile(coarse, [&](int tile) {
        float* out = mean.tile(tile);
        for (int t = 0; t < refine * refine * refine; ++t) {
            const Vec3i part(t / (refine * refine), t / refine % refine, t % refine);
            const int from = fine.topology().find(coarse.tile(tile) * refine + part);
            if (from == fine.topology().tile_count()) continue;
            for (int c = 0; c < kTileCells; ++c) {
                const Vec3i to = part * across + cell_in_tile(c) / refine;
                out[offset_in_tile(to.x(), to.y(), to.z())] += share * fine.tile(from)[c];
            }
        }
    });
}

} // namespace spindrift
