#include "liquid/free_surface.h"

namespace spindrift {

namespace {

constexpr float kFullCell = 8; // particles
constexpr float kInverseRadius2 = 1 / (kSurfaceBand * kSurfaceBand);

// (4.5) of document 001, s the squared distance over the squared radius; scaled so that it integrates to 1 over space
// measured in cells.
inline float kernel(float s)
{
    constexpr float norm = static_cast<float>(315 / (64 * kPi)) / (kSurfaceBand * kSurfaceBand * kSurfaceBand);
    const float t = std::max(0.0f, 1 - s); // no branch: whether a particle is near is a coin toss
    return norm * (t * t * t);
}

// The share of the kernel that lies in a half-space whose surface is a distance d (in radii, positive outside) away
// from the kernel's centre, tabulated the other way round.
class ShareToDistance {
  public:
    ShareToDistance()
    {
        // A disc of the kernel at height h has a mass proportional to (1 - h^2)^4.
        constexpr int steps = 4096;
        std::vector<double> share(steps + 1, 0.0);
        for (int i = 0; i < steps; ++i) {
            const double h = 1 - (i + 0.5) * 2.0 / steps; // from the far end, where a point just begins to see liquid
            share[static_cast<size_t>(i) + 1] = share[static_cast<size_t>(i)] + std::pow(1 - h * h, 4);
        }
        size_t at = 0;
        for (int k = 0; k <= kEntries; ++k) {
            const double wanted = share.back() * k / kEntries;
            while (at + 1 < share.size() && share[at + 1] < wanted) ++at;
            table_[static_cast<size_t>(k)] = static_cast<float>(1 - static_cast<double>(at) * 2.0 / steps);
        }
        table_[0] = 1, table_[kEntries] = -1;
    }
    float operator()(float share) const
    {
        const float t = std::clamp(share, 0.0f, 1.0f) * kEntries;
        const int k = std::min(static_cast<int>(t), kEntries - 1);
        return mix(table_[static_cast<size_t>(k)], table_[static_cast<size_t>(k) + 1], t - static_cast<float>(k));
    }

  private:
    static constexpr int kEntries = 512;
    std::array<float, kEntries + 1> table_{};
};

// The kernel's integral over each of the 27 cells around its centre.
std::array<float, 27> kernel_by_cell()
{
    constexpr int n = 32;
    std::array<float, 27> sum{};
    for (int x = 0; x < 3 * n; ++x)
        for (int y = 0; y < 3 * n; ++y)
            for (int z = 0; z < 3 * n; ++z) {
                const Vec3f r =
                    (Vec3f(static_cast<float>(x), static_cast<float>(y), static_cast<float>(z)).array() + 0.5f) / n -
                    1.5f;
                sum[static_cast<size_t>(x / n * 9 + y / n * 3 + z / n)] +=
                    kernel(r.squaredNorm() * kInverseRadius2) / (n * n * n);
            }
    return sum;
}

// Particles and open space of the cells of a tile and one cell around it.
struct Surroundings {
    uint32_t begin[1000];
    uint16_t count[1000];
    float open[1000]; // share of the cell outside solids
    // For each cell of the tile: the fewest particles that one of the 27 cells around it has, those in solids left out,
    // and the most.
    uint16_t fewest[kTileCells], most[kTileCells];
    bool any = false; // particles

    void gather(const ParticleIndex& index, const Topology& topology, const SolidCells& solid_cells, int tile)
    {
        any = false;
        for (const int t : topology.neighbours(tile)) any |= t != topology.tile_count() && !index.tile_empty(t);
        if (!any) return;
        for (int x = -1; x <= kTileSize; ++x)
            for (int y = -1; y <= kTileSize; ++y) {
                const int dx = x < 0 ? -1 : x / kTileSize, dy = y < 0 ? -1 : y / kTileSize;
                const int at = volume_index(x, y, 0), offset = offset_in_tile(x & 7, y & 7, 0);
                const auto take = [&](int dz, int from, int to, int n) {
                    const uint32_t* first = index.cell_first(topology.neighbour(tile, dx, dy, dz)) + offset + from;
                    for (int z = 0; z < n; ++z) {
                        begin[at + to + z] = first[z];
                        count[at + to + z] = static_cast<uint16_t>(std::min(first[z + 1] - first[z], 0xfffeu));
                    }
                };
                take(-1, 7, -1, 1), take(0, 0, 0, kTileSize), take(1, 0, kTileSize, 1);
            }
        if (!solid_cells.gather_volumes(topology, tile, open)) std::fill_n(open, 1000, 1.0f);
        alignas(64) uint16_t outside[1000];
        for (int i = 0; i < 1000; ++i) outside[i] = open[i] >= 0.5f ? count[i] : uint16_t(0xffff);
        over_neighbours(outside, fewest, [](uint16_t a, uint16_t b) { return std::min(a, b); });
        over_neighbours(count, most, [](uint16_t a, uint16_t b) { return std::max(a, b); });
    }

