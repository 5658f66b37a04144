#include "spindrift/liquid/sliding_friction.h"

#include "spindrift/field/row.h"

namespace spindrift {

float lost_share(const Solids::Grip& grip, float speed, float pressed, float frames)
{
    const float left = speed > 0 ? std::max(0.0f, 1 - grip.friction * pressed / speed) : 1;
    return 1 - left * std::pow(1 - grip.stick, frames);
}

void SlidingFriction::after_pressure(const FlowStep& step)
{
    if (!step.solids.has_grip()) return;
    find_lost(
        step, [&](int tile, int c) { return step.phi.tile(tile)[c] < 0; },
        [&](int tile, int c, const Vec3f& n) {
            // The pressure on the wall is that at the cell's centre plus gravity times the distance.
            const float way = step.solid_cells.tile(tile)->distance[c];
            const float deeper = std::max(0.0f, -step.dt * way * step.gravity.dot(n));
            return static_cast<float>(step.projection.s().tile(tile)[c]) + deeper;
        });
    subtract_lost(step, [](Row, Row, Row lost) { return lost; });
}

void SlidingFriction::hold_thin_layers(const FlowStep& step)
{
    find_lost(
        step,
        [&](int tile, int c) {
            return !(step.phi.tile(tile)[c] < 0) && step.index.cell_begin(tile, c) != step.index.cell_end(tile, c);
        },
        [&](int, int, const Vec3f& n) { return -step.dt * step.gravity.dot(n); });
    subtract_lost(step, [](Row phi, Row phi_below, Row lost) {
        const Row zero = splat(0);
        return min(phi, phi_below) < zero ? zero : lost;
    });
}

// The velocity that cells next to solids lose, for cells with is_held(tile, cell), given the normal force pressed(tile,
// cell, normal), which may be negative.
template <class IsHeld, class Pressed>
void SlidingFriction::find_lost(const FlowStep& step, const IsHeld& is_held, const Pressed& pressed)
{
    constexpr float kNextTo = 1; // from the wall [cells]
    const Topology& topology = step.phi.topology();
    lost_.reset(topology, 0);
    const std::vector<int>& near = step.solid_cells.near();
    parallel_for(near.size(), [&](size_t k) {
        const int tile = near[k];
        const SolidTile& solid = *step.solid_cells.tile(tile);
        const MacField& velocity = step.velocity;
        const TileView u[3] = {{velocity.u[0], tile}, {velocity.u[1], tile}, {velocity.u[2], tile}};
        const Vec3f first = topology.first_cell(tile).cast<float>() + Vec3f::Constant(0.5f);
        for_each_row([&](int x, int y, int o) {
            const Row above[3] = {u[0].above_x(x, y), u[1].above_y(x, y), u[2].above_z(x, y)};
            for (int z = 0; z < kTileSize; ++z) {
                if (!(solid.distance[o + z] < kNextTo) || !is_held(tile, o + z)) continue;
                const Vec3f at = (first + cell_in_tile(o + z).cast<float>()) * step.voxel;
                const Solids::Grip grip = step.solids.grip(at);
                if (grip.friction == 0 && grip.stick == 0) continue;
                Vec3f relative = -step.solids.velocity(at);
                for (int a = 0; a < 3; ++a) relative[a] += 0.5f * (u[a].at(x, y)[z] + above[a][z]);
                const Vec3f n = step.solids.normal(at, 0.1f * step.voxel), sliding = relative - relative.dot(n) * n;
                const float lost =
                    lost_share(grip, sliding.norm(), std::max(pressed(tile, o + z, n), 0.0f), step.dt * fps_);
                for (int a = 0; a < 3; ++a) lost_.u[a].tile(tile)[o + z] = -lost * sliding[a];
            }
        });
    });
}

// A face gets half from each adjacent cell: share(phi above, phi below, that half).
template <class Share> void SlidingFriction::subtract_lost(const FlowStep& step, const Share& share) const
{
    const Topology& topology = step.phi.topology();
    const auto near = [&](int tile) { return tile != topology.tile_count() && step.solid_cells.tile(tile); };
    for_each_tile(topology, [&](int tile) {
        if (!near(tile) && !near(topology.neighbour(tile, -1, 0, 0)) && !near(topology.neighbour(tile, 0, -1, 0)) &&
            !near(topology.neighbour(tile, 0, 0, -1)))
            return;
        const TileView lost[3] = {{lost_.u[0], tile}, {lost_.u[1], tile}, {lost_.u[2], tile}}, phi(step.phi, tile);
        for_each_row([&](int x, int y, int o) {
            const Row below[3] = {lost[0].below_x(x, y), lost[1].below_y(x, y), lost[2].below_z(x, y)};
            const Row phi_below[3] = {phi.below_x(x, y), phi.below_y(x, y), phi.below_z(x, y)};
            for (int a = 0; a < 3; ++a) {
                float* u = step.velocity.u[a].tile(tile) + o;
                store_row(u, load_row(u) + share(phi.at(x, y), phi_below[a], 0.5f * (lost[a].at(x, y) + below[a])));
            }
        });
    });
}

} // namespace spindrift
