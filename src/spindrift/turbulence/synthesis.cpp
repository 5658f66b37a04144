#include "spindrift/turbulence/synthesis.h"

#include "spindrift/base/scratch.h"

#include <Eigen/Geometry>

namespace spindrift {

namespace {

constexpr float kReach = 1.25f; // R in eddy sizes
constexpr float kEpsilon = 0.05f;
// Spatial means, for particles one eddy size apart, of the sum of squares of the blending weights w / W, and of their
// gradients times the eddy size.
constexpr float kWeights = 0.995f, kGradients = 7.74f;

// The ramp of [Bridson 2007] for r from 0 to 1, and its derivative.
float ramp(float r) { return r * (15 - r * r * (10 - 3 * r * r)) / 8; }
float ramp_slope(float r) { return 15.0f / 8 * (1 - r * r) * (1 - r * r); }

// The ramp over a length and its gradient, at a row of samples.
struct Ramp {
    Row value;
    Row3 gradient;

    Ramp(const TileDistances& solids, int o, float length)
    {
        Row slope;
        for (int k = 0; k < kTileSize; ++k) {
            const float r = clamp01(solids.value[o + k] / length);
            value[k] = ramp(r), slope[k] = r > 0 ? ramp_slope(r) / length : 0;
        }
        gradient = {slope * load_row(solids.slope[0] + o), slope * load_row(solids.slope[1] + o),
                    slope * load_row(solids.slope[2] + o)};
    }
};

float sum_of(Row r)
{
    const Quad q = __builtin_shufflevector(r, r, 0, 1, 2, 3) + __builtin_shufflevector(r, r, 4, 5, 6, 7);
    return (q[0] + q[1]) + (q[2] + q[3]);
}

Row inverse_root(Row square)
{
    const Row one = splat(1);
    return one / sqrt_row(square + kEpsilon * kEpsilon);
}

} // namespace

void TurbulentVelocity::set(Particles& particles, const Cascade& cascade, const TurbulenceParams& params)
{
    octaves_ = params.octave_count(), cascade_ = cascade, reach_ = kReach * cascade.eddy_size;
    const float lookup_voxel = 2 * reach_ / kTileSize;
    *lookup_ = tiles_around(particles, lookup_voxel, 0);
    sort_by_tile(particles, *lookup_, lookup_voxel, index_);
    const auto& presence = *particles.find<float>(kPresenceAttribute);
    const auto& energy = *particles.find<float>(kEddyEnergyAttribute);
    std::array<const std::vector<float>*, TurbulenceParams::kMaxOctaves> times{};
    for (int o = 0; o < octaves_; ++o) times[o] = particles.find<float>(eddy_time_attribute(o));
    eddies_.resize(particles.size()), waves_.resize(particles.size() * static_cast<size_t>(octaves_));
    const uint64_t seed = hash64(static_cast<uint64_t>(params.seed), 1);
    parallel_for(
        particles.size(),
        [&](size_t i) {
            eddies_[i] = {particles.P[i], presence[i], reach_};
            for (int o = 0; o < octaves_; ++o) {
                Waves& w = waves_.data()[i * static_cast<size_t>(octaves_) + o];
                const float speed = params.strength * std::sqrt(cascade.energy(o, energy[i]));
                w.silent = !(speed > 0);
                if (w.silent) continue;
                w = random_waves(seed, particles.id[i], o, cascade.size(o), cascade.eddy_size, (*times[o])[i]);
                // Compensate the velocity added by the gradients of the blending weights, perpendicular to the
                // potential.
                const Row length = w.inverse_curl / cascade.eddy_size;
                const Row square = kTileSize * (kWeights + 2.0f / 3 * kGradients * length * length);
                const Row amplitude = speed / sqrt_row(square);
                w.a1 = {amplitude * w.a1.x, amplitude * w.a1.y, amplitude * w.a1.z};
                w.a2 = {amplitude * w.a2.x, amplitude * w.a2.y, amplitude * w.a2.z};
            }
        },
        16);
}

// Finds the eddies that reach into a box.
void TurbulentVelocity::find_eddies(const Vec3f& low, const Vec3f& high, std::vector<uint32_t>& found) const
{
    found.clear();
    if (eddies_.empty()) return;
    const float inverse = 1 / (2 * reach_);
    const Vec3i from = cell_of(low.array() - reach_, inverse), to = cell_of(high.array() + reach_, inverse);
    for (int x = from.x(); x <= to.x(); ++x)
        for (int y = from.y(); y <= to.y(); ++y)
            for (int z = from.z(); z <= to.z(); ++z) {
                const int tile = lookup_->find({x, y, z});
                if (tile == lookup_->tile_count()) continue;
                for (size_t i = index_.tile_begin(tile); i < index_.tile_end(tile); ++i) {
                    const Vec3f& p = eddies_[i].center;
                    if ((p - p.cwiseMax(low).cwiseMin(high)).squaredNorm() < reach_ * reach_)
                        found.push_back(static_cast<uint32_t>(i));
                }
            }
}

// Calls finish(sums, distances, eddy size): once for all octaves if no solid is near (with null distances), otherwise
// once per octave; never inside solids or where no eddy has energy.
template <class Finish> void TurbulentVelocity::sum_up(const SampleGrid& grid, int octaves, const Finish& finish) const
{
    auto& near = thread_scratch<std::vector<uint32_t>>();
    auto& patch = thread_scratch<SolidDistance::Patch>();
    auto& distances = thread_scratch<TileDistances>();
    auto& sums = thread_scratch<EddySums>();
    find_eddies(grid.first, grid.last(), near);
    const auto add_octaves = [&](int first, int end, const TileDistances* solids, float eddy_size) {
        const bool calm = std::all_of(near.begin(), near.end(), [&](uint32_t i) {
            const auto octaves_of_eddy = waves(i, first, end);
            return std::all_of(octaves_of_eddy.begin(), octaves_of_eddy.end(), [](const Waves& w) { return w.silent; });
        });
        if (calm) return;
        sums.clear();
        for (const uint32_t i : near) sums.add(eddies_[i], waves(i, first, end), grid);
        finish(sums, solids, eddy_size);
    };
    if (!patch.gather(solids_, grid.first, grid.last(), cascade_.eddy_size)) {
        add_octaves(0, octaves, nullptr, 0);
        return;
    }
    patch.sample(grid.first, grid.voxel, distances);
    if (*std::max_element(distances.value, distances.value + kTileCells) <= 0) return; // entirely inside a solid
    for (int o = 0; o < octaves; ++o) add_octaves(o, o + 1, &distances, cascade_.size(o));
}

void TurbulentVelocity::sample_tile(const Vec3i& tile, float voxel, Tile& out) const
{
    std::memset(static_cast<void*>(&out), 0, sizeof out);
    const SampleGrid grid(tile, voxel, Vec3f::Constant(0.5f));
    sum_up(grid, octaves_, [&](const EddySums& sums, const TileDistances* solids, float eddy_size) {
        for_each_row([&](int, int, int o) {
            const auto load = [&](const float(&v)[3][kTileCells]) {
                return Row3{load_row(v[0] + o), load_row(v[1] + o), load_row(v[2] + o)};
            };
            // curl(sum / W) = (curl sum - grad W x sum / W) / W, and grad W = slope / W.
            const Row inverse = inverse_root(load_row(sums.square + o)), square = inverse * inverse;
            const Row3 curl = load(sums.curl), potential = load(sums.potential);
            const Row3 turned = cross(load(sums.slope), potential);
            Row3 u = {inverse * (curl.x - square * turned.x), inverse * (curl.y - square * turned.y),
                      inverse * (curl.z - square * turned.z)};
            if (solids) {
                const Ramp near(*solids, o, eddy_size);
                const Row3 along = cross(near.gradient, potential);
                u = {near.value * u.x + inverse * along.x, near.value * u.y + inverse * along.y,
                     near.value * u.z + inverse * along.z};
            }
            store_row(out.u[0] + o, load_row(out.u[0] + o) + u.x);
            store_row(out.u[1] + o, load_row(out.u[1] + o) + u.y);
            store_row(out.u[2] + o, load_row(out.u[2] + o) + u.z);
        });
    });
}

void TurbulentVelocity::sample_cells(const Topology& topology, float voxel, Field<float> (&u)[3]) const
{
    for (auto& component : u) component.reset_uninitialized(topology, 0);
    for_each_tile(topology, [&](int t) {
        auto& tile = thread_scratch<Tile>();
        sample_tile(topology.tile(t), voxel, tile);
        for (int a = 0; a < 3; ++a) std::copy_n(tile.u[a], kTileCells, u[a].tile(t));
    });
}

void TurbulentVelocity::stir(const MacField& flow, float voxel, MacField& stirred) const
{
    const Topology& topology = flow.u[0].topology();
    sample_faces(topology, voxel, stirred);
    for_each_tile(topology, [&](int tile) {
        for (int a = 0; a < 3; ++a)
            for (int o = 0; o < kTileCells; o += kTileSize) {
                float* u = stirred.u[a].tile(tile) + o;
                store_row(u, load_row(u) + load_row(flow.u[a].tile(tile) + o));
            }
    });
}

void TurbulentVelocity::sample_faces(const Topology& topology, float voxel, MacField& u) const
{
    // The longest wave of an octave must span at least two cells. Averaging over faces attenuates its shorter ones.
    int carried = 0;
    while (carried < octaves_ && kLongestWave * cascade_.size(carried) >= 1.999f * voxel) ++carried;
    // Edges on the upper sides of the last tiles belong to the tiles beyond.
    std::vector<uint64_t> codes;
    for (int t = 0; t < topology.tile_count(); ++t)
        for (int corner = 0; corner < 8; ++corner)
            codes.push_back(morton_of_tile(topology.tile(t) + Vec3i(corner >> 2, corner >> 1 & 1, corner & 1)));
    const Topology edges(std::move(codes));
    MacField potential;
    for (int a = 0; a < 3; ++a) {
        potential.u[a].reset(edges, 0);
        for_each_tile(edges, [&](int t) {
            SampleGrid grid(edges.tile(t), voxel, 0.5f * Vec3f::Unit(a));
            grid.averaged_along = a;
            sum_up(grid, carried, [&](const EddySums& sums, const TileDistances* solids, float eddy_size) {
                float* out = potential.u[a].tile(t);
                for_each_row([&](int, int, int o) {
                    const Row psi = inverse_root(load_row(sums.square + o)) * load_row(sums.potential[a] + o);
                    store_row(out + o, load_row(out + o) + (solids ? Ramp(*solids, o, eddy_size).value * psi : psi));
                });
            });
        });
    }
    u.reset(topology, 0);
    for_each_tile(topology, [&](int t) {
        const int tile = edges.find(topology.tile(t));
        const TileView x(potential.u[0], tile), y(potential.u[1], tile), z(potential.u[2], tile);
        const float inverse = 1 / voxel;
        for_each_row([&](int i, int j, int o) {
            const auto around = [&](int a, Row second, Row first) {
                store_row(u.u[a].tile(t) + o, inverse * (second - first));
            };
            around(0, z.above_y(i, j) - z.at(i, j), y.above_z(i, j) - y.at(i, j));
            around(1, x.above_z(i, j) - x.at(i, j), z.above_x(i, j) - z.at(i, j));
            around(2, y.above_x(i, j) - y.at(i, j), x.above_y(i, j) - x.at(i, j));
        });
    });
}

// Lanes are the eight waves of an octave. Near a solid, octaves are summed separately because each has its own ramp.
Vec3f TurbulentVelocity::sample_point(const Vec3f& x, const std::vector<uint32_t>& near, const Distance* solid) const
{
    const int groups = solid ? octaves_ : 1, octaves_in_group = solid ? 1 : octaves_;
    Row3 curl[TurbulenceParams::kMaxOctaves], potential[TurbulenceParams::kMaxOctaves];
    const Row3 zero = {splat(0), splat(0), splat(0)};
    for (int g = 0; g < groups; ++g) curl[g] = potential[g] = zero;
    float square = kEpsilon * kEpsilon;
    Vec3f slope = Vec3f::Zero();
    for (const uint32_t i : near) {
        const Eddy& eddy = eddies_[i];
        const Vec3f d = x - eddy.center;
        const float falloff = 1 - d.squaredNorm() / (reach_ * reach_);
        if (falloff <= 0) continue;
        const float weight = eddy.presence * falloff * falloff;
        const Vec3f gradient = -4 * eddy.presence * falloff / (reach_ * reach_) * d;
        square += weight * weight, slope += weight * gradient;
        for (int g = 0; g < groups; ++g) {
            Row3 velocity = zero, vector = zero; // vector potential
            for (const Waves& w : waves(i, g, g + octaves_in_group)) {
                if (w.silent) continue;
                const Phasor p = phasor(multiply_add(
                    w.turns.x, splat(d.x()),
                    multiply_add(w.turns.y, splat(d.y()), multiply_add(w.turns.z, splat(d.z()), w.phase))));
                const auto add = [&](Row one, Row two, Row& v, Row& psi) {
                    const Row value = multiply_add(one, p.cos, two * p.sin);
                    v += value, psi = multiply_add(w.inverse_curl, value, psi);
                };
                add(w.a1.x, w.a2.x, velocity.x, vector.x);
                add(w.a1.y, w.a2.y, velocity.y, vector.y);
                add(w.a1.z, w.a2.z, velocity.z, vector.z);
            }
            const Row3 across = {splat(gradient.x()), splat(gradient.y()), splat(gradient.z())};
            curl[g] = curl[g] + weight * velocity + cross(across, vector);
            potential[g] = potential[g] + weight * vector;
        }
    }
    const auto total = [](const Row3& r) { return Vec3f(sum_of(r.x), sum_of(r.y), sum_of(r.z)); };
    const float inverse = 1 / std::sqrt(square);
    Vec3f u = Vec3f::Zero();
    for (int g = 0; g < groups; ++g) {
        const Vec3f psi = total(potential[g]);
        Vec3f free = inverse * (total(curl[g]) - slope.cross(psi) * (inverse * inverse));
        if (!solid) return free;
        const float length = cascade_.size(g), r = clamp01(solid->value / length);
        u += ramp(r) * free;
        if (r > 0) u += ramp_slope(r) / length * inverse * solid->slope.cross(psi);
    }
    return u;
}

void TurbulentVelocity::sample_points(std::span<const Vec3f> points, std::span<Vec3f> u) const
{
    constexpr size_t kTogether = 8; // points that mostly lie close together and then share one eddy search
    parallel_chunks(points.size(), kTogether, [&](size_t begin, size_t end) {
        auto& near = thread_scratch<std::vector<uint32_t>>();
        Box3f box;
        for (size_t i = begin; i < end; ++i) box.add(points[i]);
        const bool together = box.size().maxCoeff() < 0.5f * reach_;
        if (together) find_eddies(box.min, box.max, near);
        std::optional<Sampler> sampler;
        if (solids_.any()) sampler = solids_.sampler();
        for (size_t i = begin; i < end; ++i) {
            if (!together) find_eddies(points[i], points[i], near);
            u[i] = Vec3f::Zero();
            if (near.empty()) continue;
            Distance solid{kInfinity, Vec3f::Zero()};
            if (sampler) solid = solids_.at(points[i], cascade_.eddy_size, *sampler);
            u[i] = sample_point(points[i], near, solid.value < cascade_.eddy_size ? &solid : nullptr);
        }
    });
}

size_t TurbulentVelocity::bytes() const
{
    return solids_.bytes() + lookup_->bytes() + index_.bytes() + eddies_.capacity() * sizeof(Eddy) +
           waves_.capacity() * sizeof(Waves);
}

} // namespace spindrift
