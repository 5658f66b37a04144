#include "spindrift/field/seen_samples.h"

namespace spindrift {

namespace {

Vec3i cell_at(const Vec3f& place) { return {floor_int(place.x()), floor_int(place.y()), floor_int(place.z())}; }

std::optional<float> mean_of(const Field<float>& field, const SeenSamples& seen, int axis, const Vec3f& place)
{
    const Topology& topology = field.topology();
    const Vec3i cell = cell_at(place);
    const int tile = topology.find(tile_of_cell(cell));
    if (tile == topology.tile_count()) return {};
    std::optional<float> mean;
    for_each_seen(seen, axis, place - cell.cast<float>(), [&](const Vec3i& step, float weight, const Vec3f&) {
        const Vec3i at = cell + step, way = tile_of_cell(at) - tile_of_cell(cell);
        const int there = topology.neighbour(tile, way.x(), way.y(), way.z());
        mean = mean.value_or(0.0f) + weight * field.tile(there)[offset_of_cell(at)];
    });
    return mean;
}

} // namespace

SeenSamples seen_samples(const Sight& sight, const Topology& topology, float voxel, const Vec3f& x, const Vec3i& around)
{
    const Vec3i cell = cell_at(x / voxel);
    const int tile = topology.find(tile_of_cell(cell));
    if (tile == topology.tile_count()) return {};
    const auto to_home = sight.home(tile, offset_of_cell(cell), x);
    if (!to_home) return {};
    const Vec3i home = cell + *to_home;
    const int home_tile = topology.find(tile_of_cell(home)), home_cell = offset_of_cell(home);
    const Vec3i step = home - around;
    if (step.isZero())
        return {sight.cells_from_center(home_tile, home_cell), sight.faces_from_center(home_tile, home_cell), step};
    return {shifted(sight.cells_from_center(home_tile, home_cell), step),
            shifted(sight.faces_from_center(home_tile, home_cell), step), step};
}

bool sees_all_samples(const Sight& sight, int tile, int cell)
{
    return sight.clearance(tile, cell) > 0 && sight.faces_from_center(tile, cell) == kAllFaces &&
           sight.cells_from_center(tile, cell) == kAllCells;
}

std::optional<Vec3f> mean_seen(const MacField& field, const SeenSamples& seen, float voxel, const Vec3f& x)
{
    Vec3f mean;
    for (int a = 0; a < 3; ++a) {
        const auto component = mean_of(field.u[a], seen, a, x / voxel);
        if (!component) return {};
        mean[a] = *component;
    }
    return mean;
}

std::optional<float> mean_seen(const Field<float>& field, const SeenSamples& seen, float voxel, const Vec3f& x)
{
    return mean_of(field, seen, kCenters, x / voxel);
}

} // namespace spindrift
