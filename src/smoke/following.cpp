// Which tiles the smoke needs.
#include "smoke/smoke.h"

namespace spindrift {

namespace {

// A box of cells, both ends included.
struct CellBox {
    Vec3i low = Vec3i::Constant(std::numeric_limits<int>::max());
    Vec3i high = Vec3i::Constant(std::numeric_limits<int>::min());
    bool empty() const { return (low.array() > high.array()).any(); }
};

// The cells of a tile that hold more than nothing of any scalar.
CellBox smoke_in_tile(const std::vector<SmokeScalar>& scalars, const Topology& topology, int tile)
{
    alignas(32) float there[kTileCells] = {};
    bool any = false;
    for (const SmokeScalar& scalar : scalars) {
        const float* v = scalar.value.tile(tile);
        Row most = splat(0);
        for (int o = 0; o < kTileCells; o += kTileSize) {
            const Row value = load_row(v + o), size = max(value, -value);
            most = max(most, size);
            store_row(there + o, max(load_row(there + o), size > splat(scalar.vanishing) ? splat(1) : splat(0)));
        }
        any |= largest(most) > scalar.vanishing;
    }
    CellBox box;
    if (!any) return box;
    const Vec3i first = topology.first_cell(tile);
    for (int c = 0; c < kTileCells; ++c)
        if (there[c] > 0) {
            box.low = box.low.cwiseMin(first + cell_in_tile(c));
            box.high = box.high.cwiseMax(first + cell_in_tile(c));
        }
    return box;
}

} // namespace

// Tiles within `padding` cells of smoke and of sources that are at work, inside the domain. One cell beyond an open
// upper side is there too, see GasPressure.
void Smoke::follow_smoke(float dt)
{
    const auto floor_of = [](const Vec3f& x) { return Vec3i(floor_int(x.x()), floor_int(x.y()), floor_int(x.z())); };
    constexpr float kFarAway = 1e6f; // cells; tiles reach farther
    const Vec3f far = Vec3f::Constant(kFarAway);
    const Vec3i lowest = floor_of(box_.min.cwiseMax(-far) + Vec3f::Constant(1e-3f));
    Vec3i highest = floor_of(box_.max.cwiseMin(far) - Vec3f::Constant(1e-3f));
    for (int a = 0; a < 3; ++a)
        if (open_.max[a] < kInfinity) ++highest[a];
    if (!params_.sparse) {
        if (topology_->tile_count() == 0) move_to(Topology::covering(lowest, highest + Vec3i::Ones()));
        return;
    }

    const size_t tiles = static_cast<size_t>(topology_->tile_count());
    std::vector<CellBox> boxes(tiles);
    for_each_tile(*topology_,
                  [&](int tile) { boxes[static_cast<size_t>(tile)] = smoke_in_tile(scalars_, *topology_, tile); });
    for (size_t i = 0; i < params_.sources.size(); ++i) {
        if (!params_.sources[i].active(time_)) continue;
        Box3f bounds = {Vec3f::Constant(kInfinity), Vec3f::Constant(-kInfinity)};
        if (particle_sources_.contains(i)) {
            splat_particles(i);
            const Topology& covered = *splats_[i].topology;
            for (int t = 0; t < covered.tile_count(); ++t) {
                const Vec3i first = covered.first_cell(t);
                boxes.push_back({first, first + Vec3i::Constant(kTileSize - 1)});
            }
            continue;
        }
        bounds = sources_[i].bounds(time_);
        bounds.min = (bounds.min / params_.voxel).cwiseMax(box_.min).cwiseMax(-far);
        bounds.max = (bounds.max / params_.voxel).cwiseMin(box_.max).cwiseMin(far);
        if (!bounds.empty()) boxes.push_back({floor_of(bounds.min), floor_of(bounds.max)});
    }
    (void)dt;
    std::vector<uint64_t> codes;
    const Vec3i pad = Vec3i::Constant(params_.padding);
    for (const CellBox& box : boxes) {
        if (box.empty()) continue;
        const Vec3i low = tile_of_cell((box.low - pad).cwiseMax(lowest));
        const Vec3i high = tile_of_cell((box.high + pad).cwiseMin(highest));
        for (int x = low.x(); x <= high.x(); ++x)
            for (int y = low.y(); y <= high.y(); ++y)
                for (int z = low.z(); z <= high.z(); ++z) codes.push_back(morton_of_tile({x, y, z}));
    }
    Topology next(std::move(codes));
    if (next.codes() != topology_->codes()) move_to(std::move(next));
}

// Takes everything along to other tiles. New ones hold still air: what moves around smoke without turning follows from
// the pressure.
void Smoke::move_to(Topology topology)
{
    auto next = std::make_unique<Topology>(std::move(topology));
    std::vector<int> from(static_cast<size_t>(next->tile_count()));
    for_each_tile(*next, [&](int tile) { from[static_cast<size_t>(tile)] = topology_->find(next->tile(tile)); });
    const auto move = [&](Field<float>& field, Field<float>& memory) {
        memory.reset_uninitialized(*next, 0);
        for_each_tile(*next, [&](int tile) {
            std::copy_n(field.tile(from[static_cast<size_t>(tile)]), kTileCells, memory.tile(tile));
        });
        std::swap(field, memory);
    };
    for (int a = 0; a < 3; ++a) {
        move(velocity_.u[a], next_velocity_.u[a]);
        move(push_.u[a], next_velocity_.u[a]);
    }
    for (SmokeScalar& scalar : scalars_) move(scalar.value, scalar.next);
    topology_ = std::move(next);
    topology_changed_ = true;
}

} // namespace spindrift
