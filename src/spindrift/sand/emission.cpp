// Sand sources and impulses.
#include "spindrift/sand/granular_sand.h"
#include "spindrift/sand/tuning.h"

#include "spindrift/world/filling.h"

namespace spindrift {

namespace {

Vec3f near_the_middle(Random& random)
{
    const auto jittered = [&] { return 0.5f + SandTuning::jitter * (random.uniform() - 0.5f); };
    const float x = jittered(), y = jittered(), z = jittered();
    return {x, y, z};
}

} // namespace

void GranularSand::emit(float dt, bool initial)
{
    for (size_t s = 0; s < sources_.size(); ++s) {
        const SandSourceParams& source = params_.sources[s];
        const bool wanted = initial ? source.mode != SandSourceParams::Mode::flow : source.flows_at(time_);
        if (wanted) fill(s, dt, initial);
    }
}

// Calls body(tile, first cell of the tile) for tiles within `reach` of a flow [m].
template <class Body> void GranularSand::for_tiles_at_flow(size_t source, float reach, const Body& body) const
{
    const float voxel = params_.voxel;
    const Box3f box = sources_[source].bounds(time_).grown(reach);
    for_each_tile(grid_.topology, [&](int tile) {
        const Vec3f first = grid_.topology.first_cell(tile).cast<float>(), low = voxel * first;
        const Vec3f high = low.array() + voxel * kTileSize;
        if ((low.array() <= box.max.array()).all() && (high.array() >= box.min.array()).all()) body(tile, first);
    });
}

// Calls body(source, axis, tile, face, x) for faces inside flows, or at most this many cells away from them.
template <class Body> void GranularSand::for_faces_at_flows(float cells, const Body& body) const
{
    const float voxel = params_.voxel, reach = cells * voxel;
    for (size_t s = 0; s < sources_.size(); ++s) {
        if (!params_.sources[s].flows_at(time_) || is_blocked(s)) continue;
        for_tiles_at_flow(s, reach, [&](int tile, const Vec3f& first) {
            for (int a = 0; a < 3; ++a)
                for (int c = 0; c < kTileCells; ++c) {
                    const Vec3f x = voxel * (first + face_in_tile(c, a));
                    if (sources_[s].distance(x, time_) < reach) body(s, a, tile, c, x);
                }
        });
    }
}

// Whether a flow is jammed: its pressure could halve its velocity.
bool GranularSand::is_blocked(size_t source) const
{
    const float voxel = params_.voxel;
    std::atomic<bool> found = false;
    for_tiles_at_flow(source, voxel, [&](int tile, const Vec3f& first) {
        for (int c = 0; c < kTileCells && !found; ++c) {
            const Vec3f x = voxel * (first + cell_in_tile(c).cast<float>() + Vec3f::Constant(0.5f));
            if (stress_.q_at(tile, c) > 0.5f * flow_velocity(source, x).norm() &&
                sources_[source].distance(x, time_) < voxel)
                found = true;
        }
    });
    return found;
}

// Impose each flow's velocity unless it is blocked. A blocked flow does not advect its seed lattice.
void GranularSand::move_with_flows(float dt)
{
    const Vec3f half_of_fall = 0.5f * dt * params_.gravity; // move() subtracts this from what falls
    for_faces_at_flows(SandTuning::flow_reach, [&](size_t source, int a, int tile, int c, const Vec3f& x) {
        velocity_.u[a].tile(tile)[c] = flow_velocity(source, x)[a] + half_of_fall[a];
        push_.u[a].tile(tile)[c] = 0;
    });
}

// Density correction elsewhere must not push sand back into flows.
void GranularSand::keep_in_flows(MacField& displacement) const
{
    for_faces_at_flows(0.5f,
                       [&](size_t, int a, int tile, int c, const Vec3f&) { displacement.u[a].tile(tile)[c] = 0; });
}

Vec3f GranularSand::flow_velocity(size_t source, const Vec3f& x) const
{
    const SandSourceParams& params = params_.sources[source];
    return params.velocity + params.inherit * sources_[source].velocity(x, time_, fps_);
}

// Put a particle at each free place of the shape. A flow also sets the velocity of the sand inside it, and replaces the
// mass that has left, starting at its upstream end.
void GranularSand::fill(size_t number, float dt, bool initial)
{
    const SandSourceParams& source = params_.sources[number];
    const Shape& shape = sources_[number];
    // Advect a flow's lattice with it, so that it stays evenly full.
    std::optional<Filling::Carried> carried;
    if (!initial) {
        carried.emplace();
        carried->offset = (time_ / fps_ - dt) * source.velocity;
        const Vec3f center = shape.bounds(time_).center(); // half-spaces and complements of shapes have none
        if (center.allFinite()) carried->offset += source.inherit * center;
        source.velocity.cwiseAbs().maxCoeff(&carried->axis);
    }
    Filling filling(shape, time_, params_.domain, params_.voxel, carried);
    const auto& masses = particles_.attribute<float>(kMass);
    double present = 0; // number of particles, by full mass
    for (const size_t i : filling.mark_taken(particles_, !initial)) {
        particles_.v[i] = flow_velocity(number, particles_.P[i]);
        present += static_cast<double>(masses[i] / particle_mass(source.material));
    }
    const auto seed = static_cast<uint64_t>(params_.seed);
    const std::vector<Vec3f> free =
        initial ? filling.free_sites(solids_, seed, near_the_middle)
                : filling.upstream_sites(solids_, seed, near_the_middle, source.velocity, static_cast<size_t>(present));
    const size_t at = particles_.size();
    particles_.resize(at + free.size());
    auto& mass = particles_.attribute<float>(kMass);
    auto& material = particles_.attribute<int32_t>(kMaterial);
    auto& diagonal = particles_.attribute<Vec3f>(kShapeDiagonal);
    for (size_t i = 0; i < free.size(); ++i) {
        particles_.P[at + i] = free[i], particles_.v[at + i] = flow_velocity(number, free[i]);
        particles_.id[at + i] = next_id_++;
        mass[at + i] = particle_mass(source.material), material[at + i] = source.material;
        diagonal[at + i] = Vec3f::Constant(particle_radius() * particle_radius());
    }
}

void GranularSand::explode(const SandImpulseParams& impulse)
{
    parallel_for(
        particles_.size(),
        [&](size_t i) {
            const Vec3f away = particles_.P[i] - impulse.center;
            const float distance = away.norm();
            if (distance >= impulse.radius || distance == 0) return;
            particles_.v[i] += impulse.speed * (1 - distance / impulse.radius) / distance * away;
        },
        4096);
    speed_ += std::abs(impulse.speed);
}

} // namespace spindrift
