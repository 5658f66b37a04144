#include "spindrift/shaped_smoke/controls.h"

#include "spindrift/base/random.h"
#include "spindrift/points/splat.h"

namespace spindrift {

namespace {

// Adds the tent of a particle in this cell.
void add_tent(Field<float>& density, int tile, const Vec3i& cell, const Tent& tent)
{
    const Topology& topology = density.topology();
    const auto weight = [&](int k) { return tent.weight[std::abs(k)]; };
    const Vec3i first = topology.first_cell(tile);
    for (int dx = -tent.reach; dx <= tent.reach; ++dx)
        for (int dy = -tent.reach; dy <= tent.reach; ++dy)
            for (int dz = -tent.reach; dz <= tent.reach; ++dz) {
                const Vec3i at = cell + Vec3i(dx, dy, dz), step = tile_of_cell(at - first);
                const int t = topology.neighbour(tile, step.x(), step.y(), step.z());
                if (t == topology.tile_count()) continue;
                density.tile(t)[offset_of_cell(at)] += weight(dx) * weight(dy) * weight(dz);
            }
}

} // namespace

std::vector<Vec3f> throw_controls(const DartThrow& darts, Field<float>& control_density)
{
    constexpr double kDartsPerControl = 16;
    const Topology& topology = control_density.topology();
    std::vector<std::vector<Vec3f>> placed(topology.tile_count());
    for_each_tile_by_colour(darts.index, topology, [&](int tile) {
        const size_t begin = darts.index.tile_begin(tile), count = darts.index.tile_end(tile) - begin;
        Random random(darts.seed, topology.codes()[tile]);
        // The share of the tile, rounded at random so that the sum is right; less those that are there.
        const size_t share =
            static_cast<size_t>(darts.ratio * static_cast<double>(count) + static_cast<double>(random.uniform()));
        const size_t there = darts.controls.tile_end(tile) - darts.controls.tile_begin(tile);
        const size_t wanted = share - std::min(share, there);
        const auto tries = static_cast<size_t>(std::ceil(kDartsPerControl * static_cast<double>(wanted)));
        const float* marker_density = darts.marker_density.tile(tile);
        std::vector<Vec3f>& added = placed[tile];
        for (size_t d = 0; d < tries && added.size() < wanted; ++d) {
            const Vec3f& x = darts.markers.P[begin + random.bits() % count];
            const Vec3i cell = cell_of(x, 1 / darts.voxel);
            const int o = offset_of_cell(cell);
            if (control_density.tile(tile)[o] >= static_cast<float>(darts.ratio) * marker_density[o]) continue;
            add_tent(control_density, tile, cell, darts.tent);
            added.push_back(x);
        }
    });
    std::vector<Vec3f> all;
    for (const auto& part : placed) all.insert(all.end(), part.begin(), part.end());
    return all;
}

void attract(Particles& controls, const MovingGoals& goals, std::span<const int32_t> target,
             const AttractionParams& params, float dt)
{
    std::vector<Vec3f>& step = controls.attribute<Vec3f>(kStepAttribute);
    parallel_for(
        controls.size(),
        [&](size_t i) {
            const int32_t goal = target[i];
            const Vec3f way = goals.now[goal] - controls.P[i];
            const float distance = way.norm();
            const float weight = clamp01((distance - params.arrival) / params.slowing); // w_a
            // As a spring: the force at this distance, divided by it.
            const float spring = distance > 0 ? params.strength * weight / distance : 0;
            const Vec3f moves = (goals.after[goal] - goals.now[goal]) / dt;
            const Vec3f moved = (goals.now[goal] - goals.before[goal]) / dt;
            const Vec3f pull = spring * (way + dt * moves) + params.damping * params.follow * moves;
            const Vec3f carried = step[i] + params.follow * (moves - moved);
            step[i] = (carried + dt * pull) / (1 + dt * params.damping + dt * dt * spring);
            controls.v[i] = (2 * step[i] + controls.v[i]) / 3; // (9): 3/2 v_n - 1/2 v_(n-1) = step
        },
        256);
}

double share_arrived(const Particles& controls, std::span<const Vec3f> goals, std::span<const int32_t> target,
                     float near)
{
    if (controls.size() == 0) return 0;
    const double arrived = parallel_sum(
        controls.size(),
        [&](size_t i) { return (goals[target[i]] - controls.P[i]).squaredNorm() < near * near ? 1.0 : 0.0; }, 256);
    return arrived / static_cast<double>(controls.size());
}

} // namespace spindrift
