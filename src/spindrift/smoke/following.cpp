// Chooses the tiles that the smoke needs.
#include "spindrift/base/memory.h"
#include "spindrift/smoke/smoke.h"

#include <fmt/format.h>

namespace spindrift {

namespace {

// Bytes per cell needed in a step, for the flow and for a finer grid.
constexpr double kFlowBytes = 150, kFineBytes = 40;

void expect_memory_for(double bytes, const std::string& name)
{
    expect_memory(bytes, name + ", which spreads too far,",
                  fmt::format("raise {0}.voxel or {0}.threshold, set a smaller {0}.domain, or lower the velocities, "
                              "temperatures, buoyancy or forces",
                              name));
}

void expect_memory_for(const Topology& topology, double bytes, const std::string& name)
{
    expect_memory_for(bytes * static_cast<double>(topology.cell_count()), name);
}

// A box of cells, both ends included.
struct CellBox {
    Vec3i low = Vec3i::Constant(std::numeric_limits<int>::max());
    Vec3i high = Vec3i::Constant(std::numeric_limits<int>::min());
    bool empty() const { return (low.array() > high.array()).any(); }
};

// Bounds of the cells of a tile in which any scalar exceeds its threshold.
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
            store_row(there + o, max(load_row(there + o), size > splat(scalar.threshold) ? splat(1) : splat(0)));
        }
        any |= largest(most) > scalar.threshold;
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

// Tiles within `pad` cells of the boxes, clipped to [lowest, highest].
std::vector<uint64_t> tiles_around(const std::vector<CellBox>& boxes, int pad, const Vec3i& lowest,
                                   const Vec3i& highest, const std::string& name)
{
    const auto tiles_of = [&](const CellBox& box) {
        return CellBox{tile_of_cell((box.low - Vec3i::Constant(pad)).cwiseMax(lowest)),
                       tile_of_cell((box.high + Vec3i::Constant(pad)).cwiseMin(highest))};
    };
    double count = 0;
    for (const CellBox& box : boxes) {
        if (box.empty()) continue;
        const CellBox tiles = tiles_of(box);
        count += (tiles.high - tiles.low + Vec3i::Ones()).cast<double>().cwiseMax(0.0).prod();
    }
    expect_memory_for(static_cast<double>(sizeof(uint64_t)) * count, name);
    std::vector<uint64_t> codes;
    for (const CellBox& box : boxes) {
        if (box.empty()) continue;
        const auto [low, high] = tiles_of(box);
        for (int x = low.x(); x <= high.x(); ++x)
            for (int y = low.y(); y <= high.y(); ++y)
                for (int z = low.z(); z <= high.z(); ++z) codes.push_back(morton_of_tile({x, y, z}));
    }
    return codes;
}

Vec3i floor_of(const Vec3f& x) { return {floor_int(x.x()), floor_int(x.y()), floor_int(x.z())}; }

int floor_div(int a, int b) { return (a >= 0 ? a : a - b + 1) / b; }

} // namespace

// Tiles within `padding` cells of smoke and active sources, inside the domain, plus one cell beyond an open upper side
// (see GasPressure). The finer grid extends as far around smoke as it can move in the step.
void Smoke::follow_smoke(float dt)
{
    constexpr float kFarAway = 2e5f; // cells; within the range of tile indices, also of a finer grid
    const Vec3f far = Vec3f::Constant(kFarAway);
    const int refine = params_.refine();
    const Vec3i lowest = floor_of(box_.min.cwiseMax(-far) + Vec3f::Constant(1e-3f));
    Vec3i highest = floor_of(box_.max.cwiseMin(far) - Vec3f::Constant(1e-3f));
    const Vec3i finest = (highest + Vec3i::Ones()) * refine - Vec3i::Ones();
    for (int a = 0; a < 3; ++a)
        if (open_.max[a] < kInfinity) ++highest[a];

    // Boxes in fine cells.
    const Topology& fine = carried_.topology();
    std::vector<CellBox> boxes(fine.tile_count());
    if (params_.sparse || turbulence_)
        for_each_tile(fine, [&](int tile) { boxes[tile] = smoke_in_tile(carried_.scalars, fine, tile); });
    for (size_t i = 0; i < params_.sources.size(); ++i) {
        if (!params_.sources[i].contains(time_)) continue;
        if (particle_sources_.contains(i)) {
            splat_particles(i);
            const Topology& covered = *splats_[i].topology;
            for (int t = 0; t < covered.tile_count(); ++t) {
                const Vec3i first = covered.first_cell(t);
                boxes.push_back({first, first + Vec3i::Constant(kTileSize - 1)});
            }
            continue;
        }
        Box3f bounds = sources_[i].bounds(time_);
        bounds.min = (bounds.min / params_.voxel).cwiseMax(box_.min).cwiseMax(-far) * static_cast<float>(refine);
        bounds.max = (bounds.max / params_.voxel).cwiseMin(box_.max).cwiseMin(far) * static_cast<float>(refine);
        if (!bounds.empty()) boxes.push_back({floor_of(bounds.min), floor_of(bounds.max)});
    }

    std::vector<CellBox> coarse = boxes;
    if (refine > 1)
        for (CellBox& box : coarse) {
            if (box.empty()) continue;
            for (int a = 0; a < 3; ++a)
                box.low[a] = floor_div(box.low[a], refine), box.high[a] = floor_div(box.high[a], refine);
        }
    const auto next = [&] {
        if (params_.sparse) return Topology(tiles_around(coarse, params_.padding, lowest, highest, params_.name));
        return Topology::covering(lowest, highest + Vec3i::Ones());
    };
    if (params_.sparse || topology_->tile_count() == 0)
        if (Topology followed = next(); followed.codes() != topology_->codes()) {
            expect_memory_for(followed, kFlowBytes, params_.name);
            move_to(std::make_shared<Topology>(std::move(followed)));
        }
    solid_cells_.update(*topology_, solids_, params_.voxel);
    if (!turbulence_) return;

    const float way = (largest_component(velocity_) + eddy_speed()) * dt / params_.fine_voxel();
    const int pad = std::clamp(static_cast<int>(std::ceil(way)) + 1, 2, params_.padding * refine);
    Topology followed(tiles_around(boxes, pad, lowest * refine, finest, params_.name));
    expect_memory_for(followed, kFineBytes, params_.name);
    if (followed.codes() != fine.codes()) carried_.move_to(std::make_shared<Topology>(std::move(followed)));
    fine_solid_cells_.update(carried_.topology(), solids_, params_.fine_voxel());
}

// Copies the flow to another set of tiles. New tiles hold air at rest: the irrotational flow around smoke follows from
// the pressure.
void Smoke::move_to(std::shared_ptr<const Topology> topology)
{
    std::vector<int> from(topology->tile_count());
    for_each_tile(*topology, [&](int tile) { from[tile] = topology_->find(topology->tile(tile)); });
    const auto move = [&](Field<float>& field, Field<float>& memory) {
        memory.reset_uninitialized(*topology, 0);
        for_each_tile(*topology, [&](int tile) { std::copy_n(field.tile(from[tile]), kTileCells, memory.tile(tile)); });
        std::swap(field, memory);
    };
    for (int a = 0; a < 3; ++a) {
        move(velocity_.u[a], next_velocity_.u[a]);
        move(push_.u[a], next_velocity_.u[a]);
    }
    if (!turbulence_) carried_.move_to(topology);
    topology_ = std::move(topology);
    topology_changed_ = true;
}

} // namespace spindrift
