#include "spindrift/base/error.h"
#include "spindrift/surface/level_set.h"

#include <openvdb/openvdb.h>
#include <openvdb/tools/GridOperators.h>
#include <openvdb/tools/LevelSetFilter.h>
#include <openvdb/tools/SignedFloodFill.h>

namespace spindrift {

namespace {

using Grid = openvdb::FloatGrid;
using Leaf = Grid::TreeType::LeafNodeType;
using Filter = openvdb::tools::LevelSetFilter<Grid>;

openvdb::Coord coord_of(const Vec3i& cell) { return {cell.x(), cell.y(), cell.z()}; }

// Creates a leaf for every tile, whose active voxels are the cells with is_active(value), in a grid of voxel size one.
template <class Active> Grid::Ptr to_grid(const Field<float>& field, const Active& is_active)
{
    const Topology& topology = field.topology();
    std::vector<std::unique_ptr<Leaf>> leaves(topology.tile_count());
    for_each_tile(topology, [&](int t) {
        auto leaf = std::make_unique<Leaf>(coord_of(topology.first_cell(t)), field.background());
        std::copy_n(field.tile(t), kTileCells, leaf->buffer().data());
        for (openvdb::Index i = 0; i < Leaf::SIZE; ++i)
            if (is_active(field.tile(t)[i])) leaf->setValueOn(i);
        leaves[t] = std::move(leaf);
    });
    auto grid = Grid::create(field.background());
    for (auto& leaf : leaves) grid->tree().addLeaf(leaf.release());
    return grid;
}

void copy_back(const Grid& grid, Field<float>& phi)
{
    const Topology& topology = phi.topology();
    for_each_tile(topology, [&](int t) {
        const openvdb::Coord first = coord_of(topology.first_cell(t));
        if (const Leaf* leaf = grid.tree().probeConstLeaf(first))
            std::copy_n(leaf->buffer().data(), kTileCells, phi.tile(t));
        else
            std::fill_n(phi.tile(t), kTileCells, grid.tree().getValue(first));
    });
    std::fill_n(phi.tile(topology.tile_count()), kTileCells, kLevelSetBand);
}

// Falls from 1 at the limit to 0 at twice that.
float fade(float value, float limit)
{
    const float t = clamp01(2 - value / limit);
    return t * t * (3 - 2 * t);
}

// The strength of smoothing at each cell near the surface.
Grid::Ptr smoothing_mask(const Grid& level_set, const Field<Vec3f>& velocity, float voxel, const SurfaceFilter& filter)
{
    // The bumps to be removed are curved themselves: measure the curvature of what they sit on.
    constexpr int kPasses = 4;
    Grid::Ptr curvature;
    if (filter.max_curvature) {
        const Grid::Ptr smoother = level_set.deepCopy();
        Filter smoothing(*smoother);
        smoothing.setSpatialScheme(openvdb::math::FIRST_BIAS);
        for (int pass = 0; pass < kPasses; ++pass) smoothing.mean();
        curvature = openvdb::tools::meanCurvature(*smoother);
    }
    const Topology& topology = velocity.topology();
    Field<float> strength;
    strength.reset_uninitialized(topology, 0);
    for_each_tile(topology, [&](int t) {
        const Vec3i first = topology.first_cell(t);
        std::optional<Grid::ConstAccessor> curved;
        if (curvature) curved.emplace(curvature->getConstAccessor());
        for (int i = 0; i < kTileCells; ++i) {
            float& s = strength.tile(t)[i] = 1;
            if (filter.max_speed) s *= fade(velocity.tile(t)[i].norm(), *filter.max_speed);
            if (curved)
                s *= fade(std::abs(curved->getValue(coord_of(first + cell_in_tile(i)))) / voxel, *filter.max_curvature);
        }
    });
    return to_grid(strength, [](float) { return true; });
}

} // namespace

void filter_level_set(Field<float>& phi, const Field<Vec3f>& velocity, float voxel, const SurfaceFilter& filter)
{
    if (!filter.any() || phi.topology().tile_count() == 0) return;
    openvdb::initialize();
    make_distance(phi);
    const Grid::Ptr level_set = to_grid(phi, [](float distance) { return std::abs(distance) < kLevelSetBand; });
    level_set->setGridClass(openvdb::GRID_LEVEL_SET);
    openvdb::tools::signedFloodFill(level_set->tree());
    Filter filtering(*level_set);
    if (filter.dilate > 0) filtering.offset(-filter.dilate / voxel);
    if (filter.smooth > 0) {
        const Grid::Ptr mask = filter.max_curvature || filter.max_speed
                                   ? smoothing_mask(*level_set, velocity, voxel, filter)
                                   : Grid::Ptr();
        // First order suffices for smoothing, and is three times as fast.
        const auto exact = filtering.getState();
        filtering.setSpatialScheme(openvdb::math::FIRST_BIAS);
        for (int pass = 0; pass < filter.smooth; ++pass) filtering.mean(1, mask.get());
        filtering.setState(exact);
    }
    if (filter.erode > 0) filtering.offset(filter.erode / voxel);
    copy_back(*level_set, phi);
}

} // namespace spindrift
