// How sand comes into the shot, and what blows it away.
#include "sand/grains.h"

#include "world/filling.h"

namespace spindrift {

namespace {

// As much as hides the lattice: more would have to be pushed apart at once.
constexpr float kJitter = 0.5f;

Vec3f near_the_middle(Random& random)
{
    const auto jittered = [&] { return 0.5f + kJitter * (random.uniform() - 0.5f); };
    const float x = jittered(), y = jittered(), z = jittered();
    return {x, y, z};
}

bool flows_at(const SandSourceParams& source, float frame)
{
    return source.mode == SandSourceParams::Mode::flow && frame >= static_cast<float>(source.first_frame) &&
           frame <= static_cast<float>(source.last_frame) + 1;
}

} // namespace

void Grains::emit(float frame, bool initial)
{
    for (size_t s = 0; s < sources_.size(); ++s) {
        const SandSourceParams& source = params_.sources[s];
        const bool wanted = initial ? source.mode != SandSourceParams::Mode::flow : flows_at(source, frame);
        if (wanted) fill(sources_[s], source, frame, initial);
    }
}

// Particles that have just come in lie too close in places. Pushed out of the flow for that, they would be made up for,
// and more sand would come than was asked for.
void Grains::keep_in_flows(MacField& displacement) const
{
    const Topology& topology = grid_.topology;
    const float voxel = params_.voxel;
    for (size_t s = 0; s < sources_.size(); ++s) {
        if (!flows_at(params_.sources[s], time_)) continue;
        const Box3f box = sources_[s].bounds(time_).grown(voxel);
        for_each_tile(topology, [&](int tile) {
            const Vec3f first = topology.first_cell(tile).cast<float>(), low = voxel * first;
            if ((low.array() > box.max.array()).any() || (low.array() + voxel * kTileSize < box.min.array()).any())
                return;
            for (int a = 0; a < 3; ++a)
                for (int c = 0; c < kTileCells; ++c) {
                    float& d = displacement.u[a].tile(tile)[c];
                    if (d != 0 && sources_[s].distance(voxel * (first + face_in_tile(c, a)), time_) < 0.5f * voxel)
                        d = 0;
                }
        });
    }
}

// Free places of the shape get a particle. A flow sets the velocity of what is in it, and makes up for the mass that
// has left, from where it comes from.
void Grains::fill(const Shape& shape, const SandSourceParams& source, float frame, bool initial)
{
    const auto velocity_at = [&](const Vec3f& x) -> Vec3f {
        return source.velocity + source.inherit * shape.velocity(x, frame, fps_);
    };
    Filling filling(shape, frame, params_.domain, params_.voxel);
    const auto& masses = particles_.attribute<float>(kMass);
    double present = 0; // particles of full mass
    for (const size_t i : filling.mark_taken(particles_, !initial)) {
        particles_.v[i] = velocity_at(particles_.P[i]);
        present += static_cast<double>(masses[i] / particle_mass(source.material));
    }
    // New places change their jitter from time to time, or a flow would show a pattern.
    const auto seed = static_cast<uint64_t>(params_.seed);
    const std::vector<Vec3f> free =
        initial ? filling.free_places(solids_, seed, near_the_middle)
                : filling.places_upstream(solids_, hash64(seed, static_cast<uint64_t>(next_id_) + 1), near_the_middle,
                                          source.velocity, static_cast<size_t>(present));
    const size_t at = particles_.size();
    particles_.resize(at + free.size());
    auto& mass = particles_.attribute<float>(kMass);
    auto& material = particles_.attribute<int32_t>(kMaterial);
    auto& diagonal = particles_.attribute<Vec3f>(kShapeDiagonal);
    for (size_t i = 0; i < free.size(); ++i) {
        particles_.P[at + i] = free[i], particles_.v[at + i] = velocity_at(free[i]);
        particles_.id[at + i] = next_id_++;
        mass[at + i] = particle_mass(source.material), material[at + i] = source.material;
        diagonal[at + i] = Vec3f::Constant(particle_radius() * particle_radius());
    }
}

void Grains::explode(const SandImpulseParams& impulse)
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
