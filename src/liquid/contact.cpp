// What solids do to the velocity and the particles, and how crowded particles are found.
#include "liquid/liquid.h"

#include "field/row.h"

namespace spindrift {

// Faces that are closed take the solid's velocity along its normal and keep the liquid's along the wall, so that liquid
// slides instead of sticking.
void Liquid::constrain_to_solids()
{
    const float voxel = params_.voxel;
    std::vector<int> near;
    for (int t = 0; t < topology_.tile_count(); ++t)
        if (solid_cells_.tile(t)) near.push_back(t);
    std::vector<std::array<std::array<float, kTileCells>, 3>> constrained(near.size());
    parallel_for(near.size(), [&](size_t k) {
        const int tile = near[k];
        thread_local MacBlock<1> block;
        block.gather(velocity_, tile, Margin::nearest);
        const Vec3f first = topology_.first_cell(tile).cast<float>();
        for (int a = 0; a < 3; ++a) {
            const float* open = solid_cells_.open(tile, a);
            std::memcpy(constrained[k][static_cast<size_t>(a)].data(), velocity_.u[a].tile(tile), sizeof constrained[k][0]);
            for (int c = 0; c < kTileCells; ++c) {
                if (open[c] > 0) continue;
                Vec3f x = cell_in_tile(c).cast<float>() + Vec3f::Constant(0.5f);
                x[a] -= 0.5f;
                const Vec3f world = (first + x) * voxel;
                const Vec3f n = solids_.normal(world, 0.1f * voxel), u = block.sample(x);
                constrained[k][static_cast<size_t>(a)][static_cast<size_t>(c)] = u[a] - (u - solids_.velocity(world)).dot(n) * n[a];
            }
        }
    });
    parallel_for(near.size(), [&](size_t k) {
        for (int a = 0; a < 3; ++a)
            std::memcpy(velocity_.u[a].tile(near[k]), constrained[k][static_cast<size_t>(a)].data(), sizeof constrained[k][0]);
    });
}

// Particles that ended in a solid are put back in front of it; those that left through an open side are removed.
void Liquid::collide()
{
    const float voxel = params_.voxel, gap = 0.02f * voxel, inverse_voxel = 1 / voxel;
    std::vector<uint8_t> keep(particles_.size(), 1);
    for_each_tile(topology_, [&](int tile) {
        for (size_t i = index_.tile_begin(tile); i < index_.tile_end(tile); ++i) {
            Vec3f& x = particles_.P[i];
            // Only where the particle is now can tell whether a solid is near.
            const int now = topology_.find(tile_of_cell(cell_of(x, inverse_voxel)));
            if (now != topology_.tile_count() && !solid_cells_.tile(now)) continue;
            // In a corner, getting out of one wall may take a particle nearer to the next.
            for (int attempt = 0; attempt < 4; ++attempt) {
                const float d = solids_.distance(x);
                if (d >= 0.5f * gap) break;
                const Vec3f n = solids_.normal(x, 0.1f * voxel);
                x += (gap - d) * n;
                const float into = (particles_.v[i] - solids_.velocity(x)).dot(n);
                if (into < 0) particles_.v[i] -= into * n;
            }
            keep[i] = !solids_.outside_open_side(x);
        }
    });
    remove_particles(particles_, keep);
}

namespace {

// Share of a tent of width 2 centred on a point that lies on the free side of a wall at a distance (in cells).
inline float free_share(float distance)
{
    const float d = std::clamp(distance, -1.0f, 1.0f);
    return d > 0 ? 1 - 0.5f * (1 - d) * (1 - d) : 0.5f * (1 + d) * (1 + d);
}

} // namespace

// How many more particles than eight a cell there are, from the weights that the transfer to the grid left on faces. Near
// the surface too few is no fault; inside, gaps are closed as well.
void Liquid::measure_crowding()
{
    constexpr float kRest = 8, kRate = 0.5f, kTolerated = 0.02f, kMost = 0.5f;
    crowding_.reset(topology_, 0);
    for_each_tile(topology_, [&](int tile) {
        const float* phi = phi_.tile(tile);
        const TileView w[3] = {{weight_.u[0], tile}, {weight_.u[1], tile}, {weight_.u[2], tile}};
        const SolidTile* solid = solid_cells_.tile(tile);
        float* out = crowding_.tile(tile);
        for_each_row([&](int x, int y, int o) {
            const Row sum = w[0].at(x, y) + w[0].above_x(x, y) + w[1].at(x, y) + w[1].above_y(x, y) + w[2].at(x, y) + w[2].above_z(x, y);
            for (int i = 0; i < kTileSize; ++i) {
                if (!(phi[o + i] < 0)) continue;
                float rest = 6 * kRest;
                if (solid && solid->distance[o + i] < 1.5f) {
                    // Distances at the faces, from that at the centre and its slope.
                    rest = 0;
                    const Vec3i c = cell_in_tile(o + i);
                    for (int a = 0; a < 3; ++a) {
                        Vec3i low = c, high = c;
                        low[a] = std::max(0, low[a] - 1), high[a] = std::min(kTileSize - 1, high[a] + 1);
                        const float slope = (solid->distance[offset_in_tile(high.x(), high.y(), high.z())] -
                                             solid->distance[offset_in_tile(low.x(), low.y(), low.z())]) /
                                            static_cast<float>(high[a] - low[a]);
                        const float d = solid->distance[o + i];
                        rest += kRest * (free_share(d - 0.5f * slope) + free_share(d + 0.5f * slope));
                    }
                }
                const float excess = sum[i] / std::max(rest, 1.0f) - 1;
                const bool inside = phi[o + i] <= -kSurfaceBand;
                const float wanted = inside ? excess : std::max(0.0f, excess - kTolerated);
                out[o + i] = kRate * std::clamp(wanted, -kMost, kMost);
            }
        });
    });
}

} // namespace spindrift