  private:
    // Combines the values of the 27 cells around each cell of the tile, one axis after the other.
    template <class Combine> static void over_neighbours(const uint16_t* from, uint16_t* to, const Combine& combine)
    {
        alignas(64) uint16_t along_z[10 * 10 * 8], along_yz[10 * 8 * 8];
        for (int xy = 0; xy < 100; ++xy)
            for (int z = 0; z < 8; ++z) {
                const uint16_t* f = from + xy * 10 + z;
                along_z[xy * 8 + z] = combine(combine(f[0], f[1]), f[2]);
            }
        for (int x = 0; x < 10; ++x)
            for (int yz = 0; yz < 64; ++yz) {
                const uint16_t* f = along_z + x * 80 + yz;
                along_yz[x * 64 + yz] = combine(combine(f[0], f[8]), f[16]);
            }
        for (int i = 0; i < kTileCells; ++i) to[i] = combine(combine(along_yz[i], along_yz[i + 64]), along_yz[i + 128]);
    }
};

// The share of the open space around a cell's centre that is filled.
float filled_share(const Particles& particles, const Surroundings& around, const Vec3f& center, float inverse_voxel,
                   int cell)
{
    static const std::array<float, 27> cell_mass = kernel_by_cell();
    float mass = 0, room = 0;
    for (int s = 0; s < 27; ++s) {
        const int at = cell + (s / 9 - 1) * 100 + (s / 3 % 3 - 1) * 10 + s % 3 - 1;
        room += cell_mass[static_cast<size_t>(s)] * around.open[at];
        if (around.count[at] == 0) continue;
        float sum = 0;
        for (uint32_t i = around.begin[at], end = i + around.count[at]; i < end; ++i)
            sum += kernel((particles.P[i] * inverse_voxel - center).squaredNorm() * kInverseRadius2);
        mass += sum / std::max(kFullCell, static_cast<float>(around.count[at]));
    }
    // Deep in a solid there is nothing to say; its faces are closed anyway.
    return room > 0.02f ? mass / room : 0;
}

void measure_tile(const Particles& particles, const Surroundings& around, const Vec3f& first, float inverse_voxel,
                  float* phi)
{
    static const ShareToDistance to_distance;
    if (!around.any) {
        std::fill_n(phi, kTileCells, kSurfaceBand);
        return;
    }
    for (int c = 0; c < kTileCells; ++c) {
        const Vec3i i = cell_in_tile(c);
        const int cell = volume_index(i.x(), i.y(), i.z());
        if (around.most[c] == 0) {
            phi[c] = kSurfaceBand;
        } else if (around.fewest[c] >= 2) { // particles all around
            phi[c] = -kSurfaceBand;
        } else {
            const Vec3f center = first + i.cast<float>() + Vec3f::Constant(0.5f);
            phi[c] = kSurfaceBand * to_distance(filled_share(particles, around, center, inverse_voxel, cell));
            // A cell that is nearly full has its centre in the liquid, whatever stands around it.
            const float fill = std::min(1.0f, static_cast<float>(around.count[cell]) / kFullCell);
            if (fill > 0.7f) phi[c] = std::min(phi[c], 0.5f - fill);
        }
    }
}

// A cell whose centre is in a solid holds too few particles to tell: it takes the mean of its neighbours farther out,
// weighted by how open the faces to them are.
void fill_solid_centers(const Topology& topology, const SolidCells& solids, const Field<float>& phi, int tile,
                        float* out)
{
    const SolidTile& solid = *solids.tile(tile);
    for (int c = 0; c < kTileCells; ++c) {
        if (solid.distance[c] >= 0 || !(solid.volume[c] > 0)) continue;
        float sum = 0, weights = 0;
        for (int a = 0; a < 3; ++a)
            for (int side = -1; side <= 1; side += 2) {
                Vec3i other = cell_in_tile(c), step = Vec3i::Zero();
                other[a] += side;
                if (other[a] < 0 || other[a] >= kTileSize) step[a] = side;
                const int t = topology.neighbour(tile, step.x(), step.y(), step.z()), o = offset_of_cell(other);
                if (t == topology.tile_count()) continue;
                const float open = side < 0 ? solid.open[a][c] : solids.open(t, a)[o];
                const SolidTile* there = solids.tile(t);
                if (there && there->distance[o] <= solid.distance[c]) continue;
                sum += open * phi.tile(t)[o], weights += open;
            }
        if (weights > 0) out[c] = sum / weights;
    }
}

} // namespace

void distance_to_surface(const Particles& particles, const ParticleIndex& index, const Topology& topology, float voxel,
                         const SolidCells& solids, Field<float>& phi)
{
    phi.reset_uninitialized(topology, kSurfaceBand);
    for_each_tile(topology, [&](int tile) {
        thread_local Surroundings around;
        around.gather(index, topology, solids, tile);
        measure_tile(particles, around, topology.first_cell(tile).cast<float>(), 1 / voxel, phi.tile(tile));
    });

    std::vector<int> near;
    for (int t = 0; t < topology.tile_count(); ++t)
        if (solids.tile(t)) near.push_back(t);
    std::vector<std::array<float, kTileCells>> filled(near.size());
    parallel_for(near.size(), [&](size_t k) {
        std::memcpy(filled[k].data(), phi.tile(near[k]), sizeof filled[k]);
        fill_solid_centers(topology, solids, phi, near[k], filled[k].data());
    });
    parallel_for(near.size(), [&](size_t k) { std::memcpy(phi.tile(near[k]), filled[k].data(), sizeof filled[k]); });
}

} // namespace spindrift
