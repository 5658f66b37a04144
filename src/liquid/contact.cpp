// What solids do to the velocity and to particles.
#include "liquid/liquid.h"

namespace spindrift {

namespace {

// The nearest point that has room, among points around x on rings up to four cells away. For places where distances do
// not lead out: a crevice, or inside a box that stands on the floor, where each sends a particle into the other.
Vec3f nearest_free_place(const Solids& solids, const Vec3f& x, float gap, float voxel)
{
    for (int ring = 1; ring <= 16; ++ring) {
        const float radius = 0.25f * static_cast<float>(ring) * voxel;
        Vec3f best = x;
        float most = gap;
        for (int s = 0; s < 27; ++s) {
            const Vec3f step = Vec3i(s / 9 - 1, s / 3 % 3 - 1, s % 3 - 1).cast<float>();
            const Vec3f there = x + radius * step.normalized();
            if (const float d = solids.distance(there); d > most) most = d, best = there;
        }
        if (best != x) return best;
    }
    return x;
}

} // namespace

// Faces that are closed take the solid's velocity along its normal and keep the liquid's along the wall, so that liquid
// slides instead of sticking.
void Liquid::constrain_to_solids()
{
    const float voxel = params_.voxel;
    std::vector<int> near;
    for (int t = 0; t < topology_.tile_count(); ++t)
        if (solid_cells_.tile(t)) near.push_back(t);
    thread_local std::vector<std::array<std::array<float, kTileCells>, 3>> kept; // between calls, for its pages
    auto& constrained = kept;
    if (constrained.size() < near.size()) constrained.resize(near.size());
    parallel_for(near.size(), [&](size_t k) {
        const int tile = near[k];
        thread_local MacBlock<1> block;
        block.gather(velocity_, tile, Margin::nearest);
        const Vec3f first = topology_.first_cell(tile).cast<float>();
        for (int a = 0; a < 3; ++a) {
            const float* open = solid_cells_.open(tile, a);
            std::memcpy(constrained[k][static_cast<size_t>(a)].data(), velocity_.u[a].tile(tile),
                        sizeof constrained[k][0]);
            for (int c = 0; c < kTileCells; ++c) {
                // Particles sample no deeper in solids than one cell.
                if (open[c] > 0 || solid_cells_.tile(tile)->distance[c] < -2) continue;
                Vec3f x = cell_in_tile(c).cast<float>() + Vec3f::Constant(0.5f);
                x[a] -= 0.5f;
                const Vec3f world = (first + x) * voxel;
                const Vec3f n = solids_.normal(world, 0.1f * voxel), u = block.sample(x);
                constrained[k][static_cast<size_t>(a)][static_cast<size_t>(c)] =
                    u[a] - (u - solids_.velocity(world)).dot(n) * n[a];
            }
        }
    });
    parallel_for(near.size(), [&](size_t k) {
        for (int a = 0; a < 3; ++a)
            std::memcpy(velocity_.u[a].tile(near[k]), constrained[k][static_cast<size_t>(a)].data(),
                        sizeof constrained[k][0]);
    });
}

// Particles that ended in a solid are put back in front of it; those that left through an open side are removed.
void Liquid::collide()
{
    const float voxel = params_.voxel, gap = 0.02f * voxel, inverse_voxel = 1 / voxel;
    std::vector<uint8_t> keep(particles_.size(), 1);
    for_each_tile(topology_, [&](int tile) {
        const Vec3i here = topology_.tile(tile);
        for (size_t i = index_.tile_begin(tile); i < index_.tile_end(tile); ++i) {
            Vec3f& x = particles_.P[i];
            // Only where the particle is now can tell whether a solid is near. It has moved by less than a tile.
            const Vec3i step = tile_of_cell(cell_of(x, inverse_voxel)) - here;
            if (step.cwiseAbs().maxCoeff() <= 1) {
                const int now = topology_.neighbour(tile, step.x(), step.y(), step.z());
                if (now != topology_.tile_count() && !solid_cells_.tile(now)) continue;
            }
            // In a corner, getting out of one wall may take a particle nearer to the next.
            bool free = false;
            for (int attempt = 0; attempt < 4; ++attempt) {
                const float d = solids_.distance(x);
                if (d >= 0.5f * gap) {
                    free = true;
                    break;
                }
                const Vec3f n = solids_.normal(x, 0.1f * voxel);
                x += (gap - d) * n;
                const float into = (particles_.v[i] - solids_.velocity(x)).dot(n);
                if (into < 0) particles_.v[i] -= into * n;
            }
            if (!free && solids_.distance(x) < 0) x = nearest_free_place(solids_, x, gap, voxel);
            keep[i] = !solids_.outside_open_side(x);
        }
    });
    remove_particles(particles_, keep);
}

} // namespace spindrift
