#include "spindrift/turbulence/noise_particles.h"

#include "spindrift/base/random.h"
#include "spindrift/points/state_checks.h"
#include "spindrift/turbulence/sampler.h"

namespace spindrift {

namespace {

constexpr size_t kChunk = 256;
constexpr float kMaxEnergy = 1e14f;       // accepted in a state [m2/s2]
constexpr float kInitialPresence = 1e-3f; // initial presence of a particle added among others

Vec3i floor_of(const Vec3f& p) { return {floor_int(p.x()), floor_int(p.y()), floor_int(p.z())}; }

} // namespace

std::string eddy_time_attribute(int octave) { return "time" + std::to_string(octave); }

// Bins particles into cubes of the eddy size, to find neighbours within that distance.
class NoiseParticles::Cubes {
  public:
    Cubes(const Flow& flow, float eddy_size, const std::vector<Vec3f>& positions)
        : inverse_(1 / eddy_size), topology_(covering(flow, inverse_)), first_(topology_, -1)
    {
        for (const Vec3f& x : positions) add(x);
    }
    void add(const Vec3f& x)
    {
        const Vec3i cube = floor_of(inverse_ * x);
        const int tile = topology_.find(tile_of_cell(cube));
        next_.push_back(-1);
        if (tile == topology_.tile_count()) return; // outside by rounding
        int32_t& first = first_.tile(tile)[offset_of_cell(cube)];
        next_.back() = first, first = static_cast<int32_t>(next_.size()) - 1;
    }
    // Whether `test` holds for any particle in the 27 cubes around x.
    template <class Test> bool any_near(const Vec3f& x, const Test& test) const
    {
        const Vec3i cube = floor_of(inverse_ * x), in_tile(cube.x() & 7, cube.y() & 7, cube.z() & 7);
        const int home = topology_.find(tile_of_cell(cube));
        if (home == topology_.tile_count()) return false;
        const auto in_cube = [&](const Vec3i& step) {
            const Vec3i c = in_tile + step;
            const int tile = topology_.neighbour(home, c.x() >> 3, c.y() >> 3, c.z() >> 3);
            for (int32_t i = first_.tile(tile)[offset_of_cell(c)]; i >= 0; i = next_[i])
                if (test(i)) return true;
            return false;
        };
        if (in_cube(Vec3i::Zero())) return true; // most likely
        for (int dx = -1; dx <= 1; ++dx)
            for (int dy = -1; dy <= 1; ++dy)
                for (int dz = -1; dz <= 1; ++dz)
                    if ((dx != 0 || dy != 0 || dz != 0) && in_cube({dx, dy, dz})) return true;
        return false;
    }

  private:
    static Topology covering(const Flow& flow, float inverse)
    {
        std::vector<uint64_t> codes;
        const auto tile_at = [&](const Vec3i& cell) {
            return tile_of_cell(floor_of(inverse * flow.voxel * cell.cast<float>()));
        };
        for (int t = 0; t < flow.topology().tile_count(); ++t) {
            const Vec3i first = flow.topology().first_cell(t);
            const Vec3i low = tile_at(first), high = tile_at(first.array() + kTileSize);
            for (int x = low.x(); x <= high.x(); ++x)
                for (int y = low.y(); y <= high.y(); ++y)
                    for (int z = low.z(); z <= high.z(); ++z) codes.push_back(morton_of_tile({x, y, z}));
        }
        return Topology(std::move(codes));
    }

