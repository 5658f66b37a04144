// How sand comes into the shot, and what blows it away.
#include "sand/grains.h"

#include "base/random.h"

#include <numeric>

namespace spindrift {

namespace {

constexpr int kAlongEdge = 2, kPerCell = kAlongEdge * kAlongEdge * kAlongEdge;
// Of a place in eight of a cell. As much as hides the lattice: more would have to be pushed apart at once.
constexpr float kJitter = 0.5f;

int place_of(const Vec3f& position_in_cells, const Vec3i& cell)
{
    const Vec3f f = (position_in_cells - cell.cast<float>()) * kAlongEdge;
    const auto half = [](float x) { return x >= 1 ? 1 : 0; };
    return half(f.x()) << 2 | half(f.y()) << 1 | half(f.z());
}

Vec3f jittered_place(const Vec3i& cell, int place, uint64_t seed)
{
    const uint64_t key =
        hash64(hash64(static_cast<uint32_t>(cell.x()), static_cast<uint32_t>(cell.y())),
               static_cast<uint64_t>(static_cast<uint32_t>(cell.z())) << 3 | static_cast<uint64_t>(place));
    Random random(seed, key);
    const auto jittered = [&](int half) {
        return static_cast<float>(half) + 0.5f + kJitter * (random.uniform() - 0.5f);
    };
    const float x = jittered(place >> 2), y = jittered(place >> 1 & 1), z = jittered(place & 1);
    return cell.cast<float>() + Vec3f(x, y, z) / kAlongEdge;
}

} // namespace

void Grains::emit(float frame, bool initial)
{
    for (size_t s = 0; s < sources_.size(); ++s) {
        const SandSourceParams& source = params_.sources[s];
        const bool flows = source.mode == SandSourceParams::Mode::flow;
        if (flows == initial) continue;
        if (flows &&
            (frame < static_cast<float>(source.first_frame) || frame > static_cast<float>(source.last_frame) + 1))
            continue;
        fill(sources_[s], source, frame, initial);
    }
}

// Free places of the shape get a particle. A flow sets the velocity of what is in it, and makes up for the mass that
// has left, from where it comes from.
void Grains::fill(const Shape& shape, const SandSourceParams& source, float frame, bool initial)
{
    const float voxel = params_.voxel, inverse_voxel = 1 / voxel;
    Box3f box = shape.bounds(frame);
    if (params_.domain.bounded()) {
        box.min = box.min.cwiseMax(*params_.domain.min);
        box.max = box.max.cwiseMin(*params_.domain.max);
    }
    if (box.empty()) return;
    const Vec3i first = cell_of(box.min, inverse_voxel), last = cell_of(box.max, inverse_voxel);
    const Vec3i size = (last - first).array() + 1;
    const auto number = [&](const Vec3i& c) {
        return (static_cast<size_t>(c.x() - first.x()) * static_cast<size_t>(size.y()) +
                static_cast<size_t>(c.y() - first.y())) *
                   static_cast<size_t>(size.z()) +
               static_cast<size_t>(c.z() - first.z());
    };
    const auto velocity_at = [&](const Vec3f& x) -> Vec3f {
        return source.velocity + source.inherit * shape.velocity(x, frame, fps_);
    };
    const auto& masses = particles_.attribute<float>(kMass);

    std::vector<uint8_t> taken(
        static_cast<size_t>(size.x()) * static_cast<size_t>(size.y()) * static_cast<size_t>(size.z()), 0);
    double present = 0; // particles of full mass
    for (size_t i = 0; i < particles_.size(); ++i) {
        const Vec3i c = cell_of(particles_.P[i], inverse_voxel);
        if ((c.array() < first.array()).any() || (c.array() > last.array()).any()) continue;
        taken[number(c)] |= static_cast<uint8_t>(1 << place_of(particles_.P[i] * inverse_voxel, c));
        if (initial || shape.distance(particles_.P[i], frame) >= 0) continue;
        particles_.v[i] = velocity_at(particles_.P[i]);
        present += static_cast<double>(masses[i] / particle_mass(source.material));
    }

    // New places change their jitter from time to time, or a flow would show a pattern.
    const uint64_t seed = initial ? static_cast<uint64_t>(params_.seed)
                                  : hash64(static_cast<uint64_t>(params_.seed), static_cast<uint64_t>(next_id_) + 1);
    std::vector<std::vector<Vec3f>> slabs(static_cast<size_t>(size.x()));
    std::vector<size_t> places(slabs.size(), 0);
    parallel_for(slabs.size(), [&](size_t slab) {
        const int x = first.x() + static_cast<int>(slab);
        for (int y = first.y(); y <= last.y(); ++y)
            for (int z = first.z(); z <= last.z(); ++z) {
                const Vec3i cell(x, y, z);
                for (int place = 0; place < kPerCell; ++place) {
                    const Vec3f p = jittered_place(cell, place, seed) * voxel;
                    if (shape.distance(p, frame) >= 0 || solids_.distance(p) <= 0 || solids_.outside_open_side(p))
                        continue;
                    ++places[slab];
                    if (!(taken[number(cell)] >> place & 1)) slabs[slab].push_back(p);
                }
            }
    });
    std::vector<Vec3f> free;
    for (const auto& slab : slabs) free.insert(free.end(), slab.begin(), slab.end());
    if (!initial) {
        const size_t capacity = std::accumulate(places.begin(), places.end(), size_t{0});
        const Vec3f direction = source.velocity;
        std::stable_sort(free.begin(), free.end(),
                         [&](const Vec3f& a, const Vec3f& b) { return a.dot(direction) < b.dot(direction); });
        free.resize(std::min(free.size(), capacity - std::min(capacity, static_cast<size_t>(present))));
    }
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
