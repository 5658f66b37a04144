#include "spindrift/stages/tracker_state.h"

#include "spindrift/base/state_error.h"
#include "spindrift/stages/mesh_state.h"

#include <bit>

namespace spindrift {

void save_tracker(const SurfaceTracker::State& state, StateFile& file)
{
    file.numbers["surface.steps"] = state.steps;
    file.numbers["surface.volume_bits"] = std::bit_cast<int64_t>(state.volume);
    file.fields["surface.grid"] = {state.origin.x(), state.origin.y(), state.origin.z(), state.offset};
    put_rows(file.tiles["surface.cells"], state.cells);
    std::vector<Vec3f> weights;
    for (const SurfacePoint& at : state.origins) {
        file.tiles["surface.origin_triangles"].push_back(static_cast<uint64_t>(static_cast<int64_t>(at.triangle)));
        weights.push_back(at.weights);
    }
    file.fields["surface.origin_weights"] = flat(weights);
    save_mesh(state.mesh, "surface.now", file);
    if (!state.start.positions.empty()) save_mesh(state.start, "surface.start", file);
}

SurfaceTracker::State load_tracker(StateFile& file, bool reference)
{
    SurfaceTracker::State state;
    state.steps = file.numbers["surface.steps"];
    state.volume = std::bit_cast<double>(file.numbers["surface.volume_bits"]);
    if (!std::isfinite(state.volume)) bad_state("the volume of a surface is {}", state.volume);
    const std::vector<float>& grid = file.fields["surface.grid"];
    if (grid.size() != 4) bad_state("the grid of a surface has {} numbers", grid.size());
    state.origin = {grid[0], grid[1], grid[2]}, state.offset = grid[3];
    state.mesh = load_mesh(file, "surface.now");
    constexpr int64_t kFarthest = int64_t(kTileReach) * (kTileSize - 1);
    state.cells = rows_of(file.tiles["surface.cells"], -kFarthest, kFarthest);
    if (state.mesh.velocities.size() != state.mesh.positions.size())
        bad_state("a surface has {} velocities for {} vertices", state.mesh.velocities.size(),
                  state.mesh.positions.size());
    if (state.cells.size() != state.mesh.triangles.size())
        bad_state("a surface has {} cells for {} triangles", state.cells.size(), state.mesh.triangles.size());
    for (size_t t = 1; t < state.cells.size(); ++t)
        if (CellKey(state.cells[t]) < CellKey(state.cells[t - 1])) bad_state("the cells of a surface are not sorted");
    const std::vector<uint64_t>& triangles = file.tiles["surface.origin_triangles"];
    const std::vector<Vec3f> weights = vectors_from(file.fields["surface.origin_weights"]);
    if (triangles.size() != weights.size() || weights.size() != state.mesh.positions.size())
        bad_state("a surface has {} origins for {} vertices", triangles.size(), state.mesh.positions.size());
    for (size_t i = 0; i < weights.size(); ++i) { // they are only written, never followed
        const auto triangle = std::clamp<int64_t>(static_cast<int64_t>(triangles[i]), -1, 1 << 30);
        state.origins.push_back({static_cast<int>(triangle), weights[i]});
    }
    if (!reference) return state;
    if (file.fields.contains("surface.start.P")) state.start = load_mesh(file, "surface.start"); // else it was empty
    const auto known = state.mesh.attributes.find(kReference);
    if (known == state.mesh.attributes.end() || !std::holds_alternative<std::vector<Vec3f>>(known->second))
        bad_state("a surface has no \"{}\"", kReference);
    return state;
}

} // namespace spindrift
