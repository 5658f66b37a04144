#include "points/transfer.h"

#include "points/splat.h"

namespace spindrift {

namespace {

// Weighted velocities and weights around one tile, of each component.
struct VelocitySums {
    SplatBlock sum[3], weight[3];

    void clear()
    {
        for (int a = 0; a < 3; ++a) sum[a].clear(), weight[a].clear();
    }
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
                                                 int cx, int cy, int cz, VelocitySums& block)
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
            float *sum = block.sum[Axis].values + at, *weight = block.weight[Axis].values + at;
            store_quad(sum, load_quad(sum) + __builtin_shufflevector(t, t, 0, 1, 2, 3));
            store_quad(weight, load_quad(weight) + __builtin_shufflevector(t, t, 4, 5, 6, 7));
        }
}

template <bool Affine> void splat_tile(const Particles& particles, const Vec3f* const affine[3],
                                       const ParticleIndex& index, const Topology& topology, float voxel, int tile,
                                       VelocitySums& block)
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

} // namespace

void to_grid(const Particles& particles, const ParticleIndex& index, const Topology& topology, float voxel,
             Transfer transfer, MacField& velocity, MacField& weight)
{
    velocity.reset(topology, 0), weight.reset(topology, 0);
    const Vec3f* affine[3] = {};
    if (transfer == Transfer::apic)
        for (int a = 0; a < 3; ++a) affine[a] = particles.find<Vec3f>(kAffine[a])->data();
    for_each_tile_by_colour(index, topology, [&](int tile) {
        thread_local VelocitySums kept;
        auto& block = kept;
        if (transfer == Transfer::apic)
            splat_tile<true>(particles, affine, index, topology, voxel, tile, block);
        else
            splat_tile<false>(particles, affine, index, topology, voxel, tile, block);
        for (int a = 0; a < 3; ++a) block.sum[a].add_to(velocity.u[a], tile), block.weight[a].add_to(weight.u[a], tile);
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
        thread_local MacBlock<1> kept_now, kept_then;
        auto &now = kept_now, &then = kept_then;
        now.gather(velocity, tile, Margin::nearest);
        if (transfer == Transfer::flip) { // (2.20): u + flip (v - u before), its grid part summed before it is sampled
            then.gather(before, tile, Margin::nearest);
            for (int a = 0; a < 3; ++a) now.u[a].subtract(flip, then.u[a]);
        }
        const Vec3f first = topology.first_cell(tile).cast<float>();
        for_each_eight(index, tile, [&](size_t begin, size_t count) {
            const MacBlock<1>::Places places(places_in_tile(&particles.P[begin], count, inverse_voxel, first));
            Row u[3];
            for (int a = 0; a < 3; ++a) {
                const auto place = places.of(a);
                const MacBlock<1>::Corners corners(now, a, place);
                u[a] = corners.value(place);
                if (transfer == Transfer::apic)
                    store_row3(affine[a] + begin, inverse_voxel * corners.gradient(place), count);
            }
            Row3 v{u[0], u[1], u[2]};
            if (transfer == Transfer::flip) v = v + flip * load_row3(&particles.v[begin], count);
            store_row3(&particles.v[begin], v, count);
        });
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
        thread_local MacBlock<kMargin> kept;
        auto& block = kept;
        block.gather(velocity, tile, Margin::nearest);
        const Vec3f first = topology.first_cell(tile).cast<float>();
        const auto look = [&](const Row3& x) { return block.sample(clamp(x, -kReach, kTileSize + kReach)); };
        for_each_eight(index, tile, [&](size_t begin, size_t count) {
            Vec3f* P = &particles.P[begin];
            const Row3 x = places_in_tile(P, count, inverse_voxel, first);
            const Row3 k1 = block.sample(x), k2 = look(x + 0.5f * step * k1);
            Row3 moved = dt * k2;
            if (order == 3) { // Ralston 1962
                const Row3 k3 = look(x + 0.75f * step * k2);
                moved = dt * (2.0f / 9 * k1 + 3.0f / 9 * k2 + 4.0f / 9 * k3);
            }
            store_row3(P, load_row3(P, count) + moved, count);
        });
    });
}

} // namespace spindrift
