#include "spindrift/shaped_smoke/vortices.h"

#include "spindrift/base/random.h"
#include "spindrift/base/scratch.h"
#include "spindrift/field/row.h"
#include "spindrift/shaped_smoke/density.h"
#include "spindrift/turbulence/sampler.h"

namespace spindrift {

void Vortices::clear()
{
    vortices_ = {};
    vortices_.attribute<Vec3f>(kOmegaAttribute), vortices_.attribute<float>(kSigmaAttribute);
}

// ------------------------------------------------------------------------------------------------------ (4), (5)

namespace {

struct VortexSums {
    alignas(32) float u[3][kTileCells];

    void clear() { std::memset(this, 0, sizeof *this); }
    // A vortex at p, relative to the tile's corner [cells]; sigma in cells, omega times the voxel [m/s].
    void add(const Vec3f& p, const Vec3f& omega, float sigma)
    {
        constexpr Row kCenters = {0.5f, 1.5f, 2.5f, 3.5f, 4.5f, 5.5f, 6.5f, 7.5f};
        const float scale = 1 / (sigma * sigma);
        const Row dz = kCenters - p.z(), qz = scale * dz * dz;
        const Row ux_of_z = omega.y() * dz, uy_of_z = -omega.x() * dz;
        for (int x = 0; x < kTileSize; ++x) {
            const float dx = static_cast<float>(x) + 0.5f - p.x(), qx = scale * dx * dx;
            if (qx >= 1) continue;
            for (int y = 0; y < kTileSize; ++y) {
                const float dy = static_cast<float>(y) + 0.5f - p.y(), qxy = qx + scale * dy * dy;
                if (qxy >= 1) continue;
                const Row q = min(qz + qxy, splat(1));                   // at one, the kernel is zero
                const Row root = 4 - 20 / (q + 4), kernel = root * root; // (5)
                const int o = offset_in_tile(x, y, 0);
                store_row(u[0] + o, load_row(u[0] + o) + kernel * (ux_of_z - omega.z() * dy)); // (4)
                store_row(u[1] + o, load_row(u[1] + o) + kernel * (uy_of_z + omega.z() * dx));
                store_row(u[2] + o, load_row(u[2] + o) + kernel * (omega.x() * dy - omega.y() * dx));
            }
        }
    }
};

} // namespace

void Vortices::velocity(const Topology& topology, float voxel, Field<float> (&u)[3])
{
    const auto& omega = vortices_.attribute<Vec3f>(kOmegaAttribute);
    const auto& sigma = vortices_.attribute<float>(kSigmaAttribute);
    for (auto& component : u) component.reset_uninitialized(topology, 0);
    lists_.build(topology, voxel, vortices_.P, sigma);
    for_each_tile(topology, [&](int tile) {
        auto& sums = thread_scratch<VortexSums>();
        sums.clear();
        const Vec3f corner = topology.first_cell(tile).cast<float>();
        for (const uint32_t i : lists_.of(tile))
            sums.add(vortices_.P[i] / voxel - corner, voxel * omega[i], sigma[i] / voxel);
        for (int a = 0; a < 3; ++a) std::copy_n(sums.u[a], kTileCells, u[a].tile(tile));
    });
}

// ------------------------------------------------------------------------------------------------------ (6), (7)

namespace {

// Calls body(j) for the particles of the 27 cells around a cell.
template <class Body> void for_each_around(const Topology& topology, const ParticleIndex& index, int tile,
                                           const Vec3i& cell, const Body& body)
{
    for (int dx = -1; dx <= 1; ++dx)
        for (int dy = -1; dy <= 1; ++dy)
            for (int dz = -1; dz <= 1; ++dz) {
                const Vec3i at = cell + Vec3i(dx, dy, dz), step = tile_of_cell(at);
                const int t = topology.neighbour(tile, step.x(), step.y(), step.z());
                const int o = offset_of_cell(at);
                for (size_t j = index.cell_begin(t, o), end = index.cell_end(t, o); j < end; ++j) body(j);
            }
}

} // namespace

void Vortices::exchange(float voxel, float dt)
{
    if (params_.exchange <= 0 || size() < 2) return;
    const float reach = params_.exchange_distance, edge = std::max(reach, voxel);
    const Topology topology = tiles_around(vortices_, edge, 1);
    ParticleIndex index;
    sort_by_tile(vortices_, topology, edge, index);
    auto& omega = vortices_.attribute<Vec3f>(kOmegaAttribute);
    const auto& sigma = vortices_.attribute<float>(kSigmaAttribute);
    // Calls body(i, j, d_ij) for each vortex i and its neighbours j.
    const auto for_each_pair = [&](const auto& begin, const auto& body) {
        for_each_tile(topology, [&](int tile) {
            const Vec3i first = topology.first_cell(tile);
            for (size_t i = index.tile_begin(tile), end = index.tile_end(tile); i < end; ++i) {
                begin(i);
                for_each_around(topology, index, tile, cell_of(vortices_.P[i], 1 / edge) - first, [&](size_t j) {
                    const float near = 1 - (vortices_.P[i] - vortices_.P[j]).norm() / reach; // (7)
                    if (near > 0 && j != i) body(i, j, std::min(near, 1.0f));
                });
            }
        });
    };
    std::vector<int> neighbours(size());
    for_each_pair([&](size_t i) { neighbours[i] = 0; }, [&](size_t i, size_t, float) { ++neighbours[i]; });
    std::vector<Vec3f> exchanged(size());
    for_each_pair([&](size_t i) { exchanged[i] = omega[i]; },
                  [&](size_t i, size_t j, float near) {
                      const float most = 0.5f / static_cast<float>(std::max(neighbours[i], neighbours[j]));
                      const float rate = std::min(dt * params_.exchange, most) * near;
                      const float si = sigma[i] * sigma[i] * sigma[i], sj = sigma[j] * sigma[j] * sigma[j];
                      exchanged[i] += rate / (si + sj) * (si * omega[j] - sj * omega[i]); // (6)
                  });
    omega = std::move(exchanged);
}

// ----------------------------------------------------------------------------------------------------------- (8)

void Vortices::spin(const Field<float> (&flow)[3], const Field<float> (&own)[3], float voxel, float dt)
{
    auto& omega = vortices_.attribute<Vec3f>(kOmegaAttribute);
    const Topology& topology = own[0].topology();
    parallel_for(
        size(),
        [&](size_t i) {
            const Vec3i cell = cell_of(vortices_.P[i], 1 / voxel);
            const int tile = topology.find(tile_of_cell(cell)), o = offset_of_cell(cell);
            if (tile == topology.tile_count()) return;
            Mat3f gradient; // J(u): row a, column b is the derivative of component a along b
            for (int b = 0; b < 3; ++b) {
                const auto up = topology.next_cell(tile, o, b, 1), down = topology.next_cell(tile, o, b, -1);
                for (int a = 0; a < 3; ++a)
                    gradient(a, b) = (flow[a].tile(up.tile)[up.offset] - flow[a].tile(down.tile)[down.offset] +
                                      own[a].tile(up.tile)[up.offset] - own[a].tile(down.tile)[down.offset]) /
                                     (2 * voxel);
            }
            const float magnitude = omega[i].norm();
            const Vec3f turned = omega[i] + dt * (gradient * omega[i]);
            const float length = turned.norm();
            if (length > 0) omega[i] = magnitude / length * turned;
        },
        64);
}

// ---------------------------------------------------------------------------------------------- spawning, motion

void Vortices::remove_outside(const Field<float>& marker_density, float voxel, float least)
{
    const Topology& topology = marker_density.topology();
    std::vector<uint8_t> keep(size());
    parallel_for(
        size(),
        [&](size_t i) {
            Sampler sampler(topology);
            const auto cell = sampler.cell_at(vortices_.P[i] / voxel);
            keep[i] = marker_density.tile(cell.tile)[cell.offset] >= least;
        },
        256);
    remove_particles(vortices_, keep);
}

void Vortices::spawn(const Smoke& smoke, uint64_t seed)
{
    const size_t most = params_.count;
    if (size() >= most) return;
    const Topology& topology = smoke.density.topology();
    const float wanted = 0.5f * params_.speed * params_.speed;
    const float across = 0.5f * kTileSize * smoke.voxel / params_.radius; // vortices along the edge of a tile
    const int darts = std::clamp(static_cast<int>(across * across * across), 1, 64);
    std::vector<std::vector<Vec3f>> found(topology.tile_count());
    for_each_tile(topology, [&](int tile) {
        const size_t begin = smoke.index.tile_begin(tile), count = smoke.index.tile_end(tile) - begin;
        if (count == 0) return;
        Random random(seed, topology.codes()[tile]);
        for (int d = 0; d < darts; ++d) {
            const Vec3f& x = smoke.markers.P[begin + random.bits() % count];
            const int o = offset_of_cell(cell_of(x, 1 / smoke.voxel));
            if (smoke.density.tile(tile)[o] < smoke.least || smoke.energy.tile(tile)[o] >= wanted) continue;
            found[tile].push_back(x);
        }
    });
    std::vector<Vec3f> places;
    for (const auto& part : found) places.insert(places.end(), part.begin(), part.end());
    // Evenly among the places, if there are too many.
    const size_t before = size(), added = std::min(places.size(), most - before);
    vortices_.resize(before + added);
    auto& omega = vortices_.attribute<Vec3f>(kOmegaAttribute);
    auto& sigma = vortices_.attribute<float>(kSigmaAttribute);
    const auto vary = [&](float u) { return 1 + params_.variation * (2 * u - 1); };
    parallel_for(
        added,
        [&](size_t k) {
            Random random(hash64(seed, 1), k);
            const size_t i = before + k;
            vortices_.P[i] = places[k * places.size() / added];
            const double up = static_cast<double>(random.uniform(-1, 1)),
                         turn = 2 * kPi * static_cast<double>(random.uniform());
            const double across_axis = std::sqrt(std::max(0.0, 1 - up * up));
            const Vec3d axis(across_axis * std::cos(turn), up, across_axis * std::sin(turn));
            omega[i] = params_.strength * vary(random.uniform()) * axis.cast<float>();
            sigma[i] = params_.radius * vary(random.uniform());
        },
        64);
}

void Vortices::move(const MacField& velocity, float voxel, float dt)
{
    const Topology& topology = velocity.u[0].topology();
    parallel_chunks(size(), 64, [&](size_t begin, size_t end) {
        Sampler sampler(topology);
        for (size_t i = begin; i < end; ++i) {
            const Vec3f u = sampler.velocity(velocity, vortices_.P[i] / voxel);
            const bool is_new = vortices_.v[i].isZero(0);
            vortices_.P[i] += is_new ? Vec3f(dt * u) : Vec3f(dt * (1.5f * u - 0.5f * vortices_.v[i])); // (9)
            vortices_.v[i] = u;
        }
    });
}

void turbulent_energy(const Field<float> (&u)[3], float radius, Field<float>& energy, Field<float>& scratch)
{
    const Topology& topology = u[0].topology();
    energy.reset_uninitialized(topology, 0);
    for_each_tile(topology, [&](int tile) {
        for_each_row([&](int, int, int o) {
            Row sum = splat(0);
            for (const auto& component : u) {
                const Row c = load_row(component.tile(tile) + o);
                sum += c * c;
            }
            store_row(energy.tile(tile) + o, 0.5f * sum);
        });
    });
    blur(energy, Tent(radius), scratch);
}

} // namespace spindrift
