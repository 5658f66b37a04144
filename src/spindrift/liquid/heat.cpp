#include "spindrift/liquid/heat.h"

#include "spindrift/liquid/viscosity.h"

namespace spindrift {

float viscosity_at(const HeatParams& heat, float temperature)
{
    const float share = clamp01((temperature - heat.cold) / (heat.hot - heat.cold));
    return heat.cold_viscosity * std::pow(heat.hot_viscosity / heat.cold_viscosity, share);
}

// Conduction among cells that hold liquid, over dt diffusivity / voxel^2 = `number`, in stages of the
// Runge-Kutta-Legendre method [Meyer 2012]: s stages reach as far as s^2 explicit steps, without overshoot.
void Heat::conduct(float number)
{
    const int stages = std::max(1, static_cast<int>(std::ceil(0.5 * (std::sqrt(1 + 48.0 * number) - 1))));
    const float reach = 2 * number / static_cast<float>(stages * stages + stages);
    const auto stage = [&](float keep, float before,
                           float exchanged) { // now = keep now + before earlier + exchanged flow
        for_each_tile(now_.topology(), [&](int tile) {
            const TileView now(now_, tile), any(any_, tile);
            float* earlier = earlier_.tile(tile);
            for_each_row([&](int x, int y, int o) {
                const Row here = now.at(x, y);
                Row flow = splat(0);
                const auto from = [&](Row there, Row has) { flow += has * (there - here); };
                from(now.below_x(x, y), any.below_x(x, y)), from(now.above_x(x, y), any.above_x(x, y));
                from(now.below_y(x, y), any.below_y(x, y)), from(now.above_y(x, y), any.above_y(x, y));
                from(now.below_z(x, y), any.below_z(x, y)), from(now.above_z(x, y), any.above_z(x, y));
                const Row next = keep * here + before * load_row(earlier + o) + exchanged * any.at(x, y) * flow;
                store_row(earlier + o, next);
            });
        });
        std::swap(now_, earlier_);
    };
    now_.copy_from(mean_), earlier_.copy_from(mean_);
    stage(1, 0, reach);
    for (int j = 2; j <= stages; ++j) {
        const float weight = static_cast<float>(2 * j - 1) / static_cast<float>(j);
        stage(weight, 1 - weight, weight * reach);
    }
}

void Heat::exchange(const HeatParams& heat, const ParticleIndex& index, const Field<float>& phi,
                    const SolidCells& solids, float voxel, float dt, Particles& particles)
{
    constexpr float kNear = 1; // a particle exchanges heat within this distance of the surface or a solid [cells]
    const Topology& topology = phi.topology();
    auto& temperature = particles.attribute<float>(kTemperatureAttribute);
    auto& viscosity = particles.attribute<float>(kViscosityAttribute);
    mean_.reset_uninitialized(topology, 0), any_.reset_uninitialized(topology, 0);
    for_each_tile(topology, [&](int tile) {
        for (int c = 0; c < kTileCells; ++c) {
            const size_t begin = index.cell_begin(tile, c), end = index.cell_end(tile, c);
            float sum = 0;
            for (size_t i = begin; i < end; ++i) sum += temperature[i];
            any_.tile(tile)[c] = begin < end ? 1 : 0;
            mean_.tile(tile)[c] = begin < end ? sum / static_cast<float>(end - begin) : 0;
        }
    });
    const float number = heat.diffusivity * dt / (voxel * voxel);
    if (number > 0) conduct(number);
    const float by_air = 1 - std::exp(-heat.air_rate * dt), by_solids = 1 - std::exp(-heat.solid_rate * dt);
    for_each_tile(topology, [&](int tile) {
        if (index.tile_empty(tile)) return;
        const SolidTile* solid = solids.tile(tile);
        for (int c = 0; c < kTileCells; ++c) {
            const float conducted = number > 0 ? now_.tile(tile)[c] - mean_.tile(tile)[c] : 0;
            for (size_t i = index.cell_begin(tile, c); i < index.cell_end(tile, c); ++i) {
                float& t = temperature[i];
                t += conducted;
                if (phi.tile(tile)[c] > -kNear) t += by_air * (heat.air - t);
                if (solid && solid->distance[c] < kNear) t += by_solids * (heat.solid - t);
                viscosity[i] = viscosity_at(heat, t);
            }
        }
    });
}

} // namespace spindrift
