// What solids do to the velocity and to particles.
#include "liquid/liquid.h"

namespace spindrift {

namespace {

// A cell whose centre is this many cells away from solids is free of them: half its diagonal, and some more.
constexpr float kFarFromSolids = 0.9f;

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

void Liquid::forget_closed_faces(MacField& known) const
{
    for_each_tile(topology_, [&](int tile) {
        if (const SolidTile* solid = solid_cells_.tile(tile))
            for (int a = 0; a < 3; ++a) {
                float* k = known.u[a].tile(tile);
                for (int o = 0; o < kTileCells; o += kTileSize) {
                    const Row zero = splat(0);
                    store_row(k + o, load_row(solid->open[a] + o) > zero ? load_row(k + o) : zero);
                }
            }
    });
}

// Faces that are closed take the solid's velocity along its normal and keep the liquid's along the wall, so that liquid
// slides instead of sticking. Where viscosity reaches over a cell in a step the liquid sticks: the faces hold what
// makes the velocity on the wall, in the middle between them and the liquid, that of the solid.
void Liquid::constrain_to_solids()
{
    std::vector<int> near;
    std::vector<size_t> begin = {0}; // of each tile's faces among all
    for (int t = 0; t < topology_.tile_count(); ++t)
        if (const SolidTile* solid = solid_cells_.tile(t)) {
            near.push_back(t);
            begin.push_back(begin.back() + solid->closed_faces.size());
        }
    std::vector<float> constrained(begin.back());
    const float stick = params_.viscous() ? std::min(1.0f, viscosity_.stiffness()) : 0;
    parallel_for(near.size(), [&](size_t k) {
        const auto& faces = solid_cells_.tile(near[k])->closed_faces;
        if (faces.empty()) return;
        thread_local MacBlock<1> block;
        block.gather(velocity_, near[k], Margin::nearest);
        const Vec3f first = topology_.first_cell(near[k]).cast<float>();
        for (size_t i = 0; i < faces.size(); i += kTileSize) {
            const size_t count = std::min<size_t>(kTileSize, faces.size() - i);
            Vec3f x[kTileSize], u[kTileSize];
            for (size_t j = 0; j < count; ++j) x[j] = face_in_tile(faces[i + j].cell, faces[i + j].axis);
            store_row3(u, block.sample(load_row3(x, count)), count);
            for (size_t j = 0; j < count; ++j) {
                const auto& [n, cell, axis] = faces[i + j];
                const Vec3f solid = solids_.velocity((first + x[j]) * params_.voxel), relative = u[j] - solid;
                float& out = constrained[begin[k] + i + j];
                out = u[j][axis] - relative.dot(n) * n[axis];
                if (stick > 0) {
                    const float depth = -solids_.distance((first + x[j]) * params_.voxel) / params_.voxel;
                    out = mix(out, solid[axis] - clamp01(2 * depth) * relative[axis], stick);
                }
            }
        }
    });
    parallel_for(near.size(), [&](size_t k) {
        const float* value = constrained.data() + begin[k];
        for (const auto& face : solid_cells_.tile(near[k])->closed_faces)
            velocity_.u[face.axis].tile(near[k])[face.cell] = *value++;
    });
}

bool Liquid::in_solid(const Vec3f& x) const
{
    const Vec3i cell = cell_of(x, 1 / params_.voxel);
    const int tile = topology_.find(tile_of_cell(cell));
    if (tile != topology_.tile_count()) {
        const SolidTile* solid = solid_cells_.tile(tile);
        if (!solid || solid->distance[offset_of_cell(cell)] > kFarFromSolids) return false;
    }
    return solids_.distance(x) < 0;
}

// True if a place is in the liquid, deeper than a cell next to the surface, at a time since the step began: the liquid
// is taken to come from where its velocity at the place points back to.
bool Liquid::in_liquid(const Vec3f& x, float time) const
{
    const Vec3i cell = cell_of(x, 1 / params_.voxel);
    const int tile = topology_.find(tile_of_cell(cell)), offset = offset_of_cell(cell);
    if (tile == topology_.tile_count()) return false;
    Vec3f u;
    for (int a = 0; a < 3; ++a) u[a] = velocity_.u[a].tile(tile)[offset];
    return phi_.at(cell_of(x - time * u, 1 / params_.voxel)) < -0.6f;
}

// Particles that ended in a solid are put back in front of it; those that left through an open side are removed.
void Liquid::collide()
{
    const float inverse_voxel = 1 / params_.voxel;
    for_each_tile(topology_, [&](int tile) {
        const Vec3i here = topology_.tile(tile);
        for (size_t i = index_.tile_begin(tile); i < index_.tile_end(tile); ++i) {
            // Only where the particle is now can tell whether a solid is near. It has moved by less than a tile.
            const Vec3i cell = cell_of(particles_.P[i], inverse_voxel), step = tile_of_cell(cell) - here;
            if (step.cwiseAbs().maxCoeff() <= 1) {
                const SolidTile* solid = solid_cells_.tile(topology_.neighbour(tile, step.x(), step.y(), step.z()));
                if (!solid || solid->distance[offset_of_cell(cell)] > kFarFromSolids) continue;
            }
            push_out(particles_.P[i], particles_.v[i]);
        }
    });
    if (!solids_.has_open_sides()) return;
    std::vector<uint8_t> keep(particles_.size());
    parallel_for(
        keep.size(), [&](size_t i) { keep[i] = !solids_.outside_open_side(particles_.P[i]); }, 4096);
    remove_particles(particles_, keep);
}

// Moves a particle that is in a solid, or touches one, in front of it, and stops it from moving on into it.
void Liquid::push_out(Vec3f& x, Vec3f& v) const
{
    const float voxel = params_.voxel, gap = 0.02f * voxel;
    // In a corner, getting out of one wall may take a particle nearer to the next.
    for (int attempt = 0; attempt < 4; ++attempt) {
        const float d = solids_.distance(x);
        if (d >= 0.5f * gap) return;
        const Vec3f n = solids_.normal(x, 0.1f * voxel);
        x += (gap - d) * n;
        const float into = (v - solids_.velocity(x)).dot(n);
        if (into < 0) v -= into * n;
    }
    if (solids_.distance(x) < 0) x = nearest_free_place(solids_, x, gap, voxel);
}

} // namespace spindrift
