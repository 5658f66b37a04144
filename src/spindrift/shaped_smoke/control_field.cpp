#include "spindrift/shaped_smoke/control_field.h"

#include "spindrift/base/scratch.h"
#include "spindrift/field/row.h"

namespace spindrift {

namespace {

// Sums of w and w u at the cells of a tile.
struct ShepardSums {
    alignas(32) float weight[kTileCells], u[3][kTileCells];

    void clear() { std::memset(this, 0, sizeof *this); }
    // A particle at p, relative to the tile's corner; lengths in cells.
    void add(const Vec3f& p, const Vec3f& velocity, float radius2)
    {
        constexpr Row kCenters = {0.5f, 1.5f, 2.5f, 3.5f, 4.5f, 5.5f, 6.5f, 7.5f};
        const Row dz = kCenters - p.z(), dz2 = dz * dz;
        for (int x = 0; x < kTileSize; ++x) {
            const float dx = static_cast<float>(x) + 0.5f - p.x(), left_x = radius2 - dx * dx;
            if (left_x <= 0) continue;
            for (int y = 0; y < kTileSize; ++y) {
                const float dy = static_cast<float>(y) + 0.5f - p.y(), left = left_x - dy * dy;
                if (left <= 0) continue;
                const int o = offset_in_tile(x, y, 0);
                const Row q = max(left - dz2, splat(0)), w = q * q * q; // (2)
                store_row(weight + o, load_row(weight + o) + w);
                for (int a = 0; a < 3; ++a) store_row(u[a] + o, load_row(u[a] + o) + w * velocity[a]);
            }
        }
    }
};

} // namespace

void ControlField::interpolate(const Topology& topology, float voxel, const Particles& controls, float radius,
                               const Vec3f& wind)
{
    for (auto& u : u_) u.reset_uninitialized(topology, 0);
    lists_.build(topology, voxel, controls.P, radius);
    const float cells2 = radius * radius / (voxel * voxel);
    const float enough = 0.1f * cells2 * cells2 * cells2; // a tenth of the largest weight
    for_each_tile(topology, [&](int tile) {
        auto& sums = thread_scratch<ShepardSums>();
        const std::span<const uint32_t> near = lists_.of(tile);
        if (!near.empty()) sums.clear();
        const Vec3f corner = topology.first_cell(tile).cast<float>();
        for (const uint32_t i : near) sums.add(controls.P[i] / voxel - corner, controls.v[i], cells2);
        for_each_row([&](int, int, int o) {
            if (near.empty()) {
                for (int a = 0; a < 3; ++a) store_row(u_[a].tile(tile) + o, splat(wind[a]));
                return;
            }
            const Row weight = load_row(sums.weight + o), inverse = inverse_or_zero(weight);
            const Row share = min(weight / enough, splat(1));
            for (int a = 0; a < 3; ++a) {
                const Row mean = load_row(sums.u[a] + o) * inverse; // (1)
                store_row(u_[a].tile(tile) + o, mix(splat(wind[a]), mean, share));
            }
        });
    });
}

} // namespace spindrift
