#include "liquid/heat.h"

#include "liquid/viscosity.h"

namespace spindrift {

float viscosity_at(const HeatParams& heat, float temperature)
{
    const float share = clamp01((temperature - heat.cold) / (heat.hot - heat.cold));
    return heat.cold_viscosity * std::pow(heat.hot_viscosity / heat.cold_viscosity, share);
}

void Heat::exchange(const HeatParams& heat, const ParticleIndex& index, const Field<float>& phi,
                    const SolidCells& solids, float voxel, float dt, Particles& particles)
{
    constexpr float kNear = 1; // cells from the surface or a solid within which a particle feels it
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
    const float conducted = std::min(heat.diffusivity * dt / (voxel * voxel), 1.0f / 6);
    const float by_air = 1 - std::exp(-heat.air_rate * dt), by_solids = 1 - std::exp(-heat.solid_rate * dt);
    for_each_tile(topology, [&](int tile) {
        if (index.tile_empty(tile)) return;
        const TileView mean(mean_, tile), any(any_, tile);
        const SolidTile* solid = solids.tile(tile);
        for_each_row([&](int x, int y, int o) {
            const Row here = mean.at(x, y);
            Row flow = splat(0);
            const auto from = [&](Row there, Row has) { flow += has * (there - here); };
            from(mean.below_x(x, y), any.below_x(x, y)), from(mean.above_x(x, y), any.above_x(x, y));
            from(mean.below_y(x, y), any.below_y(x, y)), from(mean.above_y(x, y), any.above_y(x, y));
            from(mean.below_z(x, y), any.below_z(x, y)), from(mean.above_z(x, y), any.above_z(x, y));
            for (int z = 0; z < kTileSize; ++z)
                for (size_t i = index.cell_begin(tile, o + z); i < index.cell_end(tile, o + z); ++i) {
                    float& t = temperature[i];
                    t += conducted * flow[z];
                    if (phi.tile(tile)[o + z] > -kNear) t += by_air * (heat.air - t);
                    if (solid && solid->distance[o + z] < kNear) t += by_solids * (heat.solid - t);
                    viscosity[i] = viscosity_at(heat, t);
                }
        });
    });
}

} // namespace spindrift
