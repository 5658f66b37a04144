#include "points/transfer.h"

namespace spindrift {

namespace {

// Sums of weighted velocities and of weights around one tile: cells -1 to 8 along x and y, and along z rows long enough
// for four values from any of them.
struct SplatBlock {
    static constexpr int kRow = 12, kSlab = 10 * kRow;
    alignas(64) float sum[3][10 * kSlab];
    alignas(64) float weight[3][10 * kSlab];

    static int index(int x, int y, int z) { return (x + 1) * kSlab + (y + 1) * kRow + z + 1; }
    void clear() { std::memset(this, 0, sizeof *this); }
};

// Trilinear weights of a particle on the cells below, at and above its own, where samples lie at cell centres (`tent`)
// and where they lie at the lower and upper face of the cell (`face`). f is the place within the cell, 0 to 1.
struct AxisWeights {
    float tent[3], face[2];
    explicit AxisWeights(float f)
        : tent{std::max(0.0f, 0.5f - f), 1 - std::abs(f - 0.5f), std::max(0.0f, f - 0.5f)}, face{1 - f, f}
    {
    }
};

// Adds the particles [begin, end), all of the cell (cx, cy, cz) of the tile, to one component of the block.
template <int Axis, bool Affine> void splat_cell(const Vec3f* P, const Vec3f* v, const Vec3f* affine, size_t begin,
                                                 size_t end, const Vec3f& corner, float inverse_voxel, float voxel,
                                                 int cx, int cy, int cz, SplatBlock& block)
{
    constexpr int nx = Axis == 0 ? 2 : 3, ny = Axis == 1 ? 2 : 3;
    constexpr int x0 = Axis == 0 ? 0 : -1, y0 = Axis == 1 ? 0 : -1, z0 = Axis == 2 ? 0 : -1;
    Row total[nx * ny] = {}; // lower half: weighted velocities of four samples along z; upper half: their weights
    for (size_t i = begin; i < end; ++i) {
        const Vec3f f = P[i] * inverse_voxel - corner;
        const AxisWeights wx(f.x()), wy(f.y()), wz(f.z());
        const float u = v[i][Axis];
        Quad along_z;
        if constexpr (Axis == 2)
            along_z = Quad{wz.face[0], wz.face[1], 0, 0};
        else
            along_z = Quad{wz.tent[0], wz.tent[1], wz.tent[2], 0};
        Quad slope_z = {};
        if constexpr (Affine) {
            // u at a sample is u + c . (x_sample - x_particle)
            constexpr float first_z = Axis == 2 ? 0.0f : -0.5f;
            const float dz = first_z - f.z();
            slope_z = along_z * (affine[i].z() * voxel) * Quad{dz, dz + 1, dz + 2, 0};
        }
        const Row plain = __builtin_shufflevector(along_z * u, along_z, 0, 1, 2, 3, 4, 5, 6, 7);
        for (int a = 0; a < nx; ++a)
            for (int b = 0; b < ny; ++b) {
                const float w = (Axis == 0 ? wx.face[a] : wx.tent[a]) * (Axis == 1 ? wy.face[b] : wy.tent[b]);
                if constexpr (Affine) {
                    const float dx = static_cast<float>(a) + (Axis == 0 ? 0.0f : -0.5f) - f.x();
                    const float dy = static_cast<float>(b) + (Axis == 1 ? 0.0f : -0.5f) - f.y();
                    const float extra = voxel * (affine[i].x() * dx + affine[i].y() * dy);
                    const Quad sloped = along_z * extra + slope_z;
                    total[a * ny + b] += w * (plain + __builtin_shufflevector(sloped, Quad{}, 0, 1, 2, 3, 4, 5, 6, 7));
                } else
                    total[a * ny + b] += w * plain;
            }
    }
    for (int a = 0; a < nx; ++a)
        for (int b = 0; b < ny; ++b) {
            const Row t = total[a * ny + b];
            const int at = SplatBlock::index(cx + x0 + a, cy + y0 + b, cz + z0);
            float *sum = block.sum[Axis] + at, *weight = block.weight[Axis] + at;
            store_quad(sum, load_quad(sum) + __builtin_shufflevector(t, t, 0, 1, 2, 3));
            store_quad(weight, load_quad(weight) + __builtin_shufflevector(t, t, 4, 5, 6, 7));
        }
}

template <bool Affine> void splat_tile(const Particles& particles, const Vec3f* const affine[3],
                                       const ParticleIndex& index, const Topology& topology, float voxel, int tile,
                                       SplatBlock& block)
{
    block.clear();
    const float inverse_voxel = 1 / voxel;
    const Vec3f first = topology.first_cell(tile).cast<float>();
    const Vec3f *P = particles.P.data(), *v = particles.v.data();
    for (int c = 0; c < kTileCells; ++c) {
        const size_t begin = index.cell_begin(tile, c), end = index.cell_end(tile, c);
        if (begin == end) continue;
        const Vec3i cell = cell_in_tile(c);
        const Vec3f corner = first + cell.cast<float>();
        const int x = cell.x(), y = cell.y(), z = cell.z();
        splat_cell<0, Affine>(P, v, affine[0], begin, end, corner, inverse_voxel, voxel, x, y, z, block);
        splat_cell<1, Affine>(P, v, affine[1], begin, end, corner, inverse_voxel, voxel, x, y, z, block);
        splat_cell<2, Affine>(P, v, affine[2], begin, end, corner, inverse_voxel, voxel, x, y, z, block);
    }
}

void add_block_to_field(const float* block, int tile, Field<float>& field)
{
    const Topology& topology = field.topology();
    const int none = topology.tile_count();
    for (int x = -1; x <= kTileSize; ++x)
        for (int y = -1; y <= kTileSize; ++y) {
            const int dx = x < 0 ? -1 : x / kTileSize, dy = y < 0 ? -1 : y / kTileSize;
            const float* row = block + SplatBlock::index(x, y, 0);
            const int offset = offset_in_tile(x & 7, y & 7, 0);
            if (const int t = topology.neighbour(tile, dx, dy, 0); t != none) {
                float* out = field.tile(t) + offset;
                Row values;
                std::memcpy(&values, row, sizeof values);
                store_row(out, load_row(out) + values);
            }
            if (const int t = topology.neighbour(tile, dx, dy, -1); t != none) field.tile(t)[offset + 7] += row[-1];
            if (const int t = topology.neighbour(tile, dx, dy, 1); t != none) field.tile(t)[offset] += row[8];
        }
}

// Tiles with particles by the parity of their coordinates: tiles of one colour are at least a tile apart.
std::array<std::vector<int>, 8> tiles_by_colour(const ParticleIndex& index, const Topology& topology)
{
    std::array<std::vector<int>, 8> colours;
    for (int t = 0; t < topology.tile_count(); ++t) {
        if (index.tile_empty(t)) continue;
        const Vec3i c = topology.tile(t);
        colours[static_cast<size_t>((c.x() & 1) << 2 | (c.y() & 1) << 1 | (c.z() & 1))].push_back(t);
    }
    return colours;
}

// A particle's position in cells, relative to its tile.
inline Vec3f place_in_tile(const Vec3f& position, float inverse_voxel, const Vec3f& first_cell)
{
    return position * inverse_voxel - first_cell;
}

// Gradient of one component of the velocity at a point: sum over faces of the gradient of the weight times the value
// (the affine part of APIC on a staggered grid).
template <int H> Vec3f gradient(const MacBlock<H>& block, int axis, const FacesAround<H>& faces)
{
    using B = Block<float, H>;
    const float* p = block.u[axis].data + faces.first[axis];
    const auto value = [&](int x, int y, int z) { return p[x * B::kStrideX + y * B::kStrideY + z]; };
    const float fx = faces.fx[axis], fy = faces.fy[axis], fz = faces.fz[axis];
    Vec3f g = Vec3f::Zero();
    for (int a = 0; a < 2; ++a)
        for (int b = 0; b < 2; ++b) {
            const float wx = a ? fx : 1 - fx, wy = a ? fy : 1 - fy, vy = b ? fy : 1 - fy, vz = b ? fz : 1 - fz;
            g.x() += wy * vz * (value(1, a, b) - value(0, a, b));
            g.y() += wx * vz * (value(a, 1, b) - value(a, 0, b));
            g.z() += wx * vy * (value(a, b, 1) - value(a, b, 0));
        }
    return g;
}

} // namespace

void to_grid(const Particles& particles, const ParticleIndex& index, const Topology& topology, float voxel,
             Transfer transfer, MacField& velocity, MacField& weight)
{
    velocity.reset(topology, 0), weight.reset(topology, 0);
    const Vec3f* affine[3] = {};
    if (transfer == Transfer::apic)
        for (int a = 0; a < 3; ++a) affine[a] = particles.find<Vec3f>(kAffine[a])->data();
    for (const auto& tiles : tiles_by_colour(index, topology))
        parallel_for(tiles.size(), [&](size_t k) {
            thread_local SplatBlock block;
            if (transfer == Transfer::apic)
                splat_tile<true>(particles, affine, index, topology, voxel, tiles[k], block);
            else
                splat_tile<false>(particles, affine, index, topology, voxel, tiles[k], block);
            for (int a = 0; a < 3; ++a) {
                add_block_to_field(block.sum[a], tiles[k], velocity.u[a]);
                add_block_to_field(block.weight[a], tiles[k], weight.u[a]);
            }
        });
    for_each_tile(topology, [&](int tile) {
        for (int a = 0; a < 3; ++a) {
            float* u = velocity.u[a].tile(tile);
            const float* w = weight.u[a].tile(tile);
            for_each_row(
                [&](int, int, int o) { store_row(u + o, load_row(u + o) * inverse_or_zero(load_row(w + o))); });
        }
    });
}

void to_particles(const MacField& velocity, const MacField& before, Transfer transfer, float flip,
                  const ParticleIndex& index, float voxel, Particles& particles)
{
    const Topology& topology = velocity.u[0].topology();
    const float inverse_voxel = 1 / voxel;
    Vec3f* affine[3] = {};
    if (transfer == Transfer::apic)
        for (int a = 0; a < 3; ++a) affine[a] = particles.attribute<Vec3f>(kAffine[a]).data();
    for_each_tile(topology, [&](int tile) {
        if (index.tile_empty(tile)) return;
        thread_local MacBlock<1> now, then;
        now.gather(velocity, tile, Margin::nearest);
        if (transfer == Transfer::flip) then.gather(before, tile, Margin::nearest);
        const Vec3f first = topology.first_cell(tile).cast<float>();
        for (size_t i = index.tile_begin(tile); i < index.tile_end(tile); ++i) {
            const Vec3f x = place_in_tile(particles.P[i], inverse_voxel, first);
            const FacesAround<1> faces(x);
            Vec3f u = now.sample(faces);
            if (transfer == Transfer::flip) u += flip * (particles.v[i] - then.sample(faces)); // (2.20)
            if (transfer == Transfer::apic)
                for (int a = 0; a < 3; ++a) affine[a][i] = inverse_voxel * gradient(now, a, faces);
            particles.v[i] = u;
        }
    });
}

void advect(Particles& particles, const ParticleIndex& index, const MacField& velocity, float voxel, float dt,
            int order)
{
    const Topology& topology = velocity.u[0].topology();
    const float inverse_voxel = 1 / voxel, step = dt * inverse_voxel;
    // The last stage of RK3 looks three quarters of the way ahead.
    constexpr int kMargin = 5;
    constexpr float kReach = kMargin - 1.01f;
    for_each_tile(topology, [&](int tile) {
        if (index.tile_empty(tile)) return;
        thread_local MacBlock<kMargin> block;
        block.gather(velocity, tile, Margin::nearest);
        const Vec3f first = topology.first_cell(tile).cast<float>();
        const auto look = [&](const Vec3f& x) {
            return block.sample(Vec3f(x.cwiseMax(-kReach).cwiseMin(kTileSize + kReach)));
        };
        // The stages of one particle wait for each other; those of a batch need not.
        constexpr size_t kBatch = 16;
        Vec3f x[kBatch], k1[kBatch], k2[kBatch];
        for (size_t begin = index.tile_begin(tile), end = index.tile_end(tile); begin < end; begin += kBatch) {
            const size_t n = std::min(kBatch, end - begin);
            Vec3f* P = particles.P.data() + begin;
            for (size_t i = 0; i < n; ++i) x[i] = place_in_tile(P[i], inverse_voxel, first);
            for (size_t i = 0; i < n; ++i) k1[i] = block.sample(x[i]);
            for (size_t i = 0; i < n; ++i) k2[i] = look(x[i] + 0.5f * step * k1[i]);
            if (order == 2)
                for (size_t i = 0; i < n; ++i) P[i] += dt * k2[i];
            else
                for (size_t i = 0; i < n; ++i) { // Ralston 1962
                    const Vec3f k3 = look(x[i] + 0.75f * step * k2[i]);
                    P[i] += dt * (2.0f / 9 * k1[i] + 3.0f / 9 * k2[i] + 4.0f / 9 * k3);
                }
        }
    });
}

} // namespace spindrift
