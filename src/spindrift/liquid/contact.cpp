// What solids do to the velocity and to particles.
#include "spindrift/liquid/liquid.h"

namespace spindrift {

namespace {

// A cell whose centre is this many cells away from solids is free of them: half its diagonal, and some more.
constexpr float kFarFromSolids = 0.9f;
// Between a particle and a solid, in cells.
constexpr float kGap = 0.02f;
// Walls that are thinner than this, in cells, may be passed by fast particles.
constexpr float kThinnest = 0.2f;

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

// Friction and stickiness: liquid in cells next to a collider loses some of its sliding. Friction is Coulomb's, with
// the pressure that the projection has found: over a step it takes friction * s off the velocity, s being the impulse
// of pressure on a cell's side over the cell's mass.
void Liquid::hold_back(float dt)
{
    find_held(
        dt, [&](int tile, int c) { return phi_.tile(tile)[c] < 0; },
        [&](int tile, int c, const Vec3f& n) {
            // The pressure on the wall is that of the cell's centre, and of what gravity adds on the way there.
            const float way = solid_cells_.tile(tile)->distance[c];
            const float deeper = std::max(0.0f, -dt * way * params_.gravity.dot(n));
            return static_cast<float>(projection_.s().tile(tile)[c]) + deeper;
        });
    take_held([](Row, Row, Row held) { return held; });
}

// A layer on a solid that is too thin for the surface to show has no pressure, and would go on with what it came from
// for ever. Its own weight presses on it. Faces next to the liquid are left as they are.
void Liquid::hold_thin_layers(float dt)
{
    find_held(
        dt,
        [&](int tile, int c) {
            return !(phi_.tile(tile)[c] < 0) && index_.cell_begin(tile, c) != index_.cell_end(tile, c);
        },
        [&](int, int, const Vec3f& n) { return -dt * params_.gravity.dot(n); });
    take_held([](Row phi, Row phi_below, Row held) {
        const Row zero = splat(0);
        return min(phi, phi_below) < zero ? zero : held;
    });
}

// What cells next to solids lose, if is_held(tile, cell): with pressed(tile, cell, normal), which may be below 0.
template <class IsHeld, class Pressed> void Liquid::find_held(float dt, const IsHeld& is_held, const Pressed& pressed)
{
    constexpr float kNextTo = 1; // cells from the wall
    held_.reset(topology_, 0);
    const std::vector<int>& near = solid_cells_.near();
    parallel_for(near.size(), [&](size_t k) {
        const int tile = near[k];
        const SolidTile& solid = *solid_cells_.tile(tile);
        const TileView u[3] = {{velocity_.u[0], tile}, {velocity_.u[1], tile}, {velocity_.u[2], tile}};
        const Vec3f first = topology_.first_cell(tile).cast<float>() + Vec3f::Constant(0.5f);
        for_each_row([&](int x, int y, int o) {
            const Row above[3] = {u[0].above_x(x, y), u[1].above_y(x, y), u[2].above_z(x, y)};
            for (int z = 0; z < kTileSize; ++z) {
                if (!(solid.distance[o + z] < kNextTo) || !is_held(tile, o + z)) continue;
                const Vec3f at = (first + cell_in_tile(o + z).cast<float>()) * params_.voxel;
                const Solids::Grip hold = solids_.grip(at);
                if (hold.friction == 0 && hold.stick == 0) continue;
                Vec3f relative = -solids_.velocity(at);
                for (int a = 0; a < 3; ++a) relative[a] += 0.5f * (u[a].at(x, y)[z] + above[a][z]);
                const Vec3f n = solids_.normal(at, 0.1f * params_.voxel), sliding = relative - relative.dot(n) * n;
                const float lost = lost_to(hold, sliding.norm(), std::max(pressed(tile, o + z, n), 0.0f), dt);
                for (int a = 0; a < 3; ++a) held_.u[a].tile(tile)[o + z] = -lost * sliding[a];
            }
        });
    });
}

// A face takes half from each side: share(phi above, phi below, that) of it.
template <class Share> void Liquid::take_held(const Share& share)
{
    const auto near = [&](int tile) { return tile != topology_.tile_count() && solid_cells_.tile(tile); };
    for_each_tile(topology_, [&](int tile) {
        if (!near(tile) && !near(topology_.neighbour(tile, -1, 0, 0)) && !near(topology_.neighbour(tile, 0, -1, 0)) &&
            !near(topology_.neighbour(tile, 0, 0, -1)))
            return;
        const TileView held[3] = {{held_.u[0], tile}, {held_.u[1], tile}, {held_.u[2], tile}}, phi(phi_, tile);
        for_each_row([&](int x, int y, int o) {
            const Row below[3] = {held[0].below_x(x, y), held[1].below_y(x, y), held[2].below_z(x, y)};
            const Row phi_below[3] = {phi.below_x(x, y), phi.below_y(x, y), phi.below_z(x, y)};
            for (int a = 0; a < 3; ++a) {
                float* u = velocity_.u[a].tile(tile) + o;
                store_row(u, load_row(u) + share(phi.at(x, y), phi_below[a], 0.5f * (held[a].at(x, y) + below[a])));
            }
        });
    });
}

// The share of its sliding that liquid loses in a step.
float Liquid::lost_to(const Solids::Grip& hold, float speed, float pressed, float dt) const
{
    const float left = speed > 0 ? std::max(0.0f, 1 - hold.friction * pressed / speed) : 1;
    return 1 - left * std::pow(1 - hold.stick, dt * fps_);
}

// Particles that met a collider on their way stay where they met it, those that ended in a solid are put back in front
// of it, and those that left through an open side are removed.
void Liquid::collide(const std::vector<Vec3f>& from, float dt)
{
    const float inverse_voxel = 1 / params_.voxel, gap = kGap * params_.voxel, thinnest = kThinnest * params_.voxel;
    const float solids_way = std::max(solids_.speed(), solids_.body_speed()) * dt * inverse_voxel;
    for_each_tile(topology_, [&](int tile) {
        const Vec3i here = topology_.tile(tile);
        // How far solids are from a particle at least, in cells; it has moved by less than a tile.
        const auto room = [&](const Vec3f& x) {
            constexpr float kFarTile = 3.4f; // a tile that knows of no solid has none nearer than this
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
                    // Colliders may go on behind walls: what met one there would be pushed back in on its other side.
                    const Vec3f end = solids_.within_walls(x);
                    if (const auto contact = solids_.first_contact(from[i], end, gap, thinnest)) {
                        const Vec3f beyond = end - *contact;
                        x = *contact;
                        if (solids_.has_sheets()) stop_at_solid(beyond, x, particles_.v[i]);
                    }
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

// A particle that another solid has pushed through a sheet or into it, or that a sheet keeps in another solid, goes
// back to where it came from. On a sheet it would have no side.
void Liquid::keep_on_side(const Vec3f& from, Vec3f& x) const
{
    const float least = 0.1f * kGap * params_.voxel;
    const Vec3f back = solids_.moved_with_sheet(from);
    if (solids_.parted(back, x) || (solids_.sheet_distance(x) < least && solids_.sheet_distance(back) >= least) ||
        (solids_.distance(x) < 0 && solids_.distance(back) >= 0))
        x = back;
}

// Takes from a particle's velocity what it has into the nearest solid. The grid shows too little of a sheet to do it.
// How far the particle would have gone `beyond` the solid is folded back in front of it, within a cell: those that
// strike in one step would otherwise all lie on the surface, with nothing between them that could move them apart.
void Liquid::stop_at_solid(const Vec3f& beyond, Vec3f& x, Vec3f& v) const
{
    const Vec3f n = solids_.normal(x, 0.1f * params_.voxel);
    v -= std::min(0.0f, (v - solids_.velocity(x)).dot(n)) * n;
    const float most = params_.voxel, depth = std::fmod(std::max(0.0f, -beyond.dot(n)), 2 * most);
    const Vec3f back = x + (depth < most ? depth : 2 * most - depth) * n;
    if (!solids_.parted(x, back) && solids_.distance(back) > 0) x = back;
}

// Moves a particle that is in a solid, or touches one, in front of it, and stops it from moving on into it.
void Liquid::push_out(Vec3f& x, Vec3f& v, float dt) const
{
    const float voxel = params_.voxel, gap = kGap * voxel;
    // In a corner, getting out of one wall may take a particle nearer to the next.
    for (int attempt = 0; attempt < 4; ++attempt) {
        const float d = solids_.distance(x);
        if (d >= 0.5f * gap) break;
        const Vec3f n = solids_.normal(x, 0.1f * voxel);
        x += (gap - d) * n;
        const Vec3f solid = solids_.velocity(x);
        const float into = (v - solid).dot(n);
        if (into < 0) v -= into * n;
        if (!solids_.has_grip()) continue;
        const Vec3f sliding = v - solid - (v - solid).dot(n) * n;
        v -= lost_to(solids_.grip(x), sliding.norm(), std::max(-into, 0.0f), dt) * sliding;
    }
    if (solids_.distance(x) < 0) x = nearest_free_place(solids_, x, gap, voxel);
    // One that cannot get out goes with the solid, and gathers no speed.
    if (solids_.has_sheets() && solids_.distance(x) < 0) v = solids_.velocity(x);
}

} // namespace spindrift
