#include "spindrift/ripples/smooth_field.h"

namespace spindrift {

SmoothField::SmoothField(const Field<float>& coarse, int refine)
    : coarse_(&coarse), refine_(refine), count_(kTileSize / refine + 4)
{
    for (int i = 0; i < kTileSize; ++i) {
        // Position of the cell centre among coarse cell centres; node 0 is two coarse cells before the tile.
        const float at = (static_cast<float>(i) + 0.5f) / static_cast<float>(refine) + 1.5f;
        const int below = static_cast<int>(at);
        const float t = at - static_cast<float>(below), s = 1 - t;
        places_[i] = {
            below - 1,
            {s * s * s / 6, (3 * t * t * t - 6 * t * t + 4) / 6, (3 * s * s * s - 6 * s * s + 4) / 6, t * t * t / 6},
            {-0.5f * s * s, 1.5f * t * t - 2 * t, 2 * s - 1.5f * s * s, 0.5f * t * t}};
    }
}

void SmoothField::gather(const Vec3i& fine_tile, float (&nodes)[kMaxNodes][kMaxNodes][kMaxNodes]) const
{
    const Topology& topology = coarse_->topology();
    const Vec3i first = fine_tile * (kTileSize / refine_) - Vec3i::Constant(2);
    const Vec3i home = tile_of_cell(first);
    int found[2][2][2]; // nodes span at most two tiles per axis
    for (int c = 0; c < 8; ++c)
        found[c >> 2][c >> 1 & 1][c & 1] = topology.find(home + Vec3i(c >> 2, c >> 1 & 1, c & 1));
    const Vec3i base = home * kTileSize;
    for (int x = 0; x < count_; ++x)
        for (int y = 0; y < count_; ++y)
            for (int z = 0; z < count_; ++z) {
                const Vec3i cell = first + Vec3i(x, y, z), tile = tile_of_cell(cell - base);
                nodes[x][y][z] = coarse_->tile(found[tile.x()][tile.y()][tile.z()])[offset_of_cell(cell)];
            }
}

void SmoothField::sample(const Vec3i& fine_tile, Tile& out) const
{
    alignas(64) float nodes[kMaxNodes][kMaxNodes][kMaxNodes];
    gather(fine_tile, nodes);
    // Separable: values and slopes along z, then y, then x.
    struct Rows {
        Row value, slope;
    };
    Rows along_z[kMaxNodes][kMaxNodes];
    for (int x = 0; x < count_; ++x)
        for (int y = 0; y < count_; ++y)
            for (int i = 0; i < kTileSize; ++i) {
                const Place& p = places_[i];
                const float* n = nodes[x][y] + p.first;
                along_z[x][y].value[i] =
                    p.weight[0] * n[0] + p.weight[1] * n[1] + p.weight[2] * n[2] + p.weight[3] * n[3];
                along_z[x][y].slope[i] = p.slope[0] * n[0] + p.slope[1] * n[1] + p.slope[2] * n[2] + p.slope[3] * n[3];
            }
    struct Plane {
        Row value, along_y, along_z;
    };
    Plane planes[kMaxNodes][kTileSize];
    for (int x = 0; x < count_; ++x)
        for (int j = 0; j < kTileSize; ++j) {
            const Place& p = places_[j];
            Plane sum = {splat(0), splat(0), splat(0)};
            for (int k = 0; k < 4; ++k) {
                const Rows& rows = along_z[x][p.first + k];
                sum.value += p.weight[k] * rows.value, sum.along_y += p.slope[k] * rows.value;
                sum.along_z += p.weight[k] * rows.slope;
            }
            planes[x][j] = sum;
        }
    for_each_row([&](int x, int y, int o) {
        const Place& p = places_[x];
        Row value = splat(0), slope[3] = {splat(0), splat(0), splat(0)};
        for (int k = 0; k < 4; ++k) {
            const Plane& plane = planes[p.first + k][y];
            value += p.weight[k] * plane.value, slope[0] += p.slope[k] * plane.value;
            slope[1] += p.weight[k] * plane.along_y, slope[2] += p.weight[k] * plane.along_z;
        }
        store_row(out.value + o, value);
        for (int a = 0; a < 3; ++a) store_row(out.slope[a] + o, slope[a]);
    });
}

} // namespace spindrift
