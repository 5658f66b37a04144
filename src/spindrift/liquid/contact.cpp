// Effects of solids on the velocity and on particles.
#include "spindrift/liquid/liquid.h"
#include "spindrift/world/push_out.h"

namespace spindrift {

namespace {

// A cell whose centre is at least this many cells away from solids is free of them: half its diagonal, plus a margin.
constexpr float kFarFromSolids = 0.9f;
// Distance kept between a particle and a solid [cells].
constexpr float kGap = 0.02f;
// Fast particles may pass walls thinner than this [cells].
constexpr float kThinnest = 0.2f;

// The nearest free point among samples around x on rings up to four cells away. For positions where distances do not
// lead out: a crevice, or inside a box that stands on the floor, where each solid pushes a particle into the other.
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

// Whether a position is in the liquid, deeper than a cell next to the surface, at a time since the start of the step:
// the liquid there is traced back along its velocity.
bool Liquid::in_liquid(const Vec3f& x, float time) const
{
    const Vec3i cell = cell_of(x, 1 / params_.voxel);
    const int tile = topology_.find(tile_of_cell(cell)), offset = offset_of_cell(cell);
    if (tile == topology_.tile_count()) return false;
    Vec3f u;
    for (int a = 0; a < 3; ++a) u[a] = velocity_.u[a].tile(tile)[offset];
    return phi_.at(cell_of(x - time * u, 1 / params_.voxel)) < -0.6f;
}

// Stop particles where they meet a collider, put those that ended in a solid back in front of it, and remove those that
// left through an open side.
void Liquid::collide(const std::vector<Vec3f>& from, float dt)
{
    const float inverse_voxel = 1 / params_.voxel, gap = kGap * params_.voxel, thinnest = kThinnest * params_.voxel;
    const float solids_way = std::max(solids_.speed(), solids_.body_speed()) * dt * inverse_voxel;
    const auto stop_at_collider = [&](const Vec3f& start, Vec3f& x, Vec3f& v) {
        // Colliders may extend beyond walls: a particle that met one there would be pushed back in on its other side.
        const Vec3f end = solids_.within_walls(x);
        const auto contact = solids_.first_contact(start, end, gap, thinnest);
        if (!contact) return;
        x = *contact;
        if (solids_.has_sheets()) stop_at_solid(end - *contact, x, v);
    };
    for_each_tile(topology_, [&](int tile) {
        const Vec3i here = topology_.tile(tile);
        // A lower bound of the distance to solids of a particle [cells]; it has moved by less than a tile.
        const auto room = [&](const Vec3f& x) {
            constexpr float kFarTile = 3.4f; // a tile without solid distances has no solid nearer than this
            const Vec3i cell = cell_of(x, inverse_voxel), step = tile_of_cell(cell) - here;
            if (step.cwiseAbs().maxCoeff() > 1) return 0.0f;
            const int there = topology_.neighbour(tile, step.x(), step.y(), step.z());
            if (there == topology_.tile_count()) return 0.0f;
            const SolidTile* solid = solid_cells_.tile(there);
            return solid ? solid->distance[offset_of_cell(cell)] - kFarFromSolids : kFarTile;
        };
        for (size_t i = index_.tile_begin(tile); i < index_.tile_end(tile); ++i) {
            Vec3f& x = particles_.P[i];
            float room_now = room(x);
            if (solids_.has_colliders()) {
                const float way = (x - from[i]).norm() * inverse_voxel + 1.8f * solids_way;
                if (room_now <= 0.5f * way || room(from[i]) <= 0.5f * way) {
                    stop_at_collider(from[i], x, particles_.v[i]);
                    room_now = 0;
                }
            }
            if (room_now <= 0) push_out(x, particles_.v[i], dt);
            if (room_now <= 0 && solids_.has_sheets()) keep_on_side(from[i], x);
        }
    });
    if (!solids_.has_open_sides()) return;
    std::vector<uint8_t> keep(particles_.size());
    parallel_for(
        keep.size(), [&](size_t i) { keep[i] = !solids_.outside_open_side(particles_.P[i]); }, 4096);
    remove_particles(particles_, keep);
}

// Return a particle to where it came from if another solid has pushed it through or into a sheet, or if a sheet keeps
// it inside another solid. On a sheet its side would be undefined.
void Liquid::keep_on_side(const Vec3f& from, Vec3f& x) const
{
    const Vec3f back = solids_.moved_with_sheet(from);
    if (lost_its_side(solids_, kGap * params_.voxel, back, x) ||
        (solids_.distance(x) < 0 && solids_.distance(back) >= 0))
        x = back;
}

// Remove the particle's velocity into the nearest solid; the grid resolves too little of a sheet to do it. Reflect the
// distance that the particle would have gone `beyond` the solid back to its front, within a cell: otherwise all
// particles that hit in one step would lie on the surface, with nothing between them that could separate them.
void Liquid::stop_at_solid(const Vec3f& beyond, Vec3f& x, Vec3f& v) const
{
    const Vec3f n = solids_.normal(x, 0.1f * params_.voxel);
    v -= std::min(0.0f, (v - solids_.velocity(x)).dot(n)) * n;
    const float most = params_.voxel, depth = std::fmod(std::max(0.0f, -beyond.dot(n)), 2 * most);
    const Vec3f back = x + (depth < most ? depth : 2 * most - depth) * n;
    if (!solids_.parted(x, back) && solids_.distance(back) > 0) x = back;
}

// Move a particle that is in a solid, or touches one, to its surface, and remove the velocity into it.
void Liquid::push_out(Vec3f& x, Vec3f& v, float dt) const
{
    const float voxel = params_.voxel, gap = kGap * voxel;
    push_out_of_solids(solids_, gap, voxel, x, [&](const Vec3f& n) {
        const Vec3f solid = solids_.velocity(x);
        const float into = (v - solid).dot(n);
        if (into < 0) v -= into * n;
        if (!solids_.has_grip()) return;
        const Vec3f sliding = v - solid - (v - solid).dot(n) * n;
        v -= lost_share(solids_.grip(x), sliding.norm(), std::max(-into, 0.0f), dt * fps_) * sliding;
    });
    if (solids_.distance(x) < 0) x = nearest_free_place(solids_, x, gap, voxel);
    // A particle that cannot get out moves with the solid, so that it does not accelerate.
    if (solids_.has_sheets() && solids_.distance(x) < 0) v = solids_.velocity(x);
}

} // namespace spindrift