    float inverse_;
    Topology topology_;
    Field<int32_t> first_; // first particle in each cube
    std::vector<int32_t> next_;
};

NoiseParticles::NoiseParticles(const TurbulenceParams& params)
    : octaves_(params.octave_count()), seed_(hash64(static_cast<uint64_t>(params.seed))),
      start_energy_(params.start_energy), eddy_cells_(params.eddy_size)
{
    particles_.attribute<float>(kPresenceAttribute), particles_.attribute<float>(kEddyEnergyAttribute);
    for (int i = 0; i < octaves_; ++i) particles_.attribute<float>(eddy_time_attribute(i));
}

void NoiseParticles::step(const Flow& flow, const TurbulentEnergy& energy, const Cascade& cascade, float dt)
{
    move(flow, dt);
    remove_strays(flow);
    assign_energy(flow, energy, 0);
    Cubes cubes(flow, cascade.eddy_size, particles_.P);
    age(flow, energy, cascade, dt, cubes);
    const size_t old = particles_.size();
    fill(flow, cubes);
    assign_energy(flow, energy, old);
    filled_ = flow.topology().codes();
    ++steps_;
}

void NoiseParticles::move(const Flow& flow, float dt)
{
    const float inverse = 1 / flow.voxel;
    parallel_chunks(particles_.size(), kChunk, [&](size_t begin, size_t end) {
        Sampler there(flow.topology());
        for (size_t i = begin; i < end; ++i) {
            Vec3f& x = particles_.P[i];
            const Vec3f start = there.velocity(flow.velocity, inverse * x);
            particles_.v[i] = there.velocity(flow.velocity, inverse * (x + 0.5f * dt * start), start);
            x += dt * particles_.v[i];
        }
    });
}

// Removes particles outside the fluid or with zero presence.
void NoiseParticles::remove_strays(const Flow& flow)
{
    const auto& presence = particles_.attribute<float>(kPresenceAttribute);
    std::vector<uint8_t> keep(particles_.size());
    parallel_chunks(particles_.size(), kChunk, [&](size_t begin, size_t end) {
        Sampler there(flow.topology());
        for (size_t i = begin; i < end; ++i) {
            const auto [tile, offset] = there.cell_at(particles_.P[i] / flow.voxel);
            const bool exists = tile != flow.topology().tile_count();
            keep[i] = exists && flow.open(tile, offset) && presence[i] > 0;
        }
    });
    remove_particles(particles_, keep);
}

void NoiseParticles::assign_energy(const Flow& flow, const TurbulentEnergy& energy, size_t first)
{
    auto& carried = particles_.attribute<float>(kEddyEnergyAttribute);
    parallel_chunks(particles_.size() - first, kChunk, [&](size_t begin, size_t end) {
        Sampler there(flow.topology());
        for (size_t i = first + begin; i < first + end; ++i) {
            const Vec3f x = particles_.P[i] / flow.voxel;
            const float produced = there.value(energy.energy(), energy.open(), x, start_energy_);
            const float extra = flow.extra_energy ? there.value(*flow.extra_energy, energy.open(), x, 0) : 0;
            carried[i] = std::max(produced, extra);
        }
    });
}

// Advances each octave's time by one per turnover of its eddies. Presence changes with the turnover of the largest
// eddies or, if faster, with the strain that gathers and spreads particles.
void NoiseParticles::age(const Flow& flow, const TurbulentEnergy& energy, const Cascade& cascade, float dt,
                         const Cubes& cubes)
{
    constexpr float kCrowded = 0.6f; // minimum distance to an older particle, in eddy sizes
    constexpr float kFastest = 1e4f; // turnovers per step; above this the result is noise anyway
    const float near = kCrowded * cascade.eddy_size, near2 = near * near;
    const auto& carried = particles_.attribute<float>(kEddyEnergyAttribute);
    auto& presence = particles_.attribute<float>(kPresenceAttribute);
    std::array<std::vector<float>*, TurbulenceParams::kMaxOctaves> times{};
    for (int o = 0; o < octaves_; ++o) times[o] = &particles_.attribute<float>(eddy_time_attribute(o));
    parallel_chunks(particles_.size(), kChunk, [&](size_t begin, size_t end) {
        Sampler there(flow.topology());
        for (size_t i = begin; i < end; ++i) {
            const Vec3f& x = particles_.P[i];
            for (int o = 0; o < octaves_; ++o) {
                const float turnovers = dt * std::sqrt(cascade.energy(o, carried[i])) / cascade.size(o);
                float& time = (*times[o])[i];
                time = std::fmod(time + std::min(turnovers, kFastest), kTimePeriod);
            }
            const bool crowded = cubes.any_near(x, [&](size_t j) {
                return particles_.id[j] < particles_.id[i] && (particles_.P[j] - x).squaredNorm() < near2;
            });
            const float strain = there.value(energy.strain(), energy.open(), x / flow.voxel, 0);
            const float change = dt * std::max(2 * strain, std::sqrt(carried[i]) / cascade.eddy_size);
            presence[i] = std::clamp(presence[i] + (crowded ? -change : change), 0.0f, 1.0f);
        }
    });
}

// Poisson-disc sampling by dart throwing: keeps darts farther than an eddy size from all particles. In new tiles there
// is nothing to blend with, so particles get full presence at once.
void NoiseParticles::fill(const Flow& flow, Cubes& cubes)
{
    constexpr float kDarts = 4, kDartsInNewTile = 40; // per cube of the eddy size
    const Topology& topology = flow.topology();
    const float eddies_in_tile = std::pow(kTileSize / eddy_cells_, 3.0f);
    const float spacing = eddy_cells_ * flow.voxel;
    for (int t = 0; t < topology.tile_count(); ++t) {
        const uint64_t code = topology.codes()[t];
        const bool is_new = !std::binary_search(filled_.begin(), filled_.end(), code);
        Random random(hash64(seed_, static_cast<uint64_t>(steps_)), code);
        const float expected = (is_new ? kDartsInNewTile : kDarts) * eddies_in_tile;
        for (int dart = floor_int(expected + random.uniform()); dart > 0; --dart) {
            const Vec3f in_tile = kTileSize * Vec3f(random.uniform(), random.uniform(), random.uniform());
            const Vec3i cell = floor_of(in_tile);
            if (!flow.open(t, offset_of_cell(cell))) continue;
            const Vec3f x = flow.voxel * (topology.first_cell(t).cast<float>() + in_tile);
            const bool taken =
                cubes.any_near(x, [&](size_t j) { return (particles_.P[j] - x).squaredNorm() < spacing * spacing; });
            if (!taken) add(x, is_new ? 1 : kInitialPresence), cubes.add(x);
        }
    }
}

void NoiseParticles::add(const Vec3f& x, float presence)
{
    particles_.resize(particles_.size() + 1);
    particles_.P.back() = x, particles_.id.back() = next_id_++;
    particles_.attribute<float>(kPresenceAttribute).back() = presence;
}

void NoiseParticles::restore(State state, const std::vector<uint64_t>& filled)
{
    if (state.particles.size() > 0) {
        check_state_range(state.particles, kPresenceAttribute, 0.0f, 1.0f);
        check_state_range(state.particles, kEddyEnergyAttribute, -kMaxEnergy, kMaxEnergy);
        for (int o = 0; o < octaves_; ++o) check_state_attribute<float>(state.particles, eddy_time_attribute(o));
    }
    check_state_number(state.next_id, 0, std::numeric_limits<int>::max(), "next_eddy");
    particles_ = std::move(state.particles), next_id_ = state.next_id, steps_ = state.steps;
    filled_ = filled;
}

size_t NoiseParticles::bytes() const { return particles_.bytes() + filled_.capacity() * sizeof(uint64_t); }

} // namespace spindrift
