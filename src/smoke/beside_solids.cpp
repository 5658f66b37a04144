// What becomes of the values that smoke carries where solids are, and of their sum.
#include "smoke/smoke.h"

namespace spindrift {

// Cells in solids take the mean of what is next to them, so that values near a wall do not fade into it when they are
// interpolated. Two layers.
void Smoke::extend_into_solids()
{
    const std::vector<int>& near = solid_cells_.near();
    const auto touched = [&](size_t k) {
        const float* volume = solid_cells_.tile(near[k])->volume;
        return std::any_of(volume, volume + kTileCells, [](float v) { return v == 0; });
    };
    std::vector<float> next(near.size() * kTileCells);
    for (SmokeScalar& scalar : scalars_) {
        parallel_for(near.size(), [&](size_t k) {
            if (!touched(k)) return;
            const int tile = near[k];
            thread_local Block<float, 2> value, volume;
            value.gather(scalar.value, tile, Margin::nearest);
            solid_cells_.gather_volumes(*topology_, tile, volume);
            using B = Block<float, 2>;
            constexpr int steps[6] = {B::kStrideX, -B::kStrideX, B::kStrideY, -B::kStrideY, 1, -1};
            for (int layer = 0; layer < 2; ++layer) {
                const int rim = layer == 0 ? 1 : 0; // the first layer is needed around the tile too
                for (int x = -rim; x < kTileSize + rim; ++x)
                    for (int y = -rim; y < kTileSize + rim; ++y)
                        for (int z = -rim; z < kTileSize + rim; ++z) {
                            const int i = B::index(x, y, z);
                            if (volume.data[i] > 0) continue;
                            float sum = 0, count = 0;
                            for (const int step : steps)
                                if (volume.data[i + step] > 0) sum += value.data[i + step], count += 1;
                            if (count > 0) value.data[i] = sum / count, volume.data[i] = -1; // filled
                        }
                for (float& v : volume.data)
                    if (v == -1) v = 1; // a source for the next layer
            }
            for (int c = 0; c < kTileCells; ++c) {
                const Vec3i p = cell_in_tile(c);
                next[k * kTileCells + static_cast<size_t>(c)] = value.at(p.x(), p.y(), p.z());
            }
        });
        parallel_for(near.size(), [&](size_t k) {
            if (touched(k)) std::copy_n(next.data() + k * kTileCells, kTileCells, scalar.value.tile(near[k]));
        });
    }
}

void Smoke::clear_solids()
{
    const std::vector<int>& near = solid_cells_.near();
    parallel_for(near.size(), [&](size_t k) {
        const float* volume = solid_cells_.tile(near[k])->volume;
        for (SmokeScalar& scalar : scalars_)
            for (int o = 0; o < kTileCells; o += kTileSize) {
                float* v = scalar.value.tile(near[k]) + o;
                store_row(v, load_row(volume + o) > splat(0) ? load_row(v) : splat(0));
            }
    });
}

// What the flow takes out through open sides in a step, in cells.
double Smoke::outflow(const Field<float>& value, float dt) const
{
    const float cells = dt / params_.voxel;
    return parallel_sum(static_cast<size_t>(topology_->tile_count()), [&](size_t t) {
        const int tile = static_cast<int>(t);
        const Vec3i first = topology_->first_cell(tile);
        double sum = 0;
        for (int a = 0; a < 3; ++a)
            for (int side = -1; side <= 1; side += 2) {
                const float end = side < 0 ? open_.min[a] : open_.max[a];
                const float low = static_cast<float>(first[a]), high = low + kTileSize;
                if (!(end >= low && end <= high)) continue;
                for (int c = 0; c < kTileCells; ++c) {
                    const float at = low + static_cast<float>(cell_in_tile(c)[a]) + 0.5f;
                    const bool inside = side < 0 ? at > end : at < end, last = std::abs(at - end) <= 1;
                    if (!inside || !last) continue;
                    const auto [face_tile, face] =
                        side < 0 ? Topology::Cell{tile, c} : topology_->next_cell(tile, c, a, 1);
                    const float u = static_cast<float>(side) * velocity_.u[a].tile(face_tile)[face];
                    sum += static_cast<double>(std::max(0.0f, u) * cells * value.tile(tile)[c]);
                }
            }
        return sum;
    });
}

// Advection by looking back keeps no sum. What it made or lost is taken back between the lowest and the highest of the
// values that each cell had to choose from: where smoke changes from place to place, and without new extremes. (The
// idea of Bermejo and Conde 2002.)
void Smoke::keep_mass(size_t index, double mass)
{
    Field<float>& value = scalars_[index].value;
    const double excess = mass_of(value) - mass;
    const Field<float>& bound = (excess > 0 ? scratch_.low : scratch_.high)[index];
    const double room = parallel_sum(static_cast<size_t>(topology_->tile_count()), [&](size_t t) {
        const int tile = static_cast<int>(t);
        const SolidTile* solid = solid_cells_.tile(tile);
        RowSum sum;
        for (int o = 0; o < kTileCells; o += kTileSize)
            sum.add_product(load_row(value.tile(tile) + o) - load_row(bound.tile(tile) + o),
                            solid ? load_row(solid->volume + o) : splat(1));
        return sum.total();
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

} // namespace spindrift
