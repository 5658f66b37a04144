// Moves particles with the grid velocity, and collides them with solids.
#include "spindrift/base/scratch.h"
#include "spindrift/sand/granular_sand.h"
#include "spindrift/sand/tuning.h"

#include "spindrift/field/seen_samples.h"
#include "spindrift/points/transfer.h"
#include "spindrift/world/push_out.h"

namespace spindrift {

// Set each closed face to the mean of adjacent open faces that touch sand; the component through a solid's surface is
// scaled by `through_surfaces`. Ignore faces behind a sheet.
void GranularSand::fill_closed_faces(MacField& velocity, float through_surfaces, const SolidCells& room) const
{
    const std::vector<int>& near = room.near();
    parallel_for(near.size(), [&](size_t k) {
        const int tile = near[k];
        for (const auto& face : room.tile(tile)->closed_faces) {
            const uint8_t* links = room.sight() ? room.sight()->links(tile, face.axis) : nullptr;
            float sum = 0, count = 0;
            for (int a = 0; a < 3; ++a)
                for (const int side : {-1, 1}) {
                    const auto [t, o] = grid_.topology.next_cell(tile, face.cell, a, side);
                    if (t == grid_.topology.tile_count() || !(room.open(t, face.axis)[o] > 0) ||
                        !(grid_.at_faces.u[face.axis].tile(t)[o] > 0))
                        continue;
                    if (links && !(links[face.cell] >> (2 * a + (side > 0)) & 1)) continue;
                    const float part = a == face.axis ? through_surfaces : 1;
                    sum += part * velocity.u[face.axis].tile(t)[o], count += 1;
                }
            // No race: open faces are only read, closed ones only written.
            if (count > 0) velocity.u[face.axis].tile(tile)[face.cell] = sum / count;
        }
    });
}

// Lines 6 a to c of [Narain 2011, figure 5.7]. In flight a particle keeps its own velocity and follows its parabola
// exactly, since grains of a cloud do not meet (5.3.2); FLIP adds the changes by stresses. Dense sand moves with the
// grid: relative motion of grains is lost at once, and FLIP would give grains that have landed the change that the
// floor applies to those that are landing. The velocity gradient within a cell stays with the particle (APIC); without
// it, a frictionless column would lose a quarter of its energy while it collapses. In between, the velocity is clamped
// to the range between the particle's own and the grid's.
void GranularSand::move(float dt)
{
    const float voxel = params_.voxel, inverse_voxel = 1 / voxel, step = dt * inverse_voxel;
    const Vec3f fall = dt * params_.gravity;
    const float rounding = 1 - std::exp(-dt / params_.rounding);
    Vec3f* diagonal = particles_.attribute<Vec3f>(kShapeDiagonal).data();
    Vec3f* shear = particles_.attribute<Vec3f>(kShapeShear).data();
    Vec3f* affine[3];
    for (int a = 0; a < 3; ++a) affine[a] = particles_.attribute<Vec3f>(kAffine[a]).data();
    const float* mass = particles_.attribute<float>(kMass).data();
    const int32_t* material = particles_.attribute<int32_t>(kMaterial).data();
    const Topology& topology = grid_.topology;
    marks_.assign(particles_.size(), 0), flow_at_splits_.resize(particles_.size());
    std::vector<float> fastest(topology.tile_count(), 0.0f);
    for_each_tile(topology, [&](int tile) {
        if (grid_.index.tile_empty(tile)) return;
        auto& now = thread_scratch<MacBlock<1>>();
        auto& push = thread_scratch<MacBlock<1>>();
        auto& filled = thread_scratch<Block<float, 1>>();
        now.gather(velocity_, tile, Margin::nearest);
        push.gather(push_, tile, Margin::background);
        filled.gather(grid_.filled, tile);
        const Vec3f first = topology.first_cell(tile).cast<float>();
        const bool blocked = solid_cells_.sight() && solid_cells_.sight()->blocked(tile);
        Row most = splat(0);
        for_each_eight(grid_.index, tile, [&](size_t begin, size_t count) {
            const MacBlock<1>::Places places(places_in_tile(&particles_.P[begin], count, inverse_voxel, first));
            Around around;
            auto& [u, du, J, full] = around;
            for (int a = 0; a < 3; ++a) {
                const auto place = places.of(a);
                const MacBlock<1>::Corners corners(now, a, place);
                u[a] = corners.value(place);
                J[a] = step * corners.gradient(place);
                du[a] = MacBlock<1>::Corners(push, a, place).value(place);
            }
            const auto center = places.of(-1);
            full = MacBlock<1>::Corners(filled, center).value(center);
            if (blocked) look_around_sheets(begin, count, fall, around);
            const Row dense = min(splat(1), max(splat(0), (full - SandTuning::flying) *
                                                              (1 / (SandTuning::flowing - SandTuning::flying))));
            const Row3 v = load_row3(&particles_.v[begin], count), x = load_row3(&particles_.P[begin], count);
            const Row old[3] = {v.x, v.y, v.z}, from[3] = {x.x, x.y, x.z};
            Row velocity[3], to[3];
            for (int a = 0; a < 3; ++a) {
                const Row free = old[a] + fall[a], low = min(free, u[a]), high = max(free, u[a]);
                const Row flip = min(max(free + du[a], low), high);
                velocity[a] = mix(flip, u[a], dense);
                // The mean velocity over a step of free fall is half a step's gravity below the new one. Supported sand
                // gets no such correction.
                const Row held = 4 * max(du[a], -du[a]), all = splat(std::abs(fall[a]));
                const Row fallen = held < all ? fall[a] * (1 - held / all) : splat(0);
                const Row moving = mix(flip - 0.5f * fall[a], u[a] - 0.5f * fallen, dense);
                to[a] = from[a] + dt * moving;
                most = max(most, max(max(velocity[a], -velocity[a]), max(moving, -moving)));
            }
            const Row share = (1 / dt) * dense;
            for (int a = 0; a < 3; ++a)
                store_row3(affine[a] + begin, {share * J[a].x, share * J[a].y, share * J[a].z}, count);
            store_row3(&particles_.v[begin], {velocity[0], velocity[1], velocity[2]}, count);
            store_row3(&particles_.P[begin], {to[0], to[1], to[2]}, count);
            if (!params_.shapes) return;
            ShapeRows shape = ParticleShapes::load(diagonal + begin, shear + begin, count);
            shape.stretch(J);
            shape.relax(rounding * dense, ellipsoids_.round(mass + begin, material + begin, count));
            ParticleShapes::store(shape, diagonal + begin, shear + begin, count);
            const RowMask sound = ellipsoids_.sound(shape);
            bool all_sound = true;
            for (size_t i = 0; i < count; ++i)
                marks_[begin + i] = sound[static_cast<int>(i)] == 0, all_sound &= marks_[begin + i] == 0;
            if (all_sound) return;
            for (int a = 0; a < 3; ++a) {
                const auto place = places.of(a);
                // Velocities before the step plus gravity, averaged: bounded by those of the particles around.
                MacBlock<1>::Corners before(now, a, place);
                const MacBlock<1>::Corners pushed(push, a, place);
                for (int c = 0; c < 8; ++c) before.at[c] -= pushed.at[c];
                const Row margin = max(splat(0), min(before.highest() - velocity[a], velocity[a] - before.lowest()));
                for (size_t i = 0; i < count; ++i) {
                    const int lane = static_cast<int>(i);
                    FlowAtSplit& flow = flow_at_splits_[begin + i];
                    flow.gradient.row(a) << J[a].x[lane] / dt, J[a].y[lane] / dt, J[a].z[lane] / dt;
                    flow.margin[a] = (1 - dense[lane]) * margin[lane]; // dense sand has it in its affine velocity
                }
            }
        });
        fastest[tile] = largest(most);
    });
    speed_ = *std::max_element(fastest.begin(), fastest.end());
}

// For up to eight particles next to sheets, sample the grid on their own side only, and drop the part of J across the
// sheet: splatting it back would amplify it from step to step. A particle that sees no sample keeps its own velocity.
void GranularSand::look_around_sheets(size_t begin, size_t count, const Vec3f& fall, Around& around) const
{
    const Sight& sight = *solid_cells_.sight();
    const Topology& topology = grid_.topology;
    for (size_t i = 0; i < count; ++i) {
        const Vec3f x =
            solids_.colliders_move() ? solids_.moved_with_sheet(particles_.P[begin + i]) : particles_.P[begin + i];
        const Vec3i cell = cell_of(x, 1 / params_.voxel);
        const int tile = topology.find(tile_of_cell(cell)), offset = offset_of_cell(cell);
        if (tile == topology.tile_count()) continue;
        if (sees_all_samples(sight, tile, offset)) continue;
        const SeenSamples samples = seen_samples(sight, topology, params_.voxel, x, cell);
        const auto seen = sample_seen(velocity_, sight, params_.voxel, x, samples.faces);
        const Vec3f velocity = seen ? seen->u : Vec3f(particles_.v[begin + i] + fall);
        const Vec3f pushed = mean_seen(push_, samples, params_.voxel, x).value_or(Vec3f::Zero());
        const int lane = static_cast<int>(i);
        for (int a = 0; a < 3; ++a) {
            Row3& J = around.J[a];
            around.u[a][lane] = velocity[a], around.du[a][lane] = pushed[a];
            J.x[lane] = J.y[lane] = J.z[lane] = 0;
        }
        around.full[lane] = mean_seen(grid_.filled, samples, params_.voxel, x).value_or(0.0f);
    }
}

// Move particles by the displacement alone. They may have left their tile by half a cell, and split halves by a little
// more.
void GranularSand::displace(const SolidCells& room)
{
    const Topology& topology = grid_.topology;
    const auto shift_in_sight = [&](const Vec3f& x) -> std::optional<Vec3f> { // of a particle next to a sheet
        const Vec3i cell = cell_of(x, 1 / params_.voxel);
        const int tile = topology.find(tile_of_cell(cell));
        if (tile == topology.tile_count() || sees_all_samples(*room.sight(), tile, offset_of_cell(cell))) return {};
        const SeenSamples seen = seen_samples(*room.sight(), topology, params_.voxel, x, cell);
        return params_.voxel * mean_seen(displacement_, seen, params_.voxel, x).value_or(Vec3f::Zero());
    };
    for_each_tile(topology, [&](int tile) {
        if (grid_.index.tile_empty(tile)) return;
        auto& shift = thread_scratch<MacBlock<2>>();
        shift.gather(displacement_, tile, Margin::background);
        const Vec3f first = topology.first_cell(tile).cast<float>();
        const bool blocked = room.sight() && room.sight()->blocked(tile);
        grid_.for_particles(tile, [&](size_t all, size_t end) {
            for (size_t begin = all; begin < end; begin += kTileSize) {
                const size_t count = std::min<size_t>(kTileSize, end - begin);
                constexpr float kMargin = SandTuning::beside_tile;
                const auto inside = [](Row p) { return min(max(p, splat(-kMargin)), splat(kTileSize + kMargin)); };
                const Row3 p = places_in_tile(&particles_.P[begin], count, 1 / params_.voxel, first);
                const MacBlock<2>::Places places({inside(p.x), inside(p.y), inside(p.z)});
                const auto shift_along = [&](int axis) {
                    const auto place = places.of(axis);
                    return params_.voxel * MacBlock<2>::Corners(shift, axis, place).value(place);
                };
                Row3 moved{shift_along(0), shift_along(1), shift_along(2)};
                for (size_t i = 0; blocked && i < count; ++i)
                    if (const auto seen = shift_in_sight(particles_.P[begin + i])) {
                        const int lane = static_cast<int>(i);
                        moved.x[lane] = seen->x(), moved.y[lane] = seen->y(), moved.z[lane] = seen->z();
                    }
                if (largest(max(max(moved.x, -moved.x), max(max(moved.y, -moved.y), max(moved.z, -moved.z)))) == 0)
                    continue;
                Vec3f from[kTileSize];
                std::copy_n(&particles_.P[begin], count, from);
                store_row3(&particles_.P[begin], load_row3(&particles_.P[begin], count) + moved, count);
                // Moving solids may be at the start of the step, while their distance is known at its end.
                const float near =
                    SandTuning::far_from_solids + (solids_.colliders_move() ? SandTuning::longest_move : 0);
                for (size_t i = begin; i < begin + count && !solids_.none(); ++i) {
                    if (near_solids(i, tile, near)) put_in_front_of_solids(i);
                    if (solids_.has_sheets() && near_solids(i, tile, near + SandTuning::longest_move))
                        keep_on_side(from[i - begin], particles_.P[i]);
                }
            }
        });
    });
}

// Whether a particle of the tile is in a cell whose centre is at most this many cells away from solids, or whose
// distance is unknown.
bool GranularSand::near_solids(size_t particle, int tile, float cells) const
{
    const Topology& topology = grid_.topology;
    const Vec3i cell = cell_of(particles_.P[particle], 1 / params_.voxel);
    const Vec3i way = tile_of_cell(cell) - topology.tile(tile);
    if (way.cwiseAbs().maxCoeff() > 1) return true;
    const int there = topology.neighbour(tile, way.x(), way.y(), way.z());
    if (there == topology.tile_count()) return true;
    const SolidTile* solid = solid_cells_.tile(there);
    return solid && solid->distance[offset_of_cell(cell)] <= cells;
}

// Put particles that ended in a solid back in front of it, and remove those that left through an open side. Particles
// and solids move by at most half a cell, so a particle cannot pass a solid thicker than that.
void GranularSand::collide(float dt)
{
    const float solids_way = std::max(solids_.speed(), solids_.body_speed()) * dt / params_.voxel;
    if (!solids_.none())
        for_each_tile(grid_.topology, [&](int tile) {
            for (size_t i = grid_.index.tile_begin(tile); i < grid_.index.tile_end(tile); ++i)
                if (near_solids(i, tile, SandTuning::far_from_solids + SandTuning::longest_move + solids_way) &&
                    solids_.has_sheets())
                    stop_at_sheets(i);
            for (size_t i = grid_.index.tile_begin(tile); i < grid_.index.tile_end(tile); ++i)
                if (near_solids(i, tile, SandTuning::far_from_solids + solids_way)) push_out(i, dt);
        });
    if (!solids_.has_open_sides()) return;
    std::vector<float>& mass = particles_.attribute<float>(kMass);
    parallel_for(
        particles_.size(),
        [&](size_t i) {
            if (solids_.outside_open_side(particles_.P[i])) mass[i] = 0;
        },
        4096);
}

// Stop a particle in front of a sheet that it would pass.
void GranularSand::stop_at_sheets(size_t particle)
{
    const float voxel = params_.voxel;
    const auto contact = solids_.first_contact(from_[particle], particles_.P[particle],
                                               SandTuning::gap_to_solids * voxel, SandTuning::longest_move * voxel);
    if (!contact) return;
    Vec3f& v = particles_.v[particle];
    particles_.P[particle] = *contact;
    const Vec3f n = solids_.normal(*contact, SandTuning::normal_width * voxel);
    v -= std::min(0.0f, (v - solids_.velocity(*contact)).dot(n)) * n;
}

// Keep a particle at `from` if it would end behind a sheet, or so close to one that its side is undefined.
void GranularSand::keep_on_side(const Vec3f& from, Vec3f& x) const
{
    if (!solids_.has_sheets()) return;
    if (lost_its_side(solids_, SandTuning::gap_to_solids * params_.voxel, from, x)) x = from;
}

// The halves of a particle lie on both sides of its former position. Keep both on its side of a sheet.
void GranularSand::keep_halves_together(const std::vector<size_t>& parents, size_t first)
{
    for (size_t k = 0; k < parents.size(); ++k) {
        Vec3f &one = particles_.P[parents[k]], &other = particles_.P[first + k];
        const Vec3f middle = 0.5f * (one + other);
        for (Vec3f* half : {&one, &other}) keep_on_side(middle, *half);
    }
}

// Move a particle that is in a solid, or touches one, to its surface, and remove the velocity into it. Coulomb friction
// reduces its sliding by the impact's share; in dense sand this is small compared with the stress on the solid.
void GranularSand::push_out(size_t particle, float dt)
{
    Vec3f &x = particles_.P[particle], &v = particles_.v[particle];
    const Vec3f before = x;
    push_out_of_solids(solids_, SandTuning::gap_to_solids * params_.voxel, params_.voxel, x, [&](const Vec3f& n) {
        const Vec3f relative = v - solids_.velocity(x);
        const float into = relative.dot(n);
        if (into >= 0) return;
        v -= into * n;
        const Vec3f sliding = relative - into * n;
        const int material = (*particles_.find<int32_t>(kMaterial))[particle];
        const Solids::Grip hold = solids_.collider_distance(x) < solids_.wall_distance(x)
                                      ? solids_.grip(x)
                                      : Solids::Grip{params_.wall_friction.value_or(wall_friction_[material])};
        const float speed = sliding.norm();
        if (!(speed > 0)) return;
        float lost = std::min(1.0f, -hold.friction * into / speed);
        if (hold.stick > 0) lost = 1 - (1 - lost) * std::pow(1 - hold.stick, dt * fps_);
        v -= lost * sliding;
    });
    keep_on_side(before, x); // do not leave one solid through a sheet
}

// The same for a particle that was not moved by its velocity; the velocity stays.
void GranularSand::put_in_front_of_solids(size_t particle)
{
    const Vec3f v = particles_.v[particle];
    push_out(particle, 0);
    particles_.v[particle] = v;
}

} // namespace spindrift
